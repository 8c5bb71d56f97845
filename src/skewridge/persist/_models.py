"""What model files hold: every class, field by field, and no others. To add an estimator is to add its entry here.

Letters of lengths, in each estimator its own: N rows given, R fitted, d columns, D features that the kernel sees,
r or m centres, p outputs (1), l slices, k nodes, M members, or rows of all nodes, q dominating rows, knots or
trends, C cells, P penalties, B bandwidths.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from skewridge.cells.fit import Cells
from skewridge.cells.partition import LEAF
from skewridge.kernels import BANDWIDTH_FREE, MAX_DEGREE, Kernel
from skewridge.nodes.sample_weights import check_weights_are_taken
from skewridge.persist._archive import require
from skewridge.persist._schema import ESTIMATORS, NAMED, At, Estimator, at_home, check_value, parse, record, schema_of

OUTPUTS = tuple({"transform": name} for name in ("default", "pandas", "polars"))
NAMED["Output"] = partial(check_value, options=OUTPUTS)
NAMED["KernelName"] = parse("one of kernels.kernel:KERNELS")
NAMED["Rows"] = parse(f"whole 0..{2**53}")  # beyond, floats skip whole numbers


def _is_regressor(value: Any) -> bool:
    """Whether it is an estimator of ours that predicts."""
    return schema_of(value) is not None and isinstance(value, RegressorMixin)


def _check_own(value: Any, at: At) -> None:
    """A fitted estimator of ours, for as many features as the model has."""
    own = _is_regressor(value) and hasattr(value, "n_features_in_")
    at.require(own, "is not a fitted estimator of skewridge's own")
    at.match("d", value.n_features_in_)


def _cut(starts: Any, n_items: int) -> bool:
    """Whether starts cut so many items into parts that follow each other."""
    return bool(starts[0] == 0 and starts[-1] == n_items and (np.diff(starts) >= 0).all())


def _ascending(*parts: Any) -> bool:
    return all(bool((np.diff(part) > 0).all()) for part in parts)


NAMED["OwnEstimator"] = _check_own

# Kernels, and forms of columns


def _takes(kernel: Kernel, points: Any) -> bool:
    """Whether a kernel takes points of this width."""
    return len(kernel.low) in (0, points.shape[1])


def _width(transform: Any) -> int:
    """How many columns a Scaling, forms or scaled forms take."""
    forms = getattr(transform, "forms", transform)
    return forms.n_columns if hasattr(forms, "n_columns") else len(forms.scale)


def _n_trends(levels: Any) -> int:
    """How many trends local fits have, 0 without levels."""
    return 0 if levels is None else levels.locals[0].cells.slopes.shape[1]


record(
    "kernels.kernel:Kernel",
    f"""name: KernelName; bandwidth: number > 0 | None; degree: whole 0..{MAX_DEGREE}
    low: tuple of number; high: tuple of number""",
    lambda kernel: (kernel.bandwidth is None) == (kernel.name in BANDWIDTH_FREE),
    lambda kernel: len(kernel.low) == len(kernel.high),  # a range for every feature, or none
    lambda kernel: (len(kernel.low) > 0) == (kernel.name == "sobolev"),
)
record("features.scaling:Scaling", "shift: float[d]; scale: float[d]")
record(
    "features.forms:FeatureForms",
    """n_columns: length d; columns: int[D] < d; ranked: bool[D]
    knots: tuple of float[*]; scores: tuple of float[*]""",
    lambda forms: len(forms.knots) == len(forms.scores) == len(forms),
    lambda forms: all(len(knots) == len(own) > 1 for knots, own in zip(forms.knots, forms.scores, strict=True)),
    lambda forms: _ascending(*forms.knots),
)
record("features.forms:ScaledForms", "forms: FeatureForms; scales: float[D]")
record(
    "centers.fit:GlobalModel",
    """transform: Scaling | ScaledForms; centers: float[m *]; coef: float[p m]; kernel: Kernel; intercepts: float[p]
    low: float[p] any; high: float[p] any; means: float[p]; units: float[p]""",
    lambda model: not hasattr(model.transform, "scale") or len(model.transform.scale) == model.centers.shape[1],
    lambda model: not hasattr(model.transform, "scales") or len(model.transform.scales) == model.centers.shape[1],
    lambda model: _takes(model.kernel, model.centers),
    alone=True,
)

# Errors of unseen rows, and what all regressors keep


def _errors_hold(model: Any) -> bool:
    """Whether errors come with their model, whose scale depends on rows and predictions, and bounds are in order."""
    ends = getattr(model, "_bounds", None) or (-np.inf, np.inf)
    found = getattr(model, "_error_model", None)
    whole = len(ends) == 2 and ends[0] <= ends[1] and (found is None) == (not hasattr(model, "calibration_"))
    noise = None if found is None else found.noise
    return whole and (noise is None or _width(noise.transform) == model.n_features_in_ + 1)


record(
    "distribution.intervals:Calibration",
    """edges: float[l+1] any; starts: int[l+1]; errors: float[n]; weights: float[n]
    source: one of distribution.intervals:SOURCES""",
    lambda found: _cut(found.starts, len(found.errors)),
    alone=True,
)
record(
    "distribution.predictive:PointMasses",
    "values: float[a]; edges: float[g+1] any; shares: float[g a]; rest: Calibration | None",
    lambda masses: masses.shares.min() >= 0.0 and masses.shares.sum(axis=1).max() <= 1.0 + 1e-9,
    lambda masses: _ascending(masses.values, masses.edges[1:-1]),
    alone=True,
)
record(
    "estimators.intervals:ErrorModel",
    """noise: GlobalModel | None; masses: PointMasses | None; low: number -inf..inf; high: number -inf..inf
    origin: number; step: number 0..1e308""",
    lambda model: model.low <= model.high,
    lambda model: model.noise is None or len(model.noise.means) == 1,
    alone=True,
)
NAMED["Ends"] = parse("tuple of number -inf..inf")
COMMON = """n_features_in_: length d; feature_names_in_?: text[d]; column_labels_in_?: text[d]
    feature_min_in_?: float[d]; feature_max_in_?: float[d]; _seed: whole; _response_edges: float[*] any
    calibration_?: Calibration; _error_model?: ErrorModel"""

# DacKernelRidge and DacRegressor


record("response.slices:Slices", "edges: float[l+1] any; labels: int[N] < l; counts: int[l]; copies: int[l]")
record(
    "response.allocation:Allocation",
    "rows: int[M] < N; starts: int[k+1]",
    lambda found: _cut(found.starts, len(found.rows)),
)
record(
    "nodes.partition:Partition", "slices: Slices; allocation: Allocation; weights: float[N] | None; dealing: nothing"
)
record(
    "nodes.fit:Problem",
    """X: float[N d]; y: float[N]; partition: Partition; kernel: Kernel; penalties: float[k]; single: bool""",
    lambda problem: _takes(problem.kernel, problem.X),
)
record(
    "ridge.exact:Expansion",
    "points: float[e d]; coef: float[e]; kernel: Kernel; scale: number 0..1e308",
    lambda expansion: _takes(expansion.kernel, expansion.points),
)
record("ridge.exact:NodeFit", "rows: int[n] < N; coef: float[n]", alone=True)
record(
    "nodes.tuning:Tuning",
    """criterion: str; scoring: str; bandwidths: float[B] any; penalties: float[P]; values: float[B P] any
    margins: float[B P] any; bandwidth: number | None; penalty: number; at_edge: tuple; cost: dict | None""",
)
NODES = f"""slices_: Slices; allocation_: Allocation; n_nodes_: length k; n_oversampled_: whole; n_distinct_: length M
    _bounds: Ends | None; {COMMON}"""
ESTIMATORS["DacKernelRidge"] = Estimator(
    "estimators.dac:DacKernelRidge",
    f"""bandwidth_: number > 0 | None; penalty_: number | float[k]; tuning_: Tuning; dual_coef_: float[N]
    X_fit_: float[N d]; intercept_: number; _problem: Problem; _centred: bool; _expansion: Expansion
    nodes_?: list of NodeFit; _fitted_with?: dict; {NODES}""",
    (
        lambda model: model._clone_as_fitted()._settings.check(),  # since it may be fitted again to some of its rows
        lambda model: len(model.dual_coef_) == len(model._problem.y),
        _errors_hold,
    ),
)
ESTIMATORS["DacRegressor"] = Estimator(
    "estimators.dac_regressor:DacRegressor",
    f"estimators_: list of OwnEstimator; _weighted: bool; {NODES}",
    (
        lambda model: check_weights_are_taken(model.estimator, model.focus, None),
        lambda model: {type(node) for node in model.estimators_} == {type(model.estimator)},
        lambda model: len(model.estimators_) == model.n_nodes_,
        _errors_hold,
    ),
)

# AdaptiveKernelRidge


record(
    "ridge.low_rank:Basis",
    "kernel: Kernel; centers: float[r D]; kept: int[r]; factor: float[r r]",
    lambda basis: _takes(basis.kernel, basis.centers),
)
record(
    "centers.fit:LowRankModel",
    """basis: Basis; rows: int[r]; beta: float[p r]; intercepts: float[p]; factor: float[r r] any; n_rows: number > 0
    spread: float[p]; n_steps: whole | None; precision: number""",
)
record(
    "centers.choose:CenterTuning",
    """criterion: str; scoring: str; chosen: dict; penalty: number; dominant: int[q]; influence: float[q] any
    tried: list of dict; penalties: float[P]; values: float[P] any; margins: float[P] any; at_edge: tuple
    n_fits: number 0..1e308; cost: dict | None""",
)
ESTIMATORS["AdaptiveKernelRidge"] = Estimator(
    "estimators.adaptive:AdaptiveKernelRidge",
    f"""centers_: float[r d]; center_rows_: int[r]; dual_coef_: float[r]; intercept_: number; noise_: number
    n_centers_: length r; adapt_: number 0..1; kernel_: KernelName; bandwidth_: number > 0 | None; penalty_: number > 0
    feature_scale_: float[d]; solver_: str; n_iter_: whole | None; tuning_: CenterTuning; _model: GlobalModel
    _low_rank: LowRankModel; feature_importances_: float[d]
    rare_importances_: float[d]; feature_slopes_: float[d]; {COMMON}""",
    (
        lambda model: _width(model._model.transform) == model.n_features_in_,
        lambda model: len(model._model.means) == len(model._low_rank.spread) == 1,
        lambda model: model._low_rank.basis.kernel == model._model.kernel,  # the posterior is of what predicts
        lambda model: np.array_equal(model._low_rank.basis.centers, model._model.centers),
        _errors_hold,
    ),
)

# SkewRidge and LocalKernelRidge, which hold every distinct training row


def _cells_hold(cells: Cells) -> bool:
    """Whether every cell has rows, children come after their parents, and leaves number the cells."""
    tree, starts = cells.partitions, cells.rows.starts
    inner, leaves = np.flatnonzero(tree.feature != LEAF), np.sort(tree.child[tree.feature == LEAF])
    split, child = tree.feature[inner], tree.child[inner]
    known = split.min(initial=0) >= 0 and split.max(initial=0) < cells.points.shape[1]
    ordered = (child > inner).all() and (child + 1 < len(tree.feature)).all()
    numbered = np.array_equal(leaves, np.arange(len(cells.means)))
    shared = _cut(starts, len(cells.rows.order)) and _ascending(starts)
    return bool(known and ordered and numbered and shared and cells.kernel.name not in BANDWIDTH_FREE)


def _prepare(model: Any) -> None:
    """Refuse companions that are not ours; learn the noise before the rows are left behind, for distributions."""
    foreign = [own for own in getattr(model, "companions", None) or () if not _is_regressor(own)]
    require(
        not foreign,
        f"its companion {type(foreign[0]).__name__ if foreign else ''} is no estimator of skewridge's own, and model "
        "files hold data and never code. Save it with pickle or joblib, or fit a SkewRidge without companions to a "
        "table that has the cross-fitted predictions of this one as a column",
    )
    if hasattr(model, "_left_out") and not hasattr(model, "calibration_"):
        model.calibrate()


record("cells.partition:Partitions", "roots: int[T] < k; feature: int[k]; cut: float[k]; child: int[k]")
record("cells.partition:CellRows", "order: int[R] < N; starts: int[C+1]")
record(
    "cells.fit:Cells",
    """kernel: Kernel; partitions: Partitions; points: float[N D]; rows: CellRows; coef: float[p R]; means: float[C p]
    slopes: float[C q p]""",
    _cells_hold,
)
record(
    "cells.local:LocalModel",
    "used: int[u]; scales: float[D]; cells: Cells; means: float[p]; units: float[p]",
    lambda model: model.used.min(initial=0) >= 0,
    lambda model: len(model.used) + model.cells.slopes.shape[1] == len(model.scales),  # forms in use, and trends
    alone=True,
)
record("ridge.linear:LinearModel", "scaling: Scaling; coef: float[d p]; intercept: float[p]")
record(
    "two_levels.blend:TwoLevels",
    "level_one: GlobalModel; forms: FeatureForms; locals: tuple of LocalModel; mean: number; spread: number > 0",
    lambda levels: {len(model.means) for model in (levels.level_one, *levels.locals)} == {1},
    lambda levels: _width(levels.level_one.transform) == _width(levels.forms),
    lambda levels: all(model.used.max(initial=-1) < len(levels.forms) for model in levels.locals),
    lambda levels: len(levels.locals) > 0 and _n_trends(levels) > 0,
    lambda levels: all(model.cells.slopes.shape[1] == _n_trends(levels) for model in levels.locals),
    alone=True,
)
record(
    "two_levels.blend:Members",
    "levels: TwoLevels | None; linear: LinearModel; low: number -inf..inf; high: number -inf..inf",
    lambda members: len(members.linear.intercept) == 1,
    lambda members: members.levels is None or members.levels.forms.n_columns == len(members.linear.scaling.scale),
)
record(
    "two_levels.blend:BlendedModel",
    "members: Members; weights: float[M]; intercept: number",
    lambda model: (
        len(model.weights) == 1 + len(getattr(model.members.levels, "locals", ())) + _n_trends(model.members.levels)
    ),
    alone=True,
)
record(
    "two_levels.expected_error:ExpectedError",
    """mse: number any; mse_se: number any; rare_mse: number any; rare_mse_se: number any
    dominant_row: whole | None; dominant_share: number 0..1""",
)
record(
    "two_levels.results:LevelTuning",
    """members: tuple; weights: float[M]; left_out_by: str; level_one: CenterTuning | None; ridges: float[b]
    trends: float[b g]; scales: float[* d]; guide_scales: float[b g]""",
    alone=True,
)
LEFT_OUT = f"""expected_error_: ExpectedError; oof_prediction_: float[N] any; dropped_features_: list
    _bounds: Ends | None; _left_out: tuple of float[R]; {COMMON}"""
ESTIMATORS["LocalKernelRidge"] = Estimator(
    "estimators.local:LocalKernelRidge",
    f"""feature_scale_: float[d]; ridge_: number 0..1e308; n_cells_: whole; _forms: FeatureForms
    _model: LocalModel | None; _means: float[p]; {LEFT_OUT}""",
    (
        lambda model: model._forms.n_columns == model.n_features_in_,
        lambda model: model._model is None or model._model.used.max(initial=-1) < len(model._forms),
        lambda model: len(model._means) == 1 and (model._model is None or len(model._model.means) == 1),
        lambda model: len(model._left_out) == 3,
        _errors_hold,
    ),
    _prepare,
    forgotten=("_fitted_rows",),
)
ESTIMATORS["SkewRidge"] = Estimator(
    "estimators.skew_ridge:SkewRidge",
    f"""feature_scale_: float[d]; _model: BlendedModel; companions_: list of OwnEstimator
    tuning_: LevelTuning; {LEFT_OUT}""",
    (
        lambda model: len(model._model.members.linear.scaling.scale) == model.n_features_in_,
        lambda model: len(model.companions_) == max(0, _n_trends(model._model.members.levels) - 1),
        lambda model: len(model._left_out) == 3,
        _errors_hold,
    ),
    _prepare,
    forgotten=("_fitted_rows",),
)

# SmoothingSpline: t terms, b of them in use, u fitted features, o free functions, f of them in use, g independent ones


def _check_factor(value: Any, at: At) -> None:
    """A feature and the part of its function that is a factor of a term."""
    pair = type(value) is tuple and len(value) == 2
    known = pair and type(value[0]) is int and value[0] >= 0 and type(value[1]) is str
    at.require(known and value[1] in at_home("splines.model:PARTS"), "is no factor of a term")


def _fit_holds(fit: Any) -> bool:
    """Whether every feature of the model has knots, and every fitted feature a coefficient."""
    models = (fit.features.model, fit.free.model)
    used = [f for model in models for features in model.free for f in features]
    used += [f for model in models for term in model.terms for f, _ in term]
    width = fit.features.knots.shape[1]
    return max(used, default=-1) < width and len(fit.loads) == len(fit.features) and len(fit.free.model.free) > 0


NAMED["Factor"] = _check_factor
record(
    "splines.model:Model",
    "free: tuple of tuple of whole; terms: tuple of tuple of Factor",
    lambda model: all(1 <= len(term) <= 2 for term in model.terms),
)
record(
    "splines.model:Features",
    """model: Model; places: int[b]; knots: float[q d]; kept: tuple of int[*] < q; factors: tuple of float[* *]
    starts: int[b+1]""",
    lambda features: len(features.kept) == len(features.model.terms),
    lambda features: [own.shape for own in features.factors] == [(len(kept), len(kept)) for kept in features.kept],
    lambda features: np.array_equal(features.starts, np.cumsum([0, *map(len, features.kept)])),
)
record("splines.model:Free", "model: Model; basis: float[f g]")
record(
    "splines.fit:SplineFit",
    """features: Features; free: Free; theta: float[b]; penalty: number 0..1e308; loads: float[u]; free_coef: float[g]
    coef: float[q]; gcv: number any; dof: number any; noise: number any; n_steps: whole; converged: bool
    spread: float[u w]; free_spread: float[g s]""",
    _fit_holds,
)
record("splines.model:Domain", "low: float[d]; span: float[d]")
ESTIMATORS["SmoothingSpline"] = Estimator(
    "estimators.spline:SmoothingSpline",
    f"""terms_: list of str; free_terms_: list of str; theta_: float[t]; penalty_: number 0..1e308; knots_: float[q d]
    knot_rows_: int[q]; coef_: float[q]; null_coef_: float[o]; gcv_: number any; dof_: number any; sigma2_: number any
    n_iter_: whole; _domain: Domain; _fit: SplineFit; _unit: number; _mean: number
    _bounds: Ends | None; {COMMON}""",
    (_errors_hold,),
)

# Raw tables


def _pipeline_holds(pipeline: Any) -> None:
    """Raise unless a fitted encoder leads to a fitted regressor."""
    steps: Any = pipeline.steps
    pairs = type(steps) is list and len(steps) == 2 and all(type(step) is tuple and len(step) == 2 for step in steps)
    none: Any = None, None
    (first, encoder), (last, model) = steps if pairs else (none, none)
    encodes = schema_of(encoder) is ESTIMATORS["TableEncoder"]
    if not (type(first) is type(last) is str and encodes and _is_regressor(model)):
        raise TypeError("a Pipeline of other steps than a TableEncoder and an estimator of ours cannot be saved")
    check_is_fitted(encoder)
    check_is_fitted(model)
    if sum(len(column.features) for column in encoder.columns_) != model.n_features_in_:
        raise ValueError("the estimator of a Pipeline was fitted to other columns than its TableEncoder makes")


record("tables.written_numbers:NumberFormat", "decimal: one of io.csv_dialect:DECIMALS; unit: str; gaps: tuple of str")
record(
    "tables.dates:DateParts",
    "parts: tuple of one of tables.dates:PARTS; writing: one of tables.dates:DATE_FORMATS",
    lambda dates: len(set(dates.parts)) == len(dates.parts),
)
record(
    "tables.level_means:LevelMeans",
    """deviations: tuple of tuple of number; counts: tuple of Rows; scales: tuple of number; count_shift: number
    count_scale: number""",
    lambda means: len(means.deviations) == len(means.scales) > 0,
    lambda means: {len(own) for own in means.deviations} == {len(means.counts)},
)
record(
    "tables.columns:Column",
    """name: str; kind: one of tables.columns:KINDS; levels: tuple of str; fill: number; shift: number; scale: number
    gap_flag: bool; n_gaps: Rows; writing: NumberFormat | None; dates: DateParts | None; means: LevelMeans | None
    note: str""",
    lambda column: len(set(column.levels)) == len(column.levels),
    lambda column: (column.kind in at_home("tables.columns:LISTED")) == (len(column.levels) > 0),
    lambda column: not column.levels or -1 <= column.fill < len(column.levels),
    lambda column: (column.kind == "date") == (column.dates is not None),
    lambda column: (column.kind == "means") == (column.means is not None),
    lambda column: column.means is None or len(column.means.counts) == len(column.levels),
)
ESTIMATORS["TableEncoder"] = Estimator(
    "tables.encoder:TableEncoder",
    """columns_: list of Column; feature_names_in_: text[d]; n_features_in_: length d
    _sklearn_output_config?: Output""",
)
ESTIMATORS["Pipeline"] = Estimator("estimators.table_model:Pipeline", facts=(_pipeline_holds,), parameters=("steps",))
ESTIMATORS["TableModel"] = Estimator(
    "estimators.table_model:TableModel", facts=(_pipeline_holds,), parameters=("steps",)
)
