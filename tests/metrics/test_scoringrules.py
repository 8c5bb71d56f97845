"""Scores agree with those of another package."""

import numpy as np
import pytest

from skewridge import metrics
from skewridge.response.slices import slice_edges

rules = pytest.importorskip("scoringrules", reason="scores are compared with those of scoringrules (the dev extra)")

LEVELS = np.arange(1, 100) / 100
MIDDLES = (np.arange(50) + 0.5) / 50


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.lognormal(size=40)
    return y, np.sort(rng.lognormal(size=(40, 99)), axis=1), np.sort(rng.lognormal(size=(40, 50)), axis=1)


def test_pinball(rows):
    y, q, _ = rows
    expected = rules.quantile_score(y[:, None], q, LEVELS[None])
    assert np.allclose(metrics.pinball_loss(y, q, LEVELS), expected.mean(axis=0))


def test_crps(rows):
    y, q, members = rows
    assert metrics.crps(y, q, LEVELS) == pytest.approx(rules.crps_quantile(y, q, LEVELS).mean())
    expected = rules.crps_ensemble(y, members, estimator="nrg").mean()
    assert metrics.crps(y, members, MIDDLES) == pytest.approx(expected)


def test_upper_crps(rows):
    y, _, members = rows
    expected = rules.twcrps_ensemble(y, members, a=1.5, estimator="nrg").mean()
    assert metrics.upper_crps(y, members, MIDDLES, threshold=1.5) == pytest.approx(expected)


def test_rare_crps(rows):
    """With the chaining function written out: two slices, of which the upper one is rare."""
    y, _, members = rows
    y_ref = np.r_[np.linspace(0.5, 1.0, 99), 3.0]
    middle = slice_edges(y_ref, 2)[1]

    def below(z):
        return np.minimum(z - y_ref.min(), 0.0) + np.maximum(z - middle, 0.0)

    expected = rules.twcrps_ensemble(y, members, v_func=below, estimator="nrg").mean()
    assert metrics.rare_crps(y, members, MIDDLES, y_ref=y_ref, slices=2) == pytest.approx(expected)


def test_interval_score(rows):
    y, q, _ = rows
    expected = rules.interval_score(y, q[:, 4], q[:, 94], 0.1).mean()
    assert metrics.interval_score(y, q[:, 4], q[:, 94], coverage=0.9) == pytest.approx(expected)


def test_brier_and_log_score(rows):
    y, q, _ = rows
    stated = np.clip((q > 2).mean(axis=1), 0.01, 0.99)
    happened = (y > 2).astype(float)
    brier, logarithmic = (rule(happened, stated).mean() for rule in (rules.brier_score, rules.log_score))
    assert metrics.exceedance_brier(y, stated, 2.0) == pytest.approx(brier)
    assert metrics.exceedance_log_score(y, stated, 2.0) == pytest.approx(logarithmic)
