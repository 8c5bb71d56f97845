import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from skewridge import DacKernelRidge
from skewridge.datasets import make_peaks
from skewridge.plots import plot_node_estimates, plot_response


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
