import re

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from skewridge import AdaptiveKernelRidge, DacKernelRidge, LocalKernelRidge, SkewRidge, SmoothingSpline
from skewridge.datasets import make_peaks

ROWS = make_peaks(200, 2, random_state=0)
MODELS = {
    "dac": DacKernelRidge(5, bandwidth=0.1, penalty=1e-3, random_state=0),
    "adaptive": AdaptiveKernelRidge(40, 0.5, bandwidth=0.2, penalty=1e-4, random_state=0),
    "levels": SkewRidge("laplacian", random_state=0),
    "cells": LocalKernelRidge(cell_size=50, random_state=0),
}
ALWAYS = {"levels": {"blend", "stated error", "features"}, "cells": {"cells", "kernel", "stated error"}}


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


@pytest.fixture
def model(name):
    return clone(MODELS[name])


def cells(html):
    found = re.findall(r"<tr><th[^>]*>(.*?)</th><td[^>]*>(.*?)</td></tr>", html.split("What was fitted")[1])
    return dict(found)


def test_what_was_fitted_stands_below_scikit_learns_own(name, model):
    fitted = model.fit(*ROWS)
    html = fitted._repr_mimebundle_()["text/html"]
    assert 'class="sk-' in html.split("What was fitted")[0]
    assert cells(html) == cells(fitted._repr_html_())
    assert set(cells(html)) >= ALWAYS.get(name, {"kernel", "penalty"})


def test_what_is_not_fitted_is_scikit_learns_alone(model):
    assert "What was fitted" not in model._repr_html_()
    assert "sk-" in model._repr_mimebundle_()["text/html"]


def test_display_as_text_switches_it_off(model):
    fitted = model.fit(*ROWS)
    with config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert fitted._repr_mimebundle_() == {"text/plain": repr(fitted)}


def test_the_numbers_are_the_fits():
    told = cells(MODELS["dac"].fit(*ROWS)._repr_html_())
    model = MODELS["dac"]
    assert told["nodes"].startswith(f"5 of {model.n_distinct_ / 5:,.0f} rows")
    assert f"N~ = {model.n_distinct_:,}" in told["nodes"]
    assert told["slices"].startswith(f"{len(model.slices_)}, {len(model.slices_.occupied)} of them occupied")
    assert told["kernel"] == "gaussian, bandwidth 0.1"
    assert told["penalty"] == "0.001"
    told = cells(MODELS["adaptive"].fit(*ROWS)._repr_html_())
    assert told["centres"] == "40, drawn 50% of them evenly over the slices of the response"
    assert told["solver"] == "direct"


def test_two_levels_say_how_they_are_blended_and_what_they_state():
    model = clone(MODELS["levels"]).fit(np.c_[ROWS[0], np.ones(200)], ROWS[1])
    told = cells(model._repr_html_())
    pairs = model.blend_weights_.items()
    assert told["blend"] == ", ".join(f"{name} {weight:.2f}" for name, weight in pairs)
    assert told["stated error"].startswith(f"MSE {model.expected_error_.mse / ROWS[1].var():.3g} of the variance of y")
    assert told["stated error"].endswith("(by outer folds)")
    assert told["features"] == "3, 1 of them not used"


def test_choices_say_how_they_were_made():
    model = AdaptiveKernelRidge(random_state=0).fit(*ROWS)
    told = cells(model._repr_html_())
    assert told["penalty"] == f"{model.penalty_:.3g} (chosen by cv)"
    assert told["cross-validated"] == f"MSE {model.tuning_.chosen['risk']:.3g} of the variance of y"
    local = DacKernelRidge(3, penalty="gcv", bandwidth=0.1, random_state=0).fit(*ROWS)
    assert "one a node (chosen by gcv)" in cells(local._repr_html_())["penalty"]
    sobolev = DacKernelRidge(3, kernel="sobolev", penalty=1e-3).fit(*ROWS)
    assert cells(sobolev._repr_html_())["kernel"] == "sobolev"


def test_random_centres_and_steps_are_told():
    model = AdaptiveKernelRidge(40, 0.0, bandwidth=0.2, penalty=1e-4, solver="cg", random_state=0).fit(*ROWS)
    told = cells(model._repr_html_())
    assert told["centres"] == "40, drawn at random"
    assert told["solver"] == f"cg, {model.n_iter_} steps"


def test_pipelines_still_show(model):
    pipeline = make_pipeline(StandardScaler(), model).fit(*ROWS)
    assert type(model).__name__ in estimator_html_repr(pipeline)


def test_names_of_columns_are_escaped():
    table = pd.DataFrame(ROWS[0]).rename(columns=lambda place: f"<b>{place}")
    shown = SmoothingSpline(random_state=0).fit(table, ROWS[1])._repr_html_()
    assert "s(&lt;b&gt;0)" in shown
    assert "s(<b>0)" not in shown


def test_showing_changes_nothing(model):
    fitted = model.fit(*ROWS)
    before = set(vars(fitted))
    prediction = fitted.predict(ROWS[0])
    fitted._repr_mimebundle_()
    assert set(vars(fitted)) == before
    assert np.array_equal(fitted.predict(ROWS[0]), prediction)
