import pytest

from skewridge.checkpoint import Checkpoint


def test_values_are_computed_once(tmp_path):
    calls = []
    for _ in range(2):
        value = Checkpoint(tmp_path / "new", {"seed": 1}).value("seed", lambda: calls.append(1) or 42)
    assert (value, calls) == (42, [1])


def test_another_fits_folder_is_refused_with_what_differs(tmp_path):
    Checkpoint(tmp_path, {"estimator": "A", "parameters": {"m": 1}})
    with pytest.raises(ValueError, match=r"written by another fit: parameters differ\. Name another folder"):
        Checkpoint(tmp_path, {"estimator": "A", "parameters": {"m": 2}})


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ValueError, match="holds other files"):
        Checkpoint(tmp_path, {})


def test_what_was_half_written_is_not_there(tmp_path):
    (tmp_path / "job.partial").write_bytes(b"{")  # the first run died while it wrote
    store = Checkpoint(tmp_path, {})
    pieces = store.parts("nodes")
    pieces.keep(3, "three")
    (tmp_path / "nodes" / "4.partial").write_bytes(b"fo")
    again = Checkpoint(tmp_path, {}).parts("nodes")
    assert (list(again), again.kept(3), 3 in again, 4 in again) == ([3], "three", True, False)


def test_sums_are_told_apart_by_their_number_and_end_as_one_file(tmp_path):
    store = Checkpoint(tmp_path, {})
    first, second = store.sums("step 1"), store.sums("step 1")
    first.keep(0, "a")
    second.keep(0, "b")
    first.finish("total")
    again = Checkpoint(tmp_path, {})
    assert again.sums("step 1").total == "total"
    assert again.sums("step 1").kept(0) == "b"
    assert not (tmp_path / "sum-0001-step-1").exists()
