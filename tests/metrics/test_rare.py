import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.interpolate import CubicHermiteSpline
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsRegressor

from skewridge.datasets import make_peaks
from skewridge.metrics import balanced_mse, rare_mse, rare_region, relevance, scorer, sera, slice_mse
from skewridge.response.slices import slice_edges
from tests import naive


@pytest.fixture
def skewed():
    rng = np.random.default_rng(0)
    y = rng.lognormal(size=400)
    return y, y + rng.normal(size=400)


def test_slice_mse_is_the_mean_in_every_slice(skewed):
    y, p = skewed
    edges = slice_edges(y, 12)
    errors = slice_mse(y, p, slices=12)
    labels = np.array([naive.slice_of(v, edges) for v in y])
    for j in range(12):
        inside = labels == j
        if inside.any():
            assert errors[j] == pytest.approx(np.mean((y[inside] - p[inside]) ** 2))
        else:
            assert np.isnan(errors[j])


def test_slices_come_from_the_training_response(skewed):
    y, p = skewed
    assert len(slice_mse(y[:5], p[:5], y_ref=y, slices=12)) == 12
    assert slice_mse([1e9], [0.0], y_ref=y, slices=12)[-1] == 1e18


def test_balanced_mse_is_the_mean_over_occupied_slices(skewed):
    y, p = skewed
    assert balanced_mse(y, p, slices=12) == pytest.approx(np.nanmean(slice_mse(y, p, slices=12)))


def naive_rare_slices(counts, share):
    order = sorted(range(len(counts)), key=lambda j: (counts[j], -abs(j - int(np.argmax(counts)))))
    rare, held = set(), 0
    for j in order:
        held += counts[j]
        if held > share * sum(counts) and any(counts[i] for i in rare):
            break
        rare.add(j)
        if held > share * sum(counts):
            break
    return rare


@given(st.lists(st.integers(0, 40), min_size=2, max_size=12).filter(lambda c: c[0] and c[-1]))
def test_rare_region_takes_the_emptiest_slices_first(counts):
    y = np.repeat(np.arange(len(counts)) + 0.5, counts)
    edges = np.arange(len(counts) + 1.0)
    rare = rare_region(np.arange(len(counts)) + 0.5, y, slices=edges, share=0.1)
    inside = (np.arange(len(counts)) + 0.5 >= y.min()) & (np.arange(len(counts)) + 0.5 <= y.max())
    assert set(np.flatnonzero(rare & inside)) == naive_rare_slices(counts, 0.1)


def test_rare_region_holds_at_most_the_share_and_at_least_one_slice(skewed):
    y, _ = skewed
    assert 0 < rare_region(y, y).mean() <= 0.02
    crowded = np.r_[np.zeros(50), np.ones(50)]
    assert rare_region(crowded, crowded, slices=2).mean() == 0.5


def test_values_outside_the_training_range_are_rare(skewed):
    y, _ = skewed
    assert rare_region([y.min() - 1e-9, y.max() + 1e-9], y).all()


def test_rare_mse_by_truth_by_observation_and_by_prediction(skewed):
    y, p = skewed
    rare = rare_region(y, y)
    assert rare_mse(y, p) == pytest.approx(np.mean((y[rare] - p[rare]) ** 2))
    by_prediction = rare_region(p, y)
    assert rare_mse(y, p, by=p) == pytest.approx(np.mean((y[by_prediction] - p[by_prediction]) ** 2))


def test_rare_mse_without_rare_rows_is_nan_and_warns(skewed):
    y, _ = skewed
    with pytest.warns(UndefinedMetricWarning, match="no row lies in the rare region"):
        assert np.isnan(rare_mse([np.median(y)], [0.0], y_ref=y))


def step_integral(phi, squares):
    """The exact integral over t of sum_{phi_i >= t} e_i^2: it is constant between consecutive phi."""
    levels = np.unique(np.r_[0.0, phi, 1.0])
    return sum((b - a) * squares[phi >= b].sum() for a, b in itertools.pairwise(levels))


