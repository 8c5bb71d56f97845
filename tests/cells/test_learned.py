from dataclasses import replace

import numpy as np
import pytest

from skewridge.cells import local as learned
from skewridge.cells.local import LocalSettings, fit_local
from skewridge.ridge.sample import Sample


@pytest.mark.parametrize("followed", [False, True])
def test_of_very_many_rows_the_first_teach_the_scales(monkeypatch, followed):
    """Rows come in random order; all of them are in cells, whoever taught the scales."""
    rng = np.random.default_rng(0)
    forms, ones = rng.normal(size=(400, 2)), np.ones(400)
    Y = np.sin(2 * forms[:, :1])
    trend = Y + 0.1 * rng.normal(size=(400, 1)) if followed else None
    monkeypatch.setattr(learned, "LEARNING_ROWS", 250)
    settings = LocalSettings("matern32", n_steps=20)
    alike = Sample(forms, Y, ones, ones, trend=trend)
    fit = fit_local(alike, settings)
    other = fit_local(replace(alike, loss_weights=np.append(np.ones(250), np.full(150, 9.0))), settings)
    assert np.array_equal(fit.learned.scales, other.learned.scales)  # weights of the others are not looked at
    assert len(fit.left_out) == len(fit.model.cells.points) == 400
    monkeypatch.setattr(learned, "LEARNING_ROWS", 400)
    assert not np.array_equal(fit.learned.scales, fit_local(alike, settings).learned.scales)
