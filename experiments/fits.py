"""What the studies fit: simulated data, every method, and the ways its bandwidth and penalty are set.

A cell has function, N, d, k, method, version, width and seed. Settings that neither the paper nor the authors' code
gives are chosen here: BANDWIDTHS, and in the cells the fixed numbers of slices and the unskewed function; the study
"choices" varies them (``width`` multiplies the bandwidth of a published version).
"""

import time
from fractions import Fraction
from functools import cache

import numpy as np

from skewridge import AdaptiveKernelRidge, DacKernelRidge
from skewridge.centers.cross_validation import cv_work
from skewridge.datasets import make_peaks
from skewridge.metrics import rare_mse
from skewridge.nodes.partition import make_plan
from skewridge.response.allocation import expected_node_size
from skewridge.response.slices import slice_quietly

BANDWIDTHS = {1: 0.05, 2: 0.1, 3: 0.2, 4: 0.3, 6: 0.6}
CODE_BANDWIDTH = 0.1  # the authors' code: exp(-100 r^2) in any dimension
SEARCHED_ROWS = 500  # the full fit's settings are searched with nodes of so many rows

TAUS = ("1/5", "1/4", "1/3", "1/2")  # and 1, which is "oversampled"
PEAKS = {"unskewed": 0, "one peak": 1, "two peaks": 2}

# What DacKernelRidge is given; "oversampled" is Algorithm 2 with Scott's rule and tau = 1.
METHODS = {
    "classical": {"slices": 1},
    "equal cost": {"slices": 1},
    "full": {"slices": 1},
    "oversampled": {},
    **{f"tau={tau}": {"oversampling": float(Fraction(tau))} for tau in TAUS},
    **{f"l={number}": {"slices": number} for number in (3, 5, 10, 20, 40, 80)},
    **{rule: {"slices": rule} for rule in ("sturges", "fd")},
    "breaks": {},  # the authors' later settings, which come with the data
    "focus": {"focus": 0.5},
    "pilot": {"slice_on": "pilot", "focus": 0.5},
}
# What AdaptiveKernelRidge is given: ours with its defaults, and with the kernel of all the others.
CENTERED = {"adaptive": {}, "adaptive gaussian": {"kernel": "gaussian"}}

# version -> penalty from N and the expected node size n
PENALTIES = {
    "rule": lambda N, n: 1 / N,
    "node": lambda N, n: n ** (-2 / 3),
    "code": lambda N, n: n ** (-5 / 3),
}
VERSIONS = (*PENALTIES, "tuned")


def make_data(cell):
    """X, y, test points and the truth there."""
    N, d, seed = cell["N"], cell["d"], cell["seed"]
    if cell["function"] in PEAKS:
        return make_peaks(N, d, PEAKS[cell["function"]], random_state=seed, return_test=True)
    truth = FUNCTIONS[cell["function"]]
    rng = np.random.default_rng(seed)
    X = rng.random((N, d))
    X_test = make_peaks(1, d, random_state=0, return_test=True)[2]
    return X, truth(X) + 0.02 * rng.standard_normal(N), X_test, truth(X_test)


# Responses that are evenly spread, slightly skewed, and other unskewed ones.
FUNCTIONS = {
    "even": lambda X: X[:, 0],
    "slight": lambda X: X[:, 0] ** 2,
    "linear": lambda X: X.sum(axis=1) / np.sqrt(X.shape[1]),
    "waves": lambda X: 0.5 * np.prod(np.sin(3 * np.pi * X), axis=1),
}


def nodes_of_equal_cost(y, k, d):
    """The fewest classical nodes that cost no more than Algorithm 2 on k."""
    most = make_plan(slice_quietly(y), k, d).n_flops
    whole = slice_quietly(y, 1)
    few, many = 1, k
    while few < many:
        middle = (few + many) // 2
        few, many = (few, middle) if make_plan(whole, middle, d).n_flops <= most else (middle + 1, many)
    return many


