import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from skewridge import diagnose
from skewridge.advice.diagnose import HIGH, scenario_of, skewness
from skewridge.datasets import make_peaks
from skewridge.metrics import rare_region
from skewridge.response.allocation import allocate
from skewridge.response.slices import Slices, copies_per_slice, slice_response


def cut(*counts):
    counts = np.array(counts)
    labels = np.repeat(np.arange(len(counts)), counts)
    return Slices(np.arange(len(counts) + 1.0), labels, counts, copies_per_slice(counts))


@pytest.mark.parametrize(
    ("counts", "scenario"),
    [
        ((100,), 1),
        ((100, 99, 98), 1),
        ((100, 60, 51), 1),
        ((100, 50, 30, 10), 2),
        ((900, 90, 5, 3, 2, 1, 1), 3),  # N* near 7 N
        ((999, 1), 3),  # few slices, the paper's first case
        ((600, 400), 1),
    ],
)
def test_scenarios_are_told_by_the_counts(counts, scenario):
    assert scenario_of(cut(*counts)) == scenario


@pytest.mark.parametrize("n", [1000, 10_000, 100_000])
@pytest.mark.parametrize(
    ("law", "scenario"),
    [("uniform", 1), ("normal", 2), ("lognormal", 3), ("standard_t", 3)],
)
def test_familiar_laws_fall_where_they_should(law, scenario, n):
    options = {"standard_t": (2,), "lognormal": (0, 1.5)}.get(law, ())
    y = getattr(np.random.default_rng(0), law)(*options, size=n)
    told = diagnose(y)
    assert told.scenario == scenario
    assert told.matters == (scenario == 3)


def test_a_normal_response_stays_below_the_threshold_up_to_a_billion_rows():
    """N* is at most the fullest slice times their number: both from the normal law."""
    for n in 10.0 ** np.arange(3, 10):
        width = 3.49 * n ** (-1 / 3)
        reach = stats.norm.isf(0.5 / n)
        assert (stats.norm.cdf(width / 2) * 2 - 1) * (2 * reach / width + 1) < HIGH


def test_numbers_are_those_of_an_allocation():
    _, y = make_peaks(4000, 2, random_state=1)
    told = diagnose(y, n_nodes=25)
    slices = slice_response(y)
    nodes = allocate(slices, 25, 3)
    rare = rare_region(y, y)
    assert told.rare_rows == rare.sum()
    assert told.n_distinct == pytest.approx(len(nodes.rows), rel=0.02)
    assert told.rare_per_node == pytest.approx(np.mean([rare[node].sum() for node in nodes]), rel=0.05)
    assert told.rare_per_classical_node == rare.sum() / 25
    assert told.chance_of_none == pytest.approx(stats.hypergeom(4000, rare.sum(), 160).pmf(0), rel=1e-6)
    assert np.array_equal(told.counts, slices.counts)
    assert told.shares.sum() == pytest.approx(1)


def test_rare_ranges_hold_the_rare_rows_and_no_others():
    _, y = make_peaks(3000, 1, random_state=0)
    told = diagnose(y)
    inside = np.any([(y >= low) & (y <= high) for low, high in told.rare_ranges], axis=0)
    assert np.array_equal(inside, rare_region(y, y))


def test_skewness_is_the_moment():
    y = np.random.default_rng(0).lognormal(size=500)
    assert skewness(y) == pytest.approx(stats.skew(y))
    assert skewness(y * 1e-170) == pytest.approx(stats.skew(y))
    assert skewness(np.full(3, 0.1)) == 0


def test_crowded_slices_are_cut_by_logarithms():
    y = np.r_[np.random.default_rng(0).random(3000), 1e6]
    told = diagnose(y)
    assert told.rule == "log"
    assert told.scenario == 3
    assert told.recommendation.slices == "log"


def test_what_is_not_skewed_enough_is_told_plainly():
    y = np.random.default_rng(0).normal(size=5000)
    told = diagnose(y)
    assert "Not skewed enough to matter" in str(told)
    assert "slices=1" in told.recommendation.reasons[-1]
    assert (told.recommendation.slices, told.recommendation.n_nodes) == (1, 4)


