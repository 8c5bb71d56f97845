from skewridge.advice.in_words import dependence_in_words


def curve(means, kind="number", labels=None):
    values = list(range(len(means)))
    return {"name": "x", "kind": kind, "values": values, "labels": labels, "mean": means}


def test_curves_are_told_by_their_shape():
    assert dependence_in_words("y", curve([5, 3, 1])) == "y falls from 5 to 1 as x goes from 0 to 2"
    told = dependence_in_words("y", curve([1, 9, 2]))
    assert told == "y goes up and down along x: highest, 9, at 1, and lowest, 1, at 0"
    assert "y hardly changes along x" in dependence_in_words("y", curve([1.0, 1.01]), rmse=1.0)
    days = curve([1, 2], "date", ["2020-01-01", "2021-01-01"])
    assert dependence_in_words("y", days).endswith("as x goes from 2020-01-01 to 2021-01-01")
    towns = curve([1, 2], "level", ["Oslo", "Voss"])
    assert dependence_in_words("y", towns) == "y is highest for x 'Voss', 2, and lowest for 'Oslo', 1"
