import gc
from threading import Event, Thread

import pytest

from skewridge import no_collection


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


def test_collection_begins_again_whichever_of_several_threads_leaves_last():
    came, may_leave = Event(), Event()

    def stay():
        with no_collection():
            came.set()
            may_leave.wait(10)

    assert gc.isenabled()
    with no_collection():
        other = Thread(target=stay)
        other.start()
        came.wait(10)
    may_leave.set()
    other.join()
    assert gc.isenabled()