LETTERS = r"N\*|N~|\b[Nkld]\b(?!-)|Algorithm|scenario|level 1|level 2|flops"


@pytest.mark.parametrize("law", ["uniform", "normal", "lognormal"])
def test_what_is_printed_speaks_of_rows_bands_and_errors(law):
    """The paper's letters are left to the attributes and to the pages of the method."""
    y = getattr(np.random.default_rng(0), law)(size=5000)
    told = diagnose(y)
    assert re.findall(LETTERS, str(told)) == []
    for word in ("rows", "bands", f"RMSE {np.std(y):.4g}", f"{told.rare_rows:,} of the rows"):
        assert word in str(told)
    assert told.rmse_of_mean == pytest.approx(y.std())
    rare = rare_region(y, y)
    assert told.rare_rmse_of_mean == pytest.approx(np.sqrt(np.mean((y[rare] - y.mean()) ** 2)))


def test_many_rare_ranges_are_told_in_one():
    rng = np.random.default_rng(0)
    y = np.r_[rng.random(3000) * 1e-3, rng.random(1000) * 100]
    told = diagnose(y, slices=100)
    assert len(told.rare_ranges) > 4
    assert f"in {len(told.rare_ranges)} ranges between" in str(told)


def test_recommended_nodes_are_those_of_auto_whatever_was_asked_about():
    y = np.random.default_rng(0).lognormal(size=20_000)
    assert diagnose(y, n_nodes=7).recommendation == diagnose(y).recommendation
    assert diagnose(y, n_nodes=7).n_nodes == 7


def test_nodes_that_auto_cannot_find_are_told():
    rng = np.random.default_rng(0)
    y = np.r_[rng.random(30_000) * 1e-3, rng.random(10_000) * 100]
    told = diagnose(y, slices=300)
    assert "What would fit" in told.refusal
    assert told.refusal in str(told)


@pytest.mark.parametrize("y", [[1.0], [2.0, 2.0, 2.0], [0.0, 1.0]])
def test_tiny_and_constant_responses_are_not_skewed(y):
    told = diagnose(y)
    assert not told.matters
    assert told.n_nodes == 1
    assert str(told)


def test_one_slice_has_no_rare_region():
    told = diagnose([1.0, 2.0, 9.0], slices=1)
    assert told.rare_rows == 0
    assert told.rare_ranges == []
    assert told.chance_of_none == 1
    assert told.rare_rmse_of_mean is None
    assert "nothing to balance" in told.meaning


def test_a_diagnosis_is_plain_data():
    X, y = make_peaks(500, 3, random_state=0)
    told = diagnose(y, X, slices=[-np.inf, 0.1, 0.5, np.inf]).to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["n_features"] == 3
    assert told["edges"][0] == y.min()
    assert told["recommendation"]["estimator"] == "SkewRidge()"
    assert sum(told["shares"]) == pytest.approx(1)


@pytest.mark.parametrize("kind", [pd.Series, pl.Series, list, lambda y: y.astype(np.float32), lambda y: y[:, None]])
def test_any_vector_will_do(kind):
    _, y = make_peaks(500, 2, random_state=0)
    assert diagnose(kind(y)).counts.tolist() == diagnose(y).counts.tolist()


@pytest.mark.parametrize(
    ("y", "kwargs", "message"),
    [
        ([1.0, np.inf], {}, "y must hold finite numbers"),
        ([], {}, "at least one value"),
        (np.zeros((3, 2)), {}, "one-dimensional"),
        ([1.0, 2.0], {"n_nodes": 3}, "n_nodes must not exceed"),
        ([1.0, 2.0], {"slices": "many"}, "slices must be one of"),
        ([1.0, 2.0], {"X": [[1.0]]}, r"expected \(2, d\)"),
    ],
)
def test_bad_responses_are_refused(y, kwargs, message):
    with pytest.raises(ValueError, match=message):
        diagnose(y, **kwargs)