@given(arrays(np.float64, 40, elements=st.floats(-5, 5)), st.sampled_from([1.0, -1.0]), st.booleans())
def test_sera_is_the_exact_step_integral(noise, sign, both):
    y = np.r_[np.linspace(0, 1, 36), 7.0, 9.0, -8.0 if both else 0.5, 11.0] * sign
    expected = step_integral(relevance(y, y), noise**2)
    assert sera(y, y + noise, y_ref=y) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_relevance_is_the_cubic_with_zero_slopes():
    y = np.r_[np.arange(20.0), 100.0]
    q1, median, q3 = np.percentile(y, [25, 50, 75])
    adjacent = y[y <= q3 + 1.5 * (q3 - q1)].max()
    grid = np.linspace(median, adjacent, 50)
    expected = CubicHermiteSpline([median, adjacent], [0, 1], [0, 0])(grid)
    np.testing.assert_allclose(relevance(grid, y), expected, atol=1e-14)
    assert relevance([-50.0, 0.0, median], y).tolist() == [0.0, 0.0, 0.0]
    assert relevance([adjacent, 1e6], y).tolist() == [1.0, 1.0]


def test_relevance_of_two_sided_extremes():
    y = np.r_[-100.0, np.arange(20.0), 100.0]
    assert relevance([-100.0, np.median(y), 100.0], y).tolist() == [1.0, 0.0, 1.0]


def test_relevance_of_zero_inflated_responses_is_a_step():
    y = np.array([0.0] * 6 + [1.0, 1.0])  # the third quartile is interpolated, the adjacent value is the median
    assert relevance([0.0, 0.1, 1.0], y).tolist() == [0.0, 1.0, 1.0]
    assert sera(y, y + 0.5) == pytest.approx(2 * 0.25)


def test_sera_refuses_a_response_without_spread_or_extremes():
    with pytest.raises(ValueError, match="interquartile range of y_ref is 0"):
        sera(np.zeros(9), np.zeros(9))
    with pytest.raises(ValueError, match=r"no y_ref lies beyond Tukey's fences.*Use balanced_mse"):
        sera(np.arange(9.0), np.zeros(9))


@pytest.mark.parametrize("name", ["rare_mse", "balanced_mse", "sera"])
def test_scorers_turn_the_sign_and_survive_pickling(name):
    X, y = make_peaks(300, 2, random_state=0)
    model = KNeighborsRegressor().fit(X, y)
    from skewridge import metrics

    made = pickle.loads(pickle.dumps(scorer(name, y_ref=y)))
    assert made(model, X, y) == -getattr(metrics, name)(y, model.predict(X), y_ref=y)


def test_scorers_work_in_a_search():
    X, y = make_peaks(300, 2, random_state=0)
    search = GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [1, 100]}, scoring=scorer("balanced_mse", y_ref=y))
    assert search.fit(X, y).best_params_ == {"n_neighbors": 1}


def test_slice_scorer_gives_one_entry_a_slice():
    X, y = make_peaks(300, 2, random_state=0)
    scores = cross_validate(DummyRegressor(), X, y, scoring=scorer("slice_mse", y_ref=y, slices=3), cv=2)
    assert {"test_slice_0", "test_slice_1", "test_slice_2"} <= set(scores)
    assert (scores["test_slice_0"] < 0).all()


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"y_pred must have one value a row: expected 2, got 1"):
        balanced_mse([1, 2], [1])
    with pytest.raises(ValueError, match="y_true must hold finite numbers"):
        sera([1, np.nan], [1, 2])
    with pytest.raises(ValueError, match="y_true must be one-dimensional with at least one value"):
        slice_mse([], [])
    with pytest.raises(ValueError, match=r"scorer\('slice_mse'\) needs y_ref"):
        scorer("slice_mse")
    with pytest.raises(ValueError, match="metric must be one of 'rare_mse'"):
        scorer("mae")
    with pytest.raises(ValueError, match=r"share must be a number in \[0, 1\]"):
        rare_mse([1, 2], [1, 2], share=2)


def test_series_with_shuffled_labels_are_refused():
    import pandas as pd

    y = pd.Series([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="same index labels in a different order"):
        balanced_mse(y, y.iloc[::-1])
