import pytest

from skewridge.execution import memory


@pytest.fixture
def told(monkeypatch):
    """What glibc would be told, by name and value."""
    calls = []
    monkeypatch.setattr(memory.sys, "platform", "linux")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: type("C", (), {"mallopt": lambda *call: calls.append(call)}))
    monkeypatch.setenv(memory.TOLD, "65536")
    memory.keep_freed.cache_clear()
    yield calls
    memory.keep_freed.cache_clear()


def test_limits_that_were_set_are_lifted_once(told):
    for _ in range(2):
        memory.keep_freed()
    assert told == [(memory.M_TRIM_THRESHOLD, 1 << 28), (memory.M_MMAP_THRESHOLD, 1 << 25)]


@pytest.mark.parametrize("value", ["", "much", str(1 << 40)])
def test_nothing_is_touched_that_nobody_has_set_lower(told, monkeypatch, value):
    monkeypatch.setenv(memory.TOLD, value)
    memory.keep_freed()
    assert told == []


def test_nothing_is_touched_on_other_systems(told, monkeypatch):
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    memory.keep_freed()
    assert told == []


def test_other_libraries_of_c_are_left_alone(told, monkeypatch):
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: object())
    memory.keep_freed()
    assert told == []


def test_freed_memory_is_given_back_where_the_library_can(monkeypatch):
    calls = []
    monkeypatch.setattr(memory.sys, "platform", "linux")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: type("C", (), {"malloc_trim": lambda pad: calls.append(pad)}))
    memory.give_back()
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: object())
    memory.give_back()
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    memory.give_back()
    assert calls == [0]
