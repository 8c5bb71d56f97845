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


def test_the_last_of_several_threads_lets_it_begin_again():
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
    assert not gc.isenabled()  # the other is still inside
    may_leave.set()
    other.join()
    assert gc.isenabled()
