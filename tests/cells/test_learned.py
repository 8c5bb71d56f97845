import numpy as np
import pytest

from skewridge.cells import local as learned
from skewridge.cells.local import LocalSettings, fit_local


@pytest.mark.parametrize("guided", [False, True])
def test_of_very_many_rows_the_first_teach_the_scales(monkeypatch, guided):
    """Rows come in random order; all of them are in cells, whoever taught the scales."""
    rng = np.random.default_rng(0)
    forms = rng.normal(size=(400, 2))
    Y, ones = np.sin(2 * forms[:, :1]), np.ones(400)
    guide = Y + 0.1 * rng.normal(size=(400, 1)) if guided else None
    monkeypatch.setattr(learned, "LEARNING_ROWS", 250)
    settings = LocalSettings("matern32", n_steps=20)
    fit = fit_local(forms, Y, ones, guide, settings=settings)
    other = fit_local(forms, Y, ones, guide, settings=settings, weights=np.append(np.ones(250), np.full(150, 9.0)))
    assert np.array_equal(fit.learned.scales, other.learned.scales)  # weights of the others are not looked at
    assert len(fit.left_out) == len(fit.model.cells.points) == 400
    monkeypatch.setattr(learned, "LEARNING_ROWS", 400)
    assert not np.array_equal(fit.learned.scales, fit_local(forms, Y, ones, guide, settings=settings).learned.scales)
