import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from skewridge import AdaptiveKernelRidge, DacKernelRidge, SkewRidge, plan
from skewridge.datasets import make_peaks
from skewridge.metrics import rare_region
from skewridge.plots import (
    CostDisplay,
    ImportanceDisplay,
    NodesDisplay,
    PredictionDisplay,
    SearchDisplay,
    SliceErrorDisplay,
    SlicesDisplay,
    TuningDisplay,
)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    return make_peaks(300, 2, random_state=0)


@pytest.fixture(scope="module")
def dac(rows):
    return DacKernelRidge(12, random_state=0).fit(*rows)


@pytest.fixture(scope="module")
def adaptive(rows):
    X, y = rows
    return AdaptiveKernelRidge(random_state=0).fit(pd.DataFrame(X, columns=["east", "north"]), y)


@pytest.fixture(scope="module")
def levels(rows):
    """Two levels, with a column that nothing depends on."""
    X, y = rows
    frame = pd.DataFrame(X, columns=["east", "north"]).assign(constant=1.0)
    return SkewRidge("laplacian", random_state=0).fit(frame[:150], y[:150])


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_display_draws_on_the_axes_given(dac):
    _, ax = plt.subplots()
    display = SlicesDisplay.from_estimator(dac, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.plot().ax_ is not ax


@pytest.mark.parametrize("horizontal", [False, True])
def test_slices_are_drawn_with_their_copies(dac, horizontal):
    ax = SlicesDisplay.from_estimator(dac, horizontal=horizontal).ax_
    grown, counts = ([getattr(bar, f"get_{'width' if horizontal else 'height'}")() for bar in c] for c in ax.containers)
    assert counts == dac.slices_.counts.tolist()
    assert grown == (dac.slices_.counts * dac.slices_.copies).tolist()
    assert f"N* = {dac.n_oversampled_:,}" in ax.get_title()


def test_slices_of_a_response_without_a_model(rows, dac):
    shown = SlicesDisplay.from_response(rows[1].tolist()).data
    assert shown["counts"] == dac.slices_.counts.tolist()
    with pytest.raises(ValueError, match="y must hold finite numbers"):
        SlicesDisplay.from_response([1.0, np.nan])


def test_node_estimates_are_the_models_own():
    X, y, grid, truth = make_peaks(100, 1, random_state=0, return_test=True)
    grid, truth = grid[::500], truth[::500]
    model = DacKernelRidge(n_nodes=4, keep_nodes=True, random_state=0).fit(X, y)
    ax = NodesDisplay.from_estimator(model, grid[::-1], truth=truth[::-1], rows=(X, y), title="one").ax_
    drawn = [line.get_ydata() for line in ax.get_lines()]
    assert len(drawn) == 1 + 4 + 1 + 1
    assert np.array_equal(drawn[0], y)
    assert np.array_equal(drawn[1:5], model.predict_nodes(grid))
    assert np.array_equal(drawn[5], truth)
    assert np.array_equal(drawn[6], model.predict(grid))
    assert texts(ax) == ["rows", "nodes", "truth", "average"]
    assert texts(NodesDisplay.from_estimator(model, grid).ax_) == ["nodes", "average"]


def test_tuning_lines_are_the_criterion(dac):
    ax, tuning = TuningDisplay.from_estimator(dac).ax_, dac.tuning_
    lines = ax.get_lines()
    assert len(lines) == len(tuning.bandwidths) + 1
    for line, values in zip(lines[:-1], tuning.values, strict=True):
        assert np.array_equal(line.get_ydata(), values)
        assert np.array_equal(line.get_xdata(), tuning.penalties)
    assert lines[-1].get_xdata()[0] == tuning.penalty


def test_tuning_of_centres_is_drawn_along_the_penalties(adaptive):
    lines = TuningDisplay.from_estimator(adaptive).ax_.get_lines()
    assert np.array_equal(lines[0].get_ydata(), adaptive.tuning_.values)
    assert lines[1].get_xdata()[0] == adaptive.penalty_


def test_tuning_of_a_bandwidth_alone_is_drawn_along_it(rows):
    model = DacKernelRidge(n_nodes=2, penalty=1e-3, random_state=0).fit(*rows)
    ax = TuningDisplay.from_estimator(model).ax_
    assert ax.get_xlabel() == "bandwidth"
    assert np.array_equal(ax.get_lines()[0].get_xdata(), model.tuning_.bandwidths)
    assert np.array_equal(ax.get_lines()[0].get_ydata(), model.tuning_.values[:, 0])


def test_nothing_tuned_is_nothing_to_draw(rows):
    model = DacKernelRidge(n_nodes=2, bandwidth=0.2, penalty=1e-3).fit(*rows)
    with pytest.raises(ValueError, match="nothing was searched"):
        TuningDisplay.from_estimator(model)


def test_the_cost_of_aiming_elsewhere_is_shown(rows):
    model = DacKernelRidge(n_nodes=3, scoring="balanced_mse", random_state=0).fit(*rows)
    title = TuningDisplay.from_estimator(model).ax_.get_title()
    assert f"costs {model.tuning_.cost['ratio']:.2f} times the least MSE" in title


def test_the_search_shows_all_that_was_tried(adaptive):
    ax = SearchDisplay.from_estimator(adaptive).ax_
    random, followed, choice = (line.get_xydata() for line in ax.get_lines())
    tried = adaptive.tuning_.tried
    assert len(random) == sum(t["adapt"] == 0 for t in tried)
    assert len(random) + len(followed) == len(tried)
    assert choice.tolist() == [[adaptive.tuning_.chosen["n_centers"], adaptive.tuning_.chosen["risk"]]]


def test_errors_by_slice_are_bars_with_rare_ones_marked(rows, dac):
    X, y = rows
    display = SliceErrorDisplay.from_estimator(dac, X, y, y_ref=y)
    heights = [bar.get_height() for bar in display.ax_.containers[0]]
    expected = [np.nan if e is None else e for e in display.data["rmse"]]
    assert np.array_equal(heights, expected, equal_nan=True)
    pairs = zip(display.ax_.containers[0], display.data["rare"], strict=True)
    colours = {bar.get_facecolor() for bar, rare in pairs if rare}
    assert len(colours) == 1
    assert display.ax_.get_lines()[0].get_ydata()[0] == pytest.approx(np.sqrt(np.mean((y - dac.predict(X)) ** 2)))
    assert texts(display.ax_) == ["overall", "common slices", "rare slices"]


def test_predictions_are_points_with_rare_ones_marked(rows, dac):
    X, y = rows
    ax = PredictionDisplay.from_estimator(dac, X, y).ax_
    common, rare, diagonal = (line.get_xydata() for line in ax.get_lines())
    mask, prediction = rare_region(y, y), dac.predict(X)
    assert np.array_equal(rare, np.column_stack([y, prediction])[mask])
    assert np.array_equal(common, np.column_stack([y, prediction])[~mask])
    assert np.array_equal(diagonal[:, 0], diagonal[:, 1])
    assert f"{mask.sum()} of 300" in ax.get_title()


def test_no_rare_point_can_be_drawn():
    ax = PredictionDisplay.from_predictions([0.0, 0.1], [0.0, 0.1], y_ref=np.r_[np.zeros(99), 9.0], slices=3).ax_
    assert len(ax.get_lines()[1].get_xdata()) == 0


def test_importances_are_named_bars(adaptive):
    ax = ImportanceDisplay.from_estimator(adaptive).ax_
    assert {label.get_text() for label in ax.get_yticklabels()} == {"east", "north"}
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(adaptive.feature_importances_, reverse=True)
    assert sorted(ax.get_lines()[0].get_xdata()) == sorted(adaptive.rare_importances_)
    ax = ImportanceDisplay.from_estimator(adaptive, feature_names=["a", "b"]).ax_
    assert {label.get_text() for label in ax.get_yticklabels()} == {"a", "b"}


def test_two_levels_show_the_search_of_level_one_and_learned_scales(levels):
    level_one = levels.tuning_.level_one
    ax = SearchDisplay.from_estimator(levels).ax_
    drawn = sorted(x for line in ax.get_lines()[:2] for x in line.get_xdata())
    assert drawn == sorted(tried["n_centers"] for tried in level_one.tried)
    ax = TuningDisplay.from_estimator(levels).ax_
    assert np.array_equal(ax.get_lines()[0].get_xdata(), level_one.penalties)
    ax = ImportanceDisplay.from_estimator(levels).ax_
    assert [bar.get_width() for bar in ax.patches] == sorted(levels.feature_scale_, reverse=True)
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == "constant"
    assert ax.get_xlabel() == "learned scale"


def test_rows_are_drawn_for_two_levels_as_for_others(rows):
    X, y = rows
    model = SkewRidge("laplacian", random_state=0).fit(X[:100], y[:100])
    assert PredictionDisplay.from_estimator(model, X, y, y_ref=y).data["n_rows"] == 300
    errors = SliceErrorDisplay.from_estimator(model, X, y).data
    assert errors["overall"] == pytest.approx(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


def test_too_few_rows_for_level_one_are_nothing_to_draw():
    few = SkewRidge(random_state=0).fit(np.arange(3.0)[:, None], np.zeros(3))
    with pytest.raises(ValueError, match="rows were too few for level 1"):
        TuningDisplay.from_estimator(few)


def test_costs_are_bars_with_their_memory(rows):
    planned = plan(rows[1], rows[0], n_nodes=2, memory_limit="2MB")
    ax = CostDisplay.from_plan(planned).ax_
    assert [bar.get_width() for bar in ax.patches] == [cost.n_flops for cost in planned.costs]
    assert [label.get_text() for label in ax.get_yticklabels()] == [cost.fit for cost in planned.costs]
    assert [", too large" in text.get_text() for text in ax.texts] == [not cost.fits for cost in planned.costs]
    assert len({bar.get_facecolor() for bar in ax.patches}) == 2