def given(method, version, y, k, d, bandwidth, **more):
    """DacKernelRidge's parameters: how rows are dealt, and where the version sets them, bandwidth and penalty."""
    nodes = {"full": 1, "equal cost": None}.get(method, k) or nodes_of_equal_cost(y, k, d)
    dealt = {"n_nodes": nodes, **METHODS[method], **more}
    if version == "tuned":
        return dealt
    size = expected_node_size(cut_as(y, dealt), nodes, dealt.get("max_per_slice"))
    return {**dealt, "bandwidth": bandwidth, "penalty": PENALTIES[version](len(y), size), "fit_intercept": False}


def cut_as(y, dealt):
    """The slices that these parameters give on the response itself."""
    return slice_quietly(y, dealt.get("slices", "scott"), dealt.get("oversampling", 1.0))


def fitted(method, version, X, y, k, bandwidth, seed, **more):
    """A fitted estimator; ``bandwidth`` is that of the published versions."""
    if method in CENTERED:
        return AdaptiveKernelRidge(**CENTERED[method], random_state=seed).fit(X, y)
    settings = given(method, version, y, k, X.shape[1], bandwidth, **more)
    if method == "full" and version == "tuned":
        settings.update(searched(X, y, seed))
    return DacKernelRidge(**settings, random_state=seed).fit(X, y)


def searched(X, y, seed):
    """Bandwidth and penalty of a full fit, as the classical method with few large nodes chooses them.

    Both suit the same penalty (Zhang, Duchi & Wainwright 2015: that of all rows); leave-one-out of the full fit itself
    takes 40 times as long as the fit.
    """
    nodes = -(-len(y) // SEARCHED_ROWS)
    known = DacKernelRidge(nodes, slices=1, random_state=seed).fit(X, y)
    return {"bandwidth": known.bandwidth_, "penalty": known.penalty_}


def flops_of(model, n_rows):
    """Operations of the fit with its settings known."""
    if isinstance(model, AdaptiveKernelRidge):
        return cv_work(n_rows, model.n_centers_, n_folds=0)
    cap = model.max_per_slice
    return make_plan(model.slices_, model.n_nodes_, model.n_features_in_, cap).n_flops


def described(model, n_rows):
    """What a fit cost and what it chose."""
    return {
        "n_nodes": getattr(model, "n_nodes_", None),
        "n_slices": len(model.slices_) if hasattr(model, "slices_") else None,
        "n_oversampled": getattr(model, "n_oversampled_", None),
        "n_distinct": getattr(model, "n_distinct_", None),
        "n_centers": getattr(model, "n_centers_", None),
        "flops": float(flops_of(model, n_rows)),
        "chosen_bandwidth": float(model.bandwidth_),
        "chosen_penalty": float(model.penalty_),
    }


def measure(cell):
    """Overall and rare-region squared error against the truth, and what the fit cost."""
    X, y, X_test, truth = make_data(cell)
    width = CODE_BANDWIDTH if cell["version"] == "code" else BANDWIDTHS[cell["d"]]
    start = time.process_time()
    model = fitted(cell["method"], cell["version"], X, y, cell["k"], width * cell["width"], cell["seed"])
    seconds = time.process_time() - start
    prediction = model.predict(X_test)
    return {
        "mse": float(np.mean((prediction - truth) ** 2)),
        "rare_mse": float(rare_mse(truth, prediction, y_ref=y)),
        **described(model, len(y)),
        "seconds": seconds,
    }


def cell_of(function, N, d, k, method, version, seed, width=1.0):
    return {
        "function": function,
        "N": N,
        "d": d,
        "k": k,
        "method": method,
        "version": version,
        "width": width,
        "seed": seed,
    }


def versions_of(method):
    """Adaptive centres choose all they need; our other additions are run once as published, everything else always."""
    return ("tuned",) if method in CENTERED else ("node", "tuned") if method in ("focus", "pilot") else VERSIONS


@cache
def warm():
    """Compile, or load what was compiled, before anything is measured."""
    for method in ("classical", "pilot", *CENTERED):
        measure(cell_of("two peaks", 200, 2, 2, method, "tuned", 0))
    measure(cell_of("two peaks", 200, 1, 2, "full", "rule", 0))
