"""Columns with heavy tails or absurd cells: no worse than trees, which see nothing but order, and named."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from skewridge import AdaptiveKernelRidge, DacKernelRidge, LocalKernelRidge, SkewRidge, diagnose, load_model, save_model
from skewridge.features.forms import FAR, reach
from skewridge.reporting import collect
from tests.campaigns.scenarios import absurd_cell, absurd_row, cauchy_columns, lognormal_columns, mixed_types

ESTIMATORS = {"two levels": SkewRidge, "centres": AdaptiveKernelRidge, "cells": LocalKernelRidge}


TABLES = {
    mixed_types: (2000, ["x2"]),
    lognormal_columns: (1500, ["x0", "x1", "x2"]),
    cauchy_columns: (1500, ["x0", "x1", "x2"]),
    absurd_row: (1000, ["x0", "x1", "x2"]),
    absurd_cell: (1000, ["x0"]),
}


def ratio_to_trees(estimator, make, n, seed):
    """The squared error over that of boosted trees, on new rows without absurd ones."""
    rng = np.random.default_rng(seed)
    X, y = make(2 * n, rng)
    train, test = slice(0, n), slice(n, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with threadpool_limits(1):  # threads of trees that wait for each other take minutes where others work
            trees = HistGradientBoostingRegressor().fit(X[train], y[train])
        models = estimator(random_state=0).fit(X[train], y[train]), trees
    errors = [np.mean((m.predict(X[test]) - y[test]) ** 2) for m in models]
    return errors[0] / errors[1]


@pytest.mark.parametrize("name", ["centres", "cells"])
@pytest.mark.parametrize("make", TABLES)
def test_far_values_are_no_worse_than_for_trees(make, name):
    assert ratio_to_trees(ESTIMATORS[name], make, 400, 0) < 1.3


def test_a_cell_of_a_million_is_no_worse_than_for_trees_on_two_levels():
    assert ratio_to_trees(SkewRidge, absurd_cell, 150, 0) < 1.3


@pytest.mark.parametrize("seed", range(2))
def test_one_cell_does_not_hide_all_other_columns_from_cells(seed):
    """The form of its column that saw nothing but the cell had a scale beside which all others were negligible."""
    assert ratio_to_trees(LocalKernelRidge, absurd_cell, 400, seed) < 0.5


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("make", TABLES)
def test_far_values_are_no_worse_than_for_trees_on_more_rows(make, name, seed):
    assert ratio_to_trees(ESTIMATORS[name], make, TABLES[make][0], seed) < 1.3


@pytest.mark.parametrize("make", TABLES)
def test_diagnose_names_columns_with_far_values(make):
    n, expected = TABLES[make]
    X, y = make(n, np.random.default_rng(0))
    told = diagnose(y, X)
    assert sorted(column.name for column in told.heavy_columns) == expected
    assert all(column.reach > FAR for column in told.heavy_columns)
    assert f"{told.heavy_columns[0].name} (" in str(told)
    assert told.to_dict()["heavy_columns"][0]["name"] == told.heavy_columns[0].name


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame_are_named_and_texts_passed_over(frame):
    X, y = absurd_cell(200, np.random.default_rng(0))
    told = diagnose(y, frame({"width": X[:, 0], "kind": ["a", "b"] * 100, "height": X[:, 1]}))
    assert [column.name for column in told.heavy_columns] == ["width"]


@pytest.mark.parametrize("law", ["normal", "exponential", "uniform", "logistic"])
def test_usual_laws_are_not_named(law):
    assert reach(getattr(np.random.default_rng(0), law)(size=20_000)) < FAR


def test_columns_of_few_values_and_of_zeros_have_no_tails():
    rng = np.random.default_rng(0)
    assert reach(np.repeat([0.0, 1e6], [999, 1])) == 0.0
    assert reach(np.where(rng.random(2000) < 0.05, rng.normal(size=2000), 0.0)) < FAR
    assert reach(np.where(rng.random(2000) < 0.2, np.exp(2 * rng.normal(size=2000)), 0.0)) > FAR
    assert reach(np.full(5, np.nan)) == reach(np.empty(0)) == 0.0


def test_nothing_is_said_where_no_column_has_tails():
    X = np.random.default_rng(0).normal(size=(300, 2))
    told = diagnose(X[:, 0] ** 2, X)
    assert told.heavy_columns == diagnose(X[:, 0] ** 2).heavy_columns == ()
    assert "from the median" not in str(told)


@pytest.mark.parametrize("name", ["centres", "cells"])
def test_a_report_names_columns_of_the_fit_and_of_the_rows_that_it_judges_by(name, tmp_path):
    X, y = absurd_cell(200, np.random.default_rng(0))
    clean, response = X[20:].copy(), y[20:]
    frames = [pd.DataFrame(rows, columns=["width", "height", "depth"]) for rows in (X, clean)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save_model(ESTIMATORS[name](random_state=0).fit(frames[0], y), tmp_path / "model.skr")
    model = load_model(tmp_path / "model.skr")
    assert "width (" in collect(model, frames[1], response)["cautions"]["heavy_columns"]
    frames[1].loc[3, "depth"] = -1e9
    assert "depth (" in collect(model, frames[1], response)["cautions"]["heavy_columns"]


def test_a_report_on_two_levels_and_on_nodes_names_columns():
    X, y = absurd_cell(60, np.random.default_rng(0))
    for estimator in (SkewRidge(random_state=0), DacKernelRidge(n_nodes=2, random_state=0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = estimator.fit(X, y)
        assert "x0 (" in collect(model, X, y)["cautions"]["heavy_columns"]
    assert "heavy_columns" not in collect(model, X[20:], y[20:])["cautions"]
