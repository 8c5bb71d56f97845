"""Rows in groups or in an order: what is stated, what is real, and the warning where nobody said so."""

import warnings
from decimal import Decimal
from functools import cache

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skewridge import AdaptiveKernelRidge, LocalKernelRidge, SkewRidge, fit_source, load_model, save_model
from skewridge.estimators.base import dependence_of

ESTIMATORS = [SkewRidge, AdaptiveKernelRidge, LocalKernelRidge]


def grouped(n_groups, size, seed):
    """Groups in places of their own, whose response no column tells."""
    rng = np.random.default_rng([seed, n_groups])
    group = np.repeat(np.arange(n_groups), size)
    X = rng.normal(size=(n_groups, 2))[group] + 0.05 * rng.normal(size=(len(group), 2))
    y = np.sin(X[:, 0]) + 1.5 * rng.normal(size=n_groups)[group] + 0.1 * rng.normal(size=len(group))
    return X, y, group


def wandering(n, seed):
    """A random walk along time, the only column."""
    return np.arange(float(n))[:, None], np.cumsum(np.random.default_rng([seed, n]).normal(size=n))


def fit(estimator, X, y, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator(random_state=0).fit(X, y, **more)


@cache
def fitted(estimator, by):
    if by == "groups":
        X, y, group = grouped(24, 8, 0)
        return fit(estimator, X, y, groups=group)
    X, y = wandering(200, 0)
    return fit(estimator, X, y, order=X[:, 0])


def covered(model, X, y):
    low, high = model.predict_interval(X)
    return np.mean((low <= y) & (y <= high))


@pytest.mark.parametrize("estimator", [SkewRidge, LocalKernelRidge])
def test_the_stated_risk_of_groups_is_that_of_new_groups(estimator):
    X_new, y_new, _ = grouped(400, 2, 1)
    model = fitted(estimator, "groups")
    real = np.mean((model.predict(X_new) - y_new) ** 2)
    assert 0.5 < model.expected_error_.mse / real < 2.0  # 24 groups; a hundredth without them
    assert covered(model, X_new, y_new) > 0.7
    assert model.expected_error_.mse_se > 0.1 * model.expected_error_.mse  # 24 draws, and not 192


def test_intervals_of_level_one_know_groups():
    X_new, y_new, _ = grouped(400, 2, 1)
    assert covered(fitted(AdaptiveKernelRidge, "groups"), X_new, y_new) > 0.7


@pytest.mark.parametrize("estimator", [LocalKernelRidge, pytest.param(SkewRidge, marks=pytest.mark.full)])
def test_the_stated_risk_of_a_random_walk_is_that_of_what_comes(estimator):
    stated, real = [], []
    for seed in range(6):
        X, y = wandering(110, seed)
        model = fit(estimator, X[:100], y[:100], order=X[:100, 0])
        stated.append(model.expected_error_.mse)
        real.append(np.mean((model.predict(X[100:]) - y[100:]) ** 2))
    assert 0.4 < np.mean(stated) / np.mean(real) < 2.5  # a hundredth without the order


def test_rows_without_a_past_have_no_stated_prediction():
    model = fitted(LocalKernelRidge, "order")
    assert np.isnan(model.oof_prediction_[:100]).all()
    assert np.isfinite(model.oof_prediction_[100:]).all()
    _, y = wandering(200, 0)
    assert model.expected_error_.mse == pytest.approx(np.nanmean((y - model.oof_prediction_) ** 2))
    assert len(model._left_out[0]) == 100


def test_predictions_ahead_are_those_of_fits_to_what_lies_before():
    X, y = wandering(200, 0)
    model = fitted(LocalKernelRidge, "order")
    for start in (100, 160):
        before = np.arange(start)
        blocks = before // 20
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            earlier = LocalKernelRidge(random_state=0).fit(X[:start], y[:start], groups=blocks)
        expected = earlier.predict(X[start : start + 20])
        np.testing.assert_allclose(model.oof_prediction_[start : start + 20], expected, rtol=1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("by", ["groups", "order"])
def test_neighbours_that_tell_on_each_other_are_warned_of(estimator, by):
    X, y = grouped(24, 8, 0)[:2] if by == "groups" else wandering(200, 0)
    with pytest.warns(UserWarning, match=r"near each other in the file.*groups=.*order="):
        estimator(random_state=0).fit(X, y)
    mixed = np.random.default_rng(0).permutation(len(X))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        estimator(random_state=0).fit(X[mixed], y[mixed])
    assert not any("each other in the file" in str(warning.message) for warning in told)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_row_a_group_is_no_group(estimator):
    X, y, _ = grouped(20, 4, 0)
    X = np.vstack([X, X[:10]])  # equal rows stay one
    y = np.append(y, y[:10] + 0.1)
    plain, single = fit(estimator, X, y), fit(estimator, X, y, groups=[f"row {i}" for i in range(90)])
    np.testing.assert_array_equal(single.predict(X), plain.predict(X))
    if estimator is not AdaptiveKernelRidge:
        assert single.expected_error_ == plain.expected_error_
        np.testing.assert_array_equal(single.oof_prediction_, plain.oof_prediction_)


@pytest.mark.parametrize("estimator", [AdaptiveKernelRidge, LocalKernelRidge])
def test_labels_are_labels(estimator):
    """Numbers, texts, pairs, categories and series; in any order of the rows, with rows of weight 0."""
    X, y, group = grouped(10, 4, 0)
    names = [f"site {g:02d}" for g in group]
    expected = fit(estimator, X, y, groups=group).predict(X)
    pairs = [("a", int(g)) for g in group]
    for labels in (pairs, pd.Series(names, dtype="category"), group[:, None].astype(float)):
        np.testing.assert_array_equal(fit(estimator, X, y, groups=labels).predict(X), expected)
    mixed = np.random.default_rng(0).permutation(40)
    other = fit(estimator, X[mixed], y[mixed], groups=group[mixed])
    np.testing.assert_allclose(other.predict(X), expected, rtol=1e-8)
    more = np.vstack([X, X[:3] + 1.0]), np.append(y, [9.0, 9.0, 9.0]), np.append(group, [0, 1, 77])
    weighted = fit(estimator, *more[:2], groups=more[2], sample_weight=np.repeat([1.0, 0.0], [40, 3]))
    np.testing.assert_array_equal(weighted.predict(X), expected)


@pytest.mark.parametrize("by", ["groups", "order"])
@pytest.mark.parametrize("estimator", [AdaptiveKernelRidge, LocalKernelRidge])
def test_a_row_of_weight_two_is_two_rows(estimator, by):
    X, y, group = grouped(12, 4, 0)
    group[-1] = 99  # on its own, but for its weight
    label, weights = (group if by == "groups" else np.arange(48)), np.random.default_rng(0).integers(0, 4, 48)
    copies = np.repeat(np.arange(48), weights)
    one = fit(estimator, X, y, sample_weight=weights, **{by: label})
    other = fit(estimator, X[copies], y[copies], **{by: label[copies]})
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-8)
    for low, high in zip(one.predict_interval(X, 0.5), other.predict_interval(X, 0.5), strict=True):
        np.testing.assert_allclose(low, high, rtol=1e-8)


def test_times_are_an_order():
    X, y = wandering(60, 0)
    times = pd.Series(pd.date_range("2020-01-01", periods=60, freq="h"))
    expected = fit(LocalKernelRidge, X, y, order=X[:, 0])
    texts = [f"{i:03d}" for i in range(60)], [str(i) for i in range(60)], [str(time) for time in times]
    for order in (times, times.to_numpy(), times.dt.tz_localize("UTC"), *texts):
        np.testing.assert_array_equal(
            fit(LocalKernelRidge, X, y, order=order).oof_prediction_, expected.oof_prediction_
        )


@pytest.mark.parametrize("holder", ["pandas", "polars"])
def test_categories_have_the_order_that_was_given(holder):
    levels = ["low", "middle", "high", "top"]  # by the alphabet: high, low, middle, top
    values = [levels[i // 3] for i in range(12)]
    order: object = pd.Series(pd.Categorical(values, levels, ordered=True))
    if holder == "polars":
        polars = pytest.importorskip("polars")
        order = polars.Series(values, dtype=polars.Enum(levels))
    found = dependence_of(None, None, order, np.arange(12), 12)
    assert found.labels.tolist() == np.repeat(np.arange(4), 3).tolist()


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ({"groups": np.zeros(6)}, ValueError, "groups must hold at least two groups.*got one for all 6 rows"),
        ({"groups": np.arange(5)}, ValueError, "groups must have one value a row: expected 6, got 5"),
        ({"groups": np.zeros((6, 2))}, ValueError, r"groups must be one-dimensional.*shape \(6, 2\)"),
        ({"groups": "site"}, ValueError, "groups must be one-dimensional.*'site'"),
        ({"groups": [1, 1, None, 2, 2, None]}, ValueError, "a value for every row; got none for 2.*row 2"),
        ({"groups": [1.0, 1.0, 2.0, 2.0, np.nan, 3.0]}, ValueError, "a value for every row; got none for 1.*row 4"),
        ({"groups": [[1], [1], [2], [2], [3], [3]]}, TypeError, "groups must hold hashable labels; got list"),
        ({"order": pd.Series([None, *pd.date_range("2020", periods=5)])}, ValueError, "order must have a value"),
        ({"order": [1, "a", 2, "b", 3, "c"]}, TypeError, "order must hold values that can be sorted"),
        ({"order": ["31/01/2020", "01/02/2020"] * 3}, ValueError, "order must hold numbers or times.*'31/01/2020'"),
        ({"groups": pd.DataFrame({"g": [1, 1, 2, 2, 3, 3], "h": 1})}, ValueError, r"one-dimensional.*shape \(6, 2\)"),
        ({"groups": dict.fromkeys("abcdef", 1)}, ValueError, "groups must be one-dimensional.*'a': 1"),
        ({"order": np.ones(6)}, ValueError, "order must hold at least two values"),
        (
            {"order": ["1", "nan", "2"] * 2},
            ValueError,
            "order must hold numbers or times; got 'nan', which has no place",
        ),
        ({"order": [Decimal("nan"), *map(Decimal, range(5))]}, ValueError, "order must have a value for every row"),
        ({"groups": [0, 0, 1, 1, 2, 2], "order": np.arange(6)}, ValueError, "groups and order cannot both be given"),
        ({"groups": pd.Series(range(6), index=[5, 4, 3, 2, 1, 0])}, ValueError, "X and groups have the same index"),
    ],
)
def test_what_is_no_group_or_order_is_refused(labels, error, message):
    X = pd.DataFrame({"x": np.arange(6.0)})
    model = LocalKernelRidge()
    with pytest.raises(error, match=message):
        model.fit(X, np.arange(6.0), **labels)
    assert not hasattr(model, "n_features_in_")


def test_no_labels_are_no_dependence():
    assert dependence_of(None, None, None, np.arange(3), 3) is None


@pytest.mark.parametrize(("estimator", "by"), [(SkewRidge, "groups"), (LocalKernelRidge, "order")])
def test_files_keep_what_was_stated(estimator, by, tmp_path):
    model = fitted(estimator, by)
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert repr(again.expected_error_) == repr(model.expected_error_)  # nan is not itself
    np.testing.assert_array_equal(again.oof_prediction_, model.oof_prediction_)
    X = grouped(5, 4, 2)[0] if by == "groups" else wandering(230, 0)[0]
    for low, high in zip(again.predict_interval(X), model.predict_interval(X), strict=True):
        np.testing.assert_array_equal(low, high)


def test_labels_are_routed_through_pipelines():
    X, y, group = grouped(20, 4, 0)
    with sklearn.config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        local = LocalKernelRidge(random_state=0).set_fit_request(groups=True, order=False)
        model = make_pipeline(StandardScaler(), local).fit(X, y, groups=group)
        alone = LocalKernelRidge(random_state=0).fit(StandardScaler().fit_transform(X), y, groups=group)
    assert model[-1].expected_error_ == alone.expected_error_


@pytest.mark.parametrize("n_groups", [2, 3])
def test_few_groups_are_enough(n_groups):
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(60, 2)), np.arange(60) % n_groups
    y = X[:, 0] + group
    for estimator in ESTIMATORS:
        model = fit(estimator, X, y, groups=group)
        low, high = model.predict_interval(X)
        assert np.isfinite([low, high]).all()
    model = fit(SkewRidge, X, y, order=group)
    assert 0.1 < model.expected_error_.mse < 10.0  # each time is 1 above the last, which nothing tells


def test_how_rows_were_left_out_is_told():
    X, y, group = grouped(10, 2, 0)
    assert fit(SkewRidge, X, y, groups=group).tuning_.left_out_by == "outer folds of groups"
    assert fit(SkewRidge, X, y, order=np.arange(20)).tuning_.left_out_by == "later rows"


@pytest.mark.parametrize("by", ["groups", "order"])
def test_sources_take_labels_and_checkpoints_know_them(by, tmp_path):
    X, y, group = grouped(10, 4, 0)
    pd.DataFrame(X, columns=["a", "b"]).assign(y=y).to_csv(tmp_path / "rows.csv", index=False, float_format="%.17g")
    model, labels = AdaptiveKernelRidge(random_state=0), pd.Series([f"{g:02d}" for g in group])
    found = fit_source(model, tmp_path / "rows.csv", "y", **{by: labels}, checkpoint=tmp_path / "kept")
    np.testing.assert_array_equal(found.predict(X), fit(AdaptiveKernelRidge, X, y, **{by: group}).predict(X))
    with pytest.raises(ValueError, match=f"written by another fit: {by} differ"):
        fit_source(model, tmp_path / "rows.csv", "y", **{by: labels[::-1].tolist()}, checkpoint=tmp_path / "kept")
