"""The methods that are compared, each with its own tuning: what users would pick instead.

Runs in the peers' environment and in ours: packages are imported where they are used. Every method is a pair of
functions, ``tune(X, y) -> settings`` and ``fit(X, y, settings) -> model``; features come standardised. Every method
is tuned as it is fitted, on its transformed or weighted response; those that average kernel ridge regressions share the
search of plain kernel ridge regression, and its time counts for each of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

THREADS = 1  # of every method: processor seconds can then be compared on a machine that does other things as well
GAMMAS = np.logspace(-2, 2, 9)  # over the number of features
ALPHAS = np.logspace(-4, 1, 6)
TUNING_ROWS = 2000  # the grid searches of kernel methods use so many rows
MANY_ROWS = 100_000  # beyond which a thousand Nystroem components do not fit in memory


@dataclass(frozen=True)
class Method:
    """tune, fit, up to how many rows the method is run, and whose settings it shares."""

    tune: Callable
    fit: Callable
    most_rows: float = np.inf
    family: str = ""


def nothing(X, y):
    return {}


def grid(estimator, names, X, y, weights=None):
    """3-fold search over gamma and alpha on some rows; the settings by their own names."""
    from sklearn.model_selection import GridSearchCV

    rows = np.random.default_rng(0).permutation(len(y))[:TUNING_ROWS]
    space = {names[0]: GAMMAS / X.shape[1], names[1]: ALPHAS}
    search = GridSearchCV(estimator, space, cv=3, scoring="neg_mean_squared_error", n_jobs=THREADS)
    weighted = {} if weights is None else {"ridge__sample_weight": weights[rows]}
    best = search.fit(X[rows], y[rows], **weighted).best_params_
    return {name.split("__")[-1]: float(value) for name, value in best.items()}


def density_weights(y):
    """One over the number of rows in the row's bin of Scott's histogram, mean 1."""
    edges = np.histogram_bin_edges(y, "scott" if np.ptp(y) > 0 else 1)
    label = np.clip(np.searchsorted(edges, y, side="right") - 1, 0, len(edges) - 2)
    weights = 1.0 / np.bincount(label, minlength=len(edges) - 1)[label]
    return weights / weights.mean()


def on_target(kind, model, y):
    """The model on a log or quantile target."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import QuantileTransformer

    if kind == "log":
        shift = 1e-3 * np.ptp(y) - y.min()
        return TransformedTargetRegressor(
            model, func=lambda v: np.log(v + shift), inverse_func=lambda v: np.exp(v) - shift, check_inverse=False
        )
    return TransformedTargetRegressor(
        model, transformer=QuantileTransformer(output_distribution="normal", random_state=0), check_inverse=False
    )


# --- scikit-learn ---------------------------------------------------------------------------------------------------


def ridge(**settings):
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(kernel="rbf", **settings)


def nystroem(m, gamma=1.0, alpha=1.0, n_jobs=THREADS):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    return make_pipeline(Nystroem(gamma=gamma, n_components=m, random_state=0, n_jobs=n_jobs), Ridge(alpha=alpha))


def tune_nystroem(X, y):
    return grid(nystroem(300), ("nystroem__gamma", "ridge__alpha"), X, y)


def tune_weighted_nystroem(X, y):
    return grid(nystroem(300), ("nystroem__gamma", "ridge__alpha"), X, y, density_weights(y))


def tuned_on(kind):
    """The search on a transformed target."""
    names = ("regressor__nystroem__gamma", "regressor__ridge__alpha")
    return lambda X, y: grid(on_target(kind, nystroem(300), y), names, X, y)


def components(n_rows):
    return min(1000, n_rows) if n_rows <= MANY_ROWS else 300


def fit_nystroem(X, y, settings):
    return nystroem(components(len(y)), **settings).fit(X, y)


def trees():
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=0)


def fit_trees(X, y, settings):
    return trees().fit(X, y)


def transformed(kind, make):
    """Tune and fit a maker of models on a transformed target."""
    return lambda X, y, settings: on_target(kind, make(len(y), settings), y).fit(X, y)


def nystroem_of(n_rows, settings):
    return nystroem(components(n_rows), **settings)


def trees_of(n_rows, settings):
    return trees()


def fit_weighted_nystroem(X, y, settings):
    return nystroem(components(len(y)), **settings).fit(X, y, ridge__sample_weight=density_weights(y))


