import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from skewridge.plots import (
    ExceedanceMapDisplay,
    PITDisplay,
    QuantileFanDisplay,
    ReliabilityDisplay,
    ReturnLevelDisplay,
)
from tests.forecaster import Forecaster


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).uniform(size=(2000, 3))
    return X, Forecaster().draw(X)


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_reliability_is_drawn_against_what_was_stated(rows):
    X, y = rows
    display = ReliabilityDisplay.from_estimator(Forecaster(), X, y, threshold=3.0, bins=5)
    line = display.ax_.get_lines()[1]
    assert line.get_xdata().tolist() == display.data["stated"]
    assert line.get_ydata().tolist() == display.data["observed"]
    assert f"{(y > 3).sum()} came" in display.ax_.get_title()
    assert display.ax_.get_xlabel() == "stated P(y > 3)"


def test_pit_bars_have_their_heights(rows):
    display = PITDisplay.from_estimator(Forecaster(), *rows, bins=8)
    assert [bar.get_height() for bar in display.ax_.containers[0]] == display.data["heights"]


def test_a_fan_has_bands_a_middle_and_rows(rows):
    X, y = rows
    ax = QuantileFanDisplay.from_estimator(Forecaster(), X, 1, levels=(0.05, 0.5, 0.95), y=y).ax_
    assert texts(ax) == ["rows", "0.05 to 0.95", "0.5"]
    assert ax.get_xlabel() == "x1"
    even = QuantileFanDisplay.from_estimator(Forecaster(), X, 1, levels=(0.05, 0.25, 0.75, 0.95)).ax_
    assert texts(even) == ["0.05 to 0.95", "0.25 to 0.75"]


def test_a_map_has_a_colorbar_and_the_rows(rows):
    display = ExceedanceMapDisplay.from_estimator(Forecaster(), rows[0], (1, 0), threshold=2.5)
    bar = [ax for ax in display.figure_.axes if ax is not display.ax_]
    assert bar[0].get_ylabel() == "P(y > 2.5)"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("x1", "x0")
    assert len(display.ax_.get_lines()[0].get_xdata()) == 2000


def test_return_levels_with_rows_and_band(rows):
    X, y = rows
    levels = np.linspace(2, 12, 20)
    options = {"thresholds": levels, "band": (levels * 0.9, levels * 1.2), "rows_per_period": 365, "period": "years"}
    ax = ReturnLevelDisplay.from_estimator(Forecaster(), X, y, **options).ax_
    assert texts(ax) == ["uncertainty", "observed", "predicted"]
    assert ax.get_xlabel() == "return period (years, log scale)"
    assert ax.get_xscale() == "log"
    plain = ReturnLevelDisplay.from_estimator(Forecaster(), X).ax_
    assert texts(plain) == ["predicted"]


def test_displays_draw_on_the_axes_given(rows):
    _, ax = plt.subplots()
    assert QuantileFanDisplay.from_estimator(Forecaster(), rows[0], ax=ax).ax_ is ax
