import gc

import pytest

from skewridge._garbage import no_collection


def fail_inside():
    with no_collection():
        assert not gc.isenabled()
        with no_collection():
            pass
        assert not gc.isenabled()
        raise ValueError("inside")


@pytest.mark.parametrize("enabled", [True, False])
def test_collection_is_as_it_was_afterwards_whatever_happens(enabled):
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with pytest.raises(ValueError, match="inside"):
            fail_inside()
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
