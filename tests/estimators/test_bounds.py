import numpy as np
import pytest

from skewridge import (
    AdaptiveKernelRidge,
    DacKernelRidge,
    DacRegressor,
    LocalKernelRidge,
    SkewRidge,
    SmoothingSpline,
    load_model,
    save_model,
)
from skewridge.estimators.base import check_bounds

RNG = np.random.default_rng(0)
X = RNG.random((200, 2))
Y = np.sin(6 * X[:, 0]) + 0.1 * RNG.normal(size=200)
FAR = RNG.normal(size=(100, 2)) * 5
MODELS = [
    AdaptiveKernelRidge(40, 0.5, bandwidth=20.0, penalty=1e-10, scale_features=None, random_state=0),
    DacKernelRidge(n_nodes=2, bandwidth=20.0, penalty=1e-10, random_state=0),
    DacRegressor(DacKernelRidge(n_nodes=1, bandwidth=20.0, penalty=1e-10), n_nodes=2, random_state=0),
    SmoothingSpline(random_state=0),
]


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def model(request):
    return type(request.param)(**request.param.get_params(deep=False))


def predicted(model, bounds):
    return model.set_params(bounds=bounds).fit(X, Y).predict(np.vstack([X, FAR]))


def test_predictions_are_clipped_and_no_more(model):
    free = predicted(model, None)
    span = np.ptp(Y)
    assert np.ptp(free) > 1.5 * span
    ends = {
        "auto": (Y.min() - 0.1 * span, Y.max() + 0.1 * span),
        (-0.5, 0.25): (-0.5, 0.25),
        (0.1, None): (0.1, np.inf),
        (None, 0.1): (-np.inf, 0.1),
        (None, None): (-np.inf, np.inf),
    }
    for bounds, (low, high) in ends.items():
        found = predicted(model, bounds)
        np.testing.assert_allclose(found, np.clip(free, low, high), atol=1e-12)
        if bounds != "auto":
            assert found.min() >= low
            assert found.max() <= high


def test_bounds_are_saved(model, tmp_path):
    for bounds in ("auto", (0.1, None)):
        expected = predicted(model, bounds)
        save_model(model, tmp_path / "model.skr")
        np.testing.assert_array_equal(load_model(tmp_path / "model.skr").predict(np.vstack([X, FAR])), expected)


def test_another_fit_forgets_the_bounds_of_the_last(model):
    clipped, free = predicted(model, (0.0, 0.1)), predicted(model, None)
    assert np.ptp(clipped) <= 0.1 < np.ptp(free)


@pytest.mark.parametrize(
    ("bounds", "error", "match"),
    [
        ("tight", TypeError, r"bounds must be 'auto', None or \(low, high\).*got 'tight'"),
        (3.0, TypeError, "bounds must be 'auto', None or"),
        ((1.0,), TypeError, "bounds must be 'auto', None or"),
        ((1.0, 2.0, 3.0), TypeError, "bounds must be 'auto', None or"),
        ((2.0, 1.0), ValueError, r"low < high; got \(2.0, 1.0\). Swap the ends"),
        ((1.0, 1.0), ValueError, "low < high"),
        ((np.nan, 1.0), ValueError, "bounds must be a number"),
        ((0.0, np.inf), ValueError, "bounds must be a number"),
        (("a", 1.0), TypeError, "bounds must be a number"),
    ],
)
def test_bad_bounds_are_refused(model, bounds, error, match):
    with pytest.raises(error, match=match):
        model.set_params(bounds=bounds).fit(X, Y)
    with pytest.raises(error, match=match):
        check_bounds("bounds", bounds)


STEEP = np.linspace(0.0, 1.0, 60)[:, None]
LINE = 10 * STEEP[:, 0] + 0.01 * RNG.normal(size=60)
BEYOND = np.vstack([STEEP, [[3.0]], [[-2.0]]])


@pytest.mark.parametrize("estimator", [LocalKernelRidge, SkewRidge])
def test_levels_are_clipped_and_no_more(estimator, tmp_path):
    """None switches clipping off on every level, and every kind of bounds comes back from a file."""
    free = estimator(random_state=0, bounds=None).fit(STEEP, LINE)
    assert free._bounds is None
    if estimator is SkewRidge:
        assert free.predict(BEYOND).max() > LINE.max() + 0.2 * np.ptp(LINE), "ridge regression goes on beyond the rows"
    for bounds, (low, high) in {
        (2.0, 7.0): (2.0, 7.0),
        (2.0, None): (2.0, np.inf),
        (None, 7.0): (-np.inf, 7.0),
    }.items():
        model = estimator(random_state=0, bounds=bounds).fit(STEEP, LINE)
        found = model.predict(BEYOND)
        assert found.min() >= low
        assert found.max() <= high
        save_model(model, tmp_path / "model.skr")
        np.testing.assert_array_equal(load_model(tmp_path / "model.skr").predict(BEYOND), found)
        assert load_model(tmp_path / "model.skr").bounds == bounds
    save_model(free, tmp_path / "model.skr")
    assert load_model(tmp_path / "model.skr").bounds is None
    np.testing.assert_array_equal(load_model(tmp_path / "model.skr").predict(BEYOND), free.predict(BEYOND))
