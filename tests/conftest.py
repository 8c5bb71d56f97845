import os
from pathlib import Path

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # lets scikit-learn's array-API check run; read when scipy is imported

import pytest
from hypothesis import settings

settings.register_profile("house", deadline=None)  # the first example may compile
settings.load_profile("house")

DATA = Path(os.environ.get("SKEWRIDGE_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture
def data_folder():
    """The folder of real data sets, which are not ours to redistribute."""
    if not DATA.is_dir():
        pytest.skip(f"the real data sets are not at {DATA}; set SKEWRIDGE_DATA to their folder")
    return DATA


def pytest_terminal_summary(terminalreporter):
    """Tell how much every campaign went through and its largest figure, whichever process ran it."""
    totals = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for campaign, figures in report.user_properties if report.when == "call" else ():
                totals.setdefault(campaign, []).append((figures["figure"], report.nodeid, figures["count"]))
    if totals:
        terminalreporter.section("campaigns")
    for campaign, runs in totals.items():
        figure, where, _ = max(runs)
        terminalreporter.write_line(f"{sum(n for _, _, n in runs):,} {campaign}: at most {figure:.3g} ({where})")