def fit_weighted_trees(X, y, settings):
    return trees().fit(X, y, sample_weight=density_weights(y))


# --- others ---------------------------------------------------------------------------------------------------------


def fit_lightgbm(X, y, settings):
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=THREADS, verbose=-1, random_state=0).fit(X, y)


def fit_catboost(X, y, settings):
    from catboost import CatBoostRegressor

    return CatBoostRegressor(thread_count=THREADS, verbose=0, allow_writing_files=False, random_seed=0).fit(X, y)


class Vecchia:
    """GPBoost's Vecchia approximation of a Gaussian process."""

    def __init__(self, X, y):
        import gpboost

        self.model = gpboost.GPModel(
            gp_coords=X,
            cov_function="matern",
            cov_fct_shape=1.5,
            gp_approx="vecchia",
            likelihood="gaussian",
            num_parallel_threads=THREADS,
        )
        self.model.fit(y=y, X=np.ones((len(y), 1)))

    def predict(self, X):
        return self.model.predict(gp_coords_pred=X, X_pred=np.ones((len(X), 1)))["mu"]


class Blockwise:
    """dask-ml's average of kernel ridge regressions on blocks of 1,000 rows: classical divide and conquer."""

    def __init__(self, X, y, settings):
        import dask.array as da
        from dask_ml.ensemble import BlockwiseVotingRegressor

        order = np.random.default_rng(0).permutation(len(y))
        self.model = BlockwiseVotingRegressor(ridge(**settings))
        self.model.fit(da.from_array(X[order], chunks=(1000, -1)), da.from_array(y[order], chunks=1000))

    def predict(self, X):
        return np.asarray(self.model.predict(X))


class Resampled:
    """resreg's bagging on resampled rows, the rare ones more often."""

    def __init__(self, X, y, settings):
        import resreg

        k = max(2, len(y) // 1000)
        relevance = resreg.sigmoid_relevance(y, cl=None, ch=np.quantile(y, 0.95))
        self.model = resreg.Rebagg(m=k, s=1 / k, base_reg=ridge(**settings))
        self.model.fit(
            *(X, y), relevance=relevance, sample_method="random_oversample", size_method="balance", random_state=0
        )

    def predict(self, X):
        return np.asarray(self.model.predict(X))


def tune_ridge(X, y):
    return grid(ridge(), ("gamma", "alpha"), X, y)


# --- ours -----------------------------------------------------------------------------------------------------------


def fit_adaptive(X, y, settings):
    from skewridge import AdaptiveKernelRidge

    return AdaptiveKernelRidge(random_state=0, n_jobs=THREADS).fit(X, y)


def fit_nodes(X, y, settings):
    from skewridge import DacKernelRidge

    return DacKernelRidge(kernel="matern32", random_state=0, n_jobs=THREADS).fit(X, y)


OURS: dict[str, Any] = {
    "AdaptiveKernelRidge": Method(nothing, fit_adaptive),
    "DacKernelRidge": Method(nothing, fit_nodes, 60_000),
}
PEERS: dict[str, Any] = {
    "KernelRidge": Method(tune_ridge, lambda X, y, s: ridge(**s).fit(X, y), 10_000, "ridge"),
    "Nystroem": Method(tune_nystroem, fit_nystroem),
    "Nystroem, log": Method(tuned_on("log"), transformed("log", nystroem_of)),
    "Nystroem, quantile": Method(tuned_on("quantile"), transformed("quantile", nystroem_of)),
    "Nystroem, weights": Method(tune_weighted_nystroem, fit_weighted_nystroem),
    "HistGB": Method(nothing, fit_trees),
    "HistGB, log": Method(nothing, transformed("log", trees_of)),
    "HistGB, quantile": Method(nothing, transformed("quantile", trees_of)),
    "HistGB, weights": Method(nothing, fit_weighted_trees),
    "LightGBM": Method(nothing, fit_lightgbm),
    "CatBoost": Method(nothing, fit_catboost),
    "GPBoost": Method(nothing, lambda X, y, s: Vecchia(X, y), 60_000),
    "dask-ml blocks": Method(tune_ridge, lambda X, y, s: Blockwise(X, y, s), 60_000, "ridge"),
    "resreg": Method(tune_ridge, lambda X, y, s: Resampled(X, y, s), 60_000, "ridge"),
}
