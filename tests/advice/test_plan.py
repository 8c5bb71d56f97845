import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skewridge import AdaptiveKernelRidge, DacKernelRidge, plan
from skewridge.advice.plan import seconds_per_operation
from skewridge.centers.cross_validation import cv_work
from skewridge.datasets import make_peaks
from skewridge.nodes.partition import PartitionSettings, make_plan
from skewridge.response.allocation import allocate
from skewridge.response.slices import slice_quietly, slice_response
from skewridge.two_levels.planning import LevelSize, levels_flops


@pytest.fixture(scope="module")
def peaks():
    return make_peaks(4000, 2, random_state=0)


def test_a_plan_foretells_the_fit(peaks):
    X, y = peaks
    planned = plan(y, X, n_nodes=20)
    model = DacKernelRidge(20, bandwidth=0.1, penalty=1e-3, random_state=0).fit(X, y)
    assert planned.n_oversampled == model.n_oversampled_
    assert planned.n_distinct == pytest.approx(model.n_distinct_, rel=0.03)
    assert (planned.n_rows, planned.n_features, planned.n_nodes) == (4000, 2, 20)
    assert planned.n_slices == len(model.slices_)
    assert planned.refusal is None


def test_costs_are_those_of_the_plans_of_each(peaks):
    X, y = peaks
    levels, adaptive, second, first, exact = plan(y, X, n_nodes=20, n_centers=300).costs
    assert second.n_flops == make_plan(slice_response(y), 20, 2).n_flops
    assert first.n_flops == make_plan(slice_response(y, 1), 20, 2).n_flops
    assert exact.n_bytes == make_plan(slice_response(y, 1), 1, 2).n_bytes
    assert adaptive.n_flops == cv_work(4000, 300, n_folds=0)
    assert adaptive.fit == "AdaptiveKernelRidge(n_centers=300)"
    assert levels.n_flops == levels_flops(LevelSize(4000, 2))
    assert levels.fit.startswith("SkewRidge()")
    assert exact.n_flops > second.n_flops > first.n_flops


def test_auto_nodes_are_those_of_the_estimator(peaks):
    X, y = peaks
    assert plan(y, X).n_nodes == DacKernelRidge(bandwidth=0.1, penalty=1e-3, random_state=0).fit(X, y).n_nodes_


def test_no_more_centres_than_the_estimator_would_try():
    X, y = make_peaks(300, 2, random_state=0)
    most = int(plan(y, X).costs[1].fit.split("at most ")[1].split()[0])
    tried = AdaptiveKernelRidge(random_state=0).fit(X, y).tuning_.tried
    assert max(t["n_centers"] for t in tried) <= most


def test_what_does_not_fit_is_told_and_not_raised(peaks):
    _, y = peaks
    planned = plan(y, n_nodes=2, memory_limit="2MB")
    assert [cost.fits for cost in planned.costs] == [False] * 5
    assert "What would fit" in planned.refusal
    assert "too large" in str(planned)
    assert planned.refusal in str(planned)
    assert not any(cost.fits for cost in plan(y, memory_limit=1000).costs)


def test_what_is_printed_speaks_of_rows_seconds_and_bytes(peaks):
    X, y = peaks
    told = str(plan(y, X, n_nodes=20, memory_limit="1GB"))
    assert re.findall(r"N\*|N~|\b[Nkld]\b|Algorithm|flops", told) == []
    assert told.startswith("4,000 rows of 2 columns; 1 GB of memory may be used")
    assert "DacKernelRidge on 20 nodes: copies of rare rows make" in told
    assert "nodes: copies" not in str(plan(y[:50]))  # one node: nothing is dealt


def test_nodes_that_auto_cannot_find_are_told():
    rng = np.random.default_rng(0)
    y = np.r_[rng.random(30_000) * 1e-3, rng.random(10_000) * 100]
    planned = plan(y, slices=300)
    assert planned.n_nodes == 800
    assert "n_nodes='auto'" in planned.refusal
    expected = allocate(slice_quietly(y, 300), 800, 0)
    assert planned.n_distinct == pytest.approx(len(expected.rows), rel=0.02)


def test_a_plan_is_plain_data(peaks):
    told = plan(peaks[1], n_features=7).to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["n_features"] == 7
    assert {"fit", "n_bytes", "n_flops", "fits", "seconds"} == set(told["costs"][0])


def test_seconds_are_work_at_this_machines_pace(peaks):
    X, y = peaks
    assert 1e-13 < seconds_per_operation() < 1e-7
    levels, adaptive, second, first, exact = plan(y, X, n_nodes=20).costs
    twice = plan(np.tile(y, 2), np.tile(X, (2, 1)), n_nodes=20).costs
    assert all(more.seconds > one.seconds for more, one in zip(twice[:2], (levels, adaptive), strict=True))
    assert plan(y, X, n_nodes=20, n_jobs=2).costs[0].seconds < levels.seconds
    assert exact.seconds > second.seconds > first.seconds > 0.0
    assert adaptive.seconds > 0.0
    assert "time" in str(plan(y, X, n_nodes=20))


def test_threads_save_time_where_there_is_work_for_them(peaks):
    X, y = peaks
    one, two = (plan(y, X, n_nodes=20, n_jobs=n).costs for n in (1, 2))
    assert two[0].seconds < one[0].seconds
    assert two[2].seconds == pytest.approx(one[2].seconds / 2)
    assert two[4].seconds == one[4].seconds  # one node


def test_threads_each_hold_a_matrix(peaks):
    _, y = peaks
    one, two = (plan(y, n_nodes=4, n_jobs=n).n_bytes for n in (1, 2))
    assert two > 1.5 * one


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, lambda X: X.tolist()], ids=["pandas", "polars", "lists"])
def test_any_table_will_do(peaks, table):
    X, y = peaks
    assert plan(y.tolist(), table(X), n_nodes=3) == plan(y, X, n_nodes=3)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"X": np.zeros((3, 2))}, r"expected \(4, d\), got shape \(3, 2\)"),
        ({"X": np.zeros(4)}, r"got shape \(4,\)"),
        ({"n_nodes": 5}, "n_nodes must not exceed the number of rows"),
        ({"n_features": 0}, "n_features must be an integer >= 1"),
        ({"n_centers": 0}, "n_centers must be an integer >= 1 or 'auto'"),
        ({"memory_limit": "much"}, "memory_limit must be a number of bytes"),
        ({"oversampling": -1}, "oversampling must be"),
    ],
)
def test_bad_requests_are_refused(kwargs, message):
    with pytest.raises(ValueError, match=message):
        plan([0.0, 1.0, 2.0, 3.0], **kwargs)


@pytest.mark.parametrize("y", [[1.0], [2.0, 2.0], np.array([1, 2, 3], dtype=np.float32)])
def test_tiny_and_constant_responses_have_a_plan(y):
    planned = plan(y)
    assert planned.n_nodes == 1
    assert planned.n_distinct == pytest.approx(len(y))
    assert PartitionSettings().check()


def test_missing_responses_are_refused():
    with pytest.raises(ValueError, match="y must hold finite numbers"):
        plan([1.0, np.nan])
