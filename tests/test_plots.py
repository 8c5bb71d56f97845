import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from skewridge import DacKernelRidge
from skewridge.datasets import make_peaks
from skewridge.plots import plot_node_estimates, plot_response, plot_tuning


def test_node_estimates_are_the_models_own():
    X, y, grid, truth = make_peaks(100, 1, random_state=0, return_test=True)
    grid, truth = grid[::500], truth[::500]
    model = DacKernelRidge(n_nodes=4, keep_nodes=True, random_state=0).fit(X, y)
    _, ax = plt.subplots()
    assert plot_node_estimates(model, X, y, (grid, truth), ax, title="one") is ax
    drawn = [line.get_ydata() for line in ax.get_lines()]
    assert len(drawn) == 1 + 4 + 1 + 1
    assert np.array_equal(drawn[0], y)
    assert np.array_equal(drawn[1:5], model.predict_nodes(grid))
    assert np.array_equal(drawn[5], truth)
    assert np.array_equal(drawn[6], model.predict(grid))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["rows", "nodes", "truth", "average"]


def test_response_bars_are_the_slices_counts():
    _, y = make_peaks(500, 1, random_state=0)
    slices = DacKernelRidge(n_nodes=2).fit(np.zeros((500, 1)), y).slices_
    _, ax = plt.subplots()
    plot_response(y, slices.edges, ax)
    assert [bar.get_width() for bar in ax.patches] == slices.counts.tolist()


def test_infinite_outer_edges_are_drawn_at_the_data():
    y = np.array([0.0, 1.0, 1.5, 9.0])
    _, ax = plt.subplots()
    plot_response(y, np.array([-np.inf, 1.0, 2.0, np.inf]), ax)
    assert [bar.get_width() for bar in ax.patches] == [1, 2, 1]


def test_tuning_lines_are_the_criterion():
    X, y = make_peaks(200, 2, random_state=0)
    tuning = DacKernelRidge(n_nodes=12, random_state=0).fit(X, y).tuning_
    _, ax = plt.subplots()
    plot_tuning(tuning, ax)
    lines = ax.get_lines()
    assert len(lines) == len(tuning.bandwidths) + 1
    for line, values in zip(lines[:-1], tuning.values, strict=True):
        assert np.array_equal(line.get_ydata(), values)
        assert np.array_equal(line.get_xdata(), tuning.penalties)
    assert lines[-1].get_xdata()[0] == tuning.penalty


def test_tuning_of_a_bandwidth_alone_is_drawn_along_it():
    X, y = make_peaks(200, 2, random_state=0)
    tuning = DacKernelRidge(n_nodes=2, penalty=1e-3, random_state=0).fit(X, y).tuning_
    _, ax = plt.subplots()
    plot_tuning(tuning, ax)
    assert np.array_equal(ax.get_lines()[0].get_xdata(), tuning.bandwidths)
    assert np.array_equal(ax.get_lines()[0].get_ydata(), tuning.values[:, 0])


def test_nothing_tuned_is_nothing_to_draw():
    X, y = make_peaks(50, 2, random_state=0)
    model = DacKernelRidge(n_nodes=2, bandwidth=0.2, penalty=1e-3).fit(X, y)
    with pytest.raises(ValueError, match="nothing was searched"):
        plot_tuning(model.tuning_, plt.subplots()[1])


def test_the_cost_of_aiming_elsewhere_is_shown():
    X, y = make_peaks(200, 2, random_state=0)
    tuning = DacKernelRidge(n_nodes=3, scoring="balanced_mse", random_state=0).fit(X, y).tuning_
    ax = plot_tuning(tuning, plt.subplots()[1])
    assert f"costs {tuning.cost['ratio']:.2f} times the least MSE" in ax.get_title()
