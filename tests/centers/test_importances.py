import warnings

import numpy as np
import pytest
from sklearn.inspection import permutation_importance

from skewridge import AdaptiveKernelRidge, LocalKernelRidge, SkewRidge, load_model, save_model
from skewridge.metrics import scorer

SETTINGS = {"n_centers": 100, "adapt": 0.5, "penalty": 1e-5, "random_state": 0}


def three_columns(n=400, absurd=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.6 * X[:, 2] + 0.1 * rng.normal(size=n)
    X[7, 0] = 100.0 if absurd else X[7, 0]
    return X, y


def fitted(X, y, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AdaptiveKernelRidge(**{**SETTINGS, **settings}).fit(X, y)


def test_one_absurd_cell_changes_importances_little():
    clean, absurd = (fitted(*three_columns(absurd=absurd)) for absurd in (False, True))
    np.testing.assert_allclose(absurd.feature_importances_, clean.feature_importances_, atol=0.1)
    np.testing.assert_allclose(absurd.rare_importances_, clean.rare_importances_, atol=0.2)
    np.testing.assert_allclose(absurd.feature_slopes_, clean.feature_slopes_, atol=0.1)


def test_importances_are_shares_of_what_shuffling_loses_at_new_rows():
    X, y = three_columns(1000)
    model = fitted(X[:500], y[:500])
    lost = permutation_importance(
        model,
        X[500:],
        y[500:],
        scoring={"overall": "neg_mean_squared_error", "rare": scorer("rare_mse", y_ref=y[:500])},
        random_state=0,
    )
    means = lost["overall"].importances_mean
    np.testing.assert_allclose(model.feature_importances_, means / means.sum(), atol=0.06)
    assert model.rare_importances_.argmax() == lost["rare"].importances_mean.argmax()  # of some ten rows
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.rare_importances_.sum() == pytest.approx(1.0)


def test_the_rare_have_importances_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.random((600, 2))
    y = 0.3 * X[:, 0] + 5 * (X[:, 1] > 0.98) * X[:, 1]
    model = fitted(X, y)
    assert model.rare_importances_[1] > 0.95
    assert model.rare_importances_[1] > model.feature_importances_[1]


def test_noise_that_a_fit_interpolates_does_not_make_a_column_important():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 300), rng.normal(size=(300, 2))])
    y = X[:, 0] + 0.3 * rng.normal(size=300)
    model = AdaptiveKernelRidge(scale_features="standard", bandwidth=0.2, penalty=1e-8, random_state=0).fit(X, y)
    assert model.feature_importances_[0] > model.feature_slopes_[0] + 0.3


def test_importances_do_not_depend_on_threads_order_or_copies():
    X, y = three_columns(150)
    here = fitted(X, y)
    order = np.random.default_rng(1).permutation(150)
    others = fitted(X, y, n_jobs=2), fitted(X[order], y[order])
    weighted = AdaptiveKernelRidge(**SETTINGS).fit(X, y, sample_weight=np.full(150, 2.0))
    copied = AdaptiveKernelRidge(**SETTINGS).fit(np.vstack([X, X]), np.append(y, y))
    for one, other in [(here, others[0]), (here, others[1]), (weighted, copied)]:
        np.testing.assert_allclose(one.feature_importances_, other.feature_importances_, rtol=1e-6)
        np.testing.assert_allclose(one.rare_importances_, other.rare_importances_, rtol=1e-6)


def test_constant_columns_and_responses_have_none():
    X, y = three_columns(100)
    X[:, 1] = 3.0
    assert fitted(X, y).feature_importances_[1] == 0.0
    assert not fitted(X, np.ones(100)).feature_importances_.any()
    assert not fitted(X[:3], y[:3]).feature_importances_.any()


def test_files_keep_importances_and_slopes(tmp_path):
    model = fitted(*three_columns(100))
    save_model(model, tmp_path / "model.skr")
    loaded = load_model(tmp_path / "model.skr")
    for name in ("feature_importances_", "rare_importances_", "feature_slopes_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))


@pytest.mark.parametrize("estimator", [SkewRidge(random_state=0), LocalKernelRidge(random_state=0)])
def test_scikit_learns_importances_of_held_out_rows_are_robust_too(estimator):
    found = []
    for absurd in (False, True):
        X, y = three_columns(300, absurd)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = estimator.fit(X[:80], y[:80])
        lost = permutation_importance(model, X[80:], y[80:], scoring="neg_mean_squared_error", random_state=0)
        found.append(lost.importances_mean / lost.importances_mean.sum())
    np.testing.assert_allclose(*found, atol=0.1)
