import pytest

from skewridge import heap


@pytest.fixture
def told(monkeypatch):
    """What glibc would be told, by name and value."""
    calls = []
    monkeypatch.setattr(heap.sys, "platform", "linux")
    monkeypatch.setattr(heap.ctypes, "CDLL", lambda _: type("C", (), {"mallopt": lambda *call: calls.append(call)}))
    return calls


def test_limits_are_lifted_by_the_first_task_and_set_again_by_the_last(told, monkeypatch):
    monkeypatch.setenv(heap.TOLD, "65536")
    with heap.keep_freed():
        assert told == [(heap.M_TRIM_THRESHOLD, 1 << 30), (heap.M_MMAP_THRESHOLD, 1 << 25)]
        with heap.keep_freed():
            pass
        assert len(told) == 2
    assert told[2:] == [(heap.M_TRIM_THRESHOLD, 65536), (heap.M_MMAP_THRESHOLD, 1 << 17)]


def test_an_error_sets_them_again_too(told, monkeypatch):
    monkeypatch.setenv(heap.TOLD, "65536")
    with pytest.raises(KeyError), heap.keep_freed():
        raise KeyError
    assert told[-2:] == [(heap.M_TRIM_THRESHOLD, 65536), (heap.M_MMAP_THRESHOLD, 1 << 17)]


@pytest.mark.parametrize("value", ["", "much"])
def test_nothing_is_touched_that_nobody_has_set(told, monkeypatch, value):
    monkeypatch.setenv(heap.TOLD, value)
    with heap.keep_freed():
        assert told == []


def test_nothing_is_touched_on_other_systems(told, monkeypatch):
    monkeypatch.setenv(heap.TOLD, "65536")
    monkeypatch.setattr(heap.sys, "platform", "darwin")
    with heap.keep_freed():
        assert told == []
