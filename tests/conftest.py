import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("SKEWRIDGE_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture
def data_folder():
    """The folder of real data sets, which are not ours to redistribute."""
    if not DATA.is_dir():
        pytest.skip(f"the real data sets are not at {DATA}; set SKEWRIDGE_DATA to their folder")
    return DATA
