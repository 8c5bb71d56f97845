import numpy as np
import pytest

from skewridge.io.sources import names_columns, open_source, pick

ROWS = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    ("target", "named"),
    [("y", True), (-1, True), (np.int64(2), True), (["y", "z"], True), (None, False), (np.ones(3), False)],
)
def test_a_target_names_columns_or_is_the_response(target, named):
    assert names_columns(target) is named


def test_features_are_all_but_the_target_or_those_named():
    assert pick(["a", "b", "y"], "y", None) == (["a", "b"], ["y"])
    assert pick(["a", "b", "y"], ["y", "b"], None) == (["a"], ["y", "b"])
    assert pick(["a", "b", "y"], "y", ["b"]) == (["b"], ["y"])
    assert pick(["a", "b"], None, None) == (["a", "b"], [])
    with pytest.raises(ValueError, match=r"has the columns \['a', 'b'\]; got \['x'\]"):
        pick(["a", "b"], "x", None)
    with pytest.raises(ValueError, match="none for features"):
        pick(["y"], "y", None)


def test_columns_of_arrays_by_place():
    X, y = open_source(ROWS, -1)
    assert np.array_equal(X, ROWS[:, :3])
    assert np.array_equal(y, ROWS[:, 3])
    X, Y = open_source(ROWS, [0, -1], [1])
    assert np.array_equal(X, ROWS[:, [1]])
    assert np.array_equal(Y, ROWS[:, [0, 3]])
    X, _ = open_source(ROWS, features=[3, 2, 1, 0])
    assert np.array_equal(X, ROWS[:, ::-1])
    X, y = open_source(ROWS, np.ones(3), None)
    assert X is ROWS
    assert np.array_equal(y, np.ones(3))
    with pytest.raises(ValueError, match=r"got \[4\]"):
        open_source(ROWS, 4, None)
    with pytest.raises(ValueError, match=r"two dimensions.*got ndarray of 1 dimensions"):
        open_source(np.ones(3), 0, None)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_frames_by_name(library):
    frame = pytest.importorskip(library).DataFrame({name: ROWS[:, i] for i, name in enumerate("abyz")})
    X, y = open_source(frame, "y", None)
    assert list(X.columns) == ["a", "b", "z"]
    assert np.array_equal(y, ROWS[:, 2])
    X, Y = open_source(frame, ["y", "z"], ["b"])
    assert (list(X.columns), np.asarray(Y).shape) == (["b"], (3, 2))
    X, y = open_source(frame, ROWS[:, 0], None)
    assert X.shape == (3, 4)
