"""What model files hold: every class, field by field, and no others. To add an estimator is to add its entry here.

Letters of lengths, in each estimator its own: N rows given, R fitted, d columns, D features that the kernel sees,
r or m centres, p outputs (1), l slices, k nodes, M members, or rows of all nodes, q dominating rows, knots or
trends, C cells, P penalties, B bandwidths.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skewridge.cells.local import LocalModel
from skewridge.cells.model import Cells
from skewridge.cells.partition import LEAF, CellRows, Partitions
from skewridge.centers.choose import CenterTuning
from skewridge.centers.fit import GlobalModel, LowRankModel
from skewridge.distribution.intervals import SOURCES, Calibration
from skewridge.distribution.predictive import PointMasses
from skewridge.estimators.adaptive import AdaptiveKernelRidge
from skewridge.estimators.dac import DacKernelRidge
from skewridge.estimators.dac_regressor import DacRegressor
from skewridge.estimators.intervals import ErrorModel
from skewridge.estimators.local import LocalKernelRidge
from skewridge.estimators.skew_ridge import SkewRidge
from skewridge.estimators.spline import SmoothingSpline
from skewridge.estimators.table_model import TableModel
from skewridge.features.forms import FeatureForms, ScaledForms
from skewridge.features.scaling import Scaling
from skewridge.io.csv_dialect import DECIMALS
from skewridge.kernels import BANDWIDTH_FREE, KERNELS, MAX_DEGREE, Kernel
from skewridge.nodes.fit import Problem
from skewridge.nodes.partition import Partition
from skewridge.nodes.sample_weights import check_weights_are_taken
from skewridge.nodes.tuning import Tuning
from skewridge.persist._archive import require
from skewridge.persist._schema import ESTIMATORS, NAMED, At, Estimator, check_value, parse, record
from skewridge.response.allocation import Allocation
from skewridge.response.slices import Slices
from skewridge.ridge.exact import Expansion, NodeFit
from skewridge.ridge.linear import LinearModel
from skewridge.ridge.low_rank import Basis
from skewridge.splines.fit import SplineFit
from skewridge.splines.model import PARTS, Domain, Features, Free, Model
from skewridge.tables.columns import KINDS, LISTED, Column
from skewridge.tables.dates import DATE_FORMATS, DateParts
from skewridge.tables.dates import PARTS as DATE_PARTS
from skewridge.tables.encoder import TableEncoder
from skewridge.tables.level_means import LevelMeans
from skewridge.tables.written_numbers import NumberFormat
from skewridge.two_levels.blend import BlendedModel, Members, TwoLevels
from skewridge.two_levels.results import LevelTuning, StatedRisk

REGRESSORS = (DacKernelRidge, DacRegressor, AdaptiveKernelRidge, LocalKernelRidge, SkewRidge, SmoothingSpline)
CHOICES = {
    "KernelName": KERNELS,
    "Source": SOURCES,
    "ColumnKind": KINDS,
    "Decimal": DECIMALS,
    "DatePart": DATE_PARTS,
    "DateWriting": DATE_FORMATS,
    "Output": [{"transform": name} for name in ("default", "pandas", "polars")],
}
NAMED.update({name: partial(check_value, options=tuple(options)) for name, options in CHOICES.items()})
NAMED["Rows"] = parse(f"whole 0..{2**53}")  # beyond, floats skip whole numbers


def _check_own(value: Any, at: At) -> None:
    """A fitted estimator of ours, for as many features as the model has."""
    own = type(value) in REGRESSORS and hasattr(value, "n_features_in_")
    at.require(own, "is not a fitted estimator of skewridge's own")
    at.match("d", value.n_features_in_)


def _cut(starts: Any, n_items: int) -> bool:
    """Whether starts cut so many items into parts that follow each other."""
    return bool(starts[0] == 0 and starts[-1] == n_items and (np.diff(starts) >= 0).all())


def _ascending(*parts: Any) -> bool:
    return all(bool((np.diff(part) > 0).all()) for part in parts)


NAMED["OwnEstimator"] = _check_own

# Kernels, and forms of columns


def _kernel_holds(kernel: Kernel) -> bool:
    """Whether the kernel has a bandwidth just where it needs one, and a range for every feature or none."""
    scaled = len(kernel.low) == len(kernel.high) and (len(kernel.low) > 0) == (kernel.name == "sobolev")
    return scaled and (kernel.bandwidth is None) == (kernel.name in BANDWIDTH_FREE)


def _takes(kernel: Kernel, points: Any) -> bool:
    """Whether a kernel takes points of this width."""
    return len(kernel.low) in (0, points.shape[1])


def _forms_hold(forms: FeatureForms) -> bool:
    """Whether every form has ascending knots, at least two, and a score for each."""
    pairs = list(zip(forms.knots, forms.scores, strict=False))
    whole = len(forms.knots) == len(forms.scores) == len(forms)
    return whole and all(len(knots) == len(scores) > 1 and _ascending(knots) for knots, scores in pairs)


def _width(transform: Any) -> int:
    """How many columns a Scaling, forms or scaled forms take."""
    forms = getattr(transform, "forms", transform)
    return forms.n_columns if hasattr(forms, "n_columns") else len(forms.scale)


def _global_holds(model: GlobalModel) -> bool:
    transform: Any = model.transform
    n_scaled = len(transform.scales if hasattr(transform, "scales") else transform.scale)
    return model.centers.shape[1] == n_scaled and _takes(model.kernel, model.centers)


record(
    Kernel,
    f"""name: KernelName; bandwidth: number > 0 | None; degree: whole 0..{MAX_DEGREE}
    low: tuple of number; high: tuple of number""",
    _kernel_holds,
)
record(Scaling, "shift: float[d]; scale: float[d]")
record(
    FeatureForms,
    """n_columns: length d; columns: int[D] < d; ranked: bool[D]
    knots: tuple of float[*]; scores: tuple of float[*]""",
    _forms_hold,
)
record(ScaledForms, "forms: FeatureForms; scales: float[D]")
record(
    GlobalModel,
    """transform: Scaling | ScaledForms; centers: float[m *]; coef: float[p m]; kernel: Kernel; intercepts: float[p]
    low: float[p] any; high: float[p] any; means: float[p]; units: float[p]""",
    _global_holds,
    alone=True,
)

# Errors of unseen rows, and what all regressors keep


def _masses_hold(masses: PointMasses) -> bool:
    """Whether values and edges ascend, and shares are probabilities."""
    shares = masses.shares.min() >= 0.0 and masses.shares.sum(axis=1).max() <= 1.0 + 1e-9
    return bool(shares) and _ascending(masses.values, masses.edges[1:-1])


def _error_model_holds(model: ErrorModel) -> bool:
    """Whether the noise is one number a row, and the ends are in order."""
    return model.low <= model.high and (model.noise is None or len(model.noise.means) == 1)


def _errors_hold(model: Any) -> bool:
    """Whether errors come with their model, whose scale depends on rows and predictions, and bounds are in order."""
    ends = getattr(model, "_bounds", None) or (-np.inf, np.inf)
    found = getattr(model, "_error_model", None)
    whole = len(ends) == 2 and ends[0] <= ends[1] and (found is None) == (not hasattr(model, "calibration_"))
    noise = None if found is None else found.noise
    return whole and (noise is None or _width(noise.transform) == model.n_features_in_ + 1)


record(
    Calibration,
    "edges: float[l+1] any; starts: int[l+1]; errors: float[n]; weights: float[n]; source: Source",
    lambda found: _cut(found.starts, len(found.errors)),
    alone=True,
)
record(
    PointMasses,
    "values: float[a]; edges: float[g+1] any; shares: float[g a]; rest: Calibration | None",
    _masses_hold,
    alone=True,
)
record(
    ErrorModel,
    """noise: GlobalModel | None; masses: PointMasses | None; low: number -inf..inf; high: number -inf..inf
    origin: number; step: number 0..1e308""",
    _error_model_holds,
    alone=True,
)
NAMED["Ends"] = parse("tuple of number -inf..inf")
COMMON = """n_features_in_: length d; feature_names_in_?: text[d]; column_labels_in_?: text[d]
    feature_min_in_?: float[d]; feature_max_in_?: float[d]; _seed: whole; _response_edges: float[*] any
    calibration_?: Calibration; _error_model?: ErrorModel"""

# DacKernelRidge and DacRegressor


def _dac_holds(model: Any) -> bool:
    """Whether the average is expanded over the rows that the nodes are, and can be fitted again to some of them."""
    model._twin()._settings.check()
    return len(model.dual_coef_) == len(model._problem.y) and _errors_hold(model)


def _regressor_holds(model: Any) -> bool:
    """Whether every node has an estimator of the class that was asked for."""
    check_weights_are_taken(model.estimator, model.focus, None)
    own = {type(node) for node in model.estimators_} == {type(model.estimator)}
    return own and len(model.estimators_) == model.n_nodes_ and _errors_hold(model)


record(Slices, "edges: float[l+1] any; labels: int[N] < l; counts: int[l]; copies: int[l]")
record(Allocation, "rows: int[M] < N; starts: int[k+1]", lambda found: _cut(found.starts, len(found.rows)))
record(Partition, "slices: Slices; allocation: Allocation; weights: float[N] | None; dealing: nothing")
record(
    Problem,
    """X: float[N d]; y: float[N]; partition: Partition; kernel: Kernel; penalties: float[k]; single: bool""",
    lambda problem: _takes(problem.kernel, problem.X),
)
record(
    Expansion,
    "points: float[e d]; coef: float[e]; kernel: Kernel; scale: number 0..1e308",
    lambda expansion: _takes(expansion.kernel, expansion.points),
)
record(NodeFit, "rows: int[n] < N; coef: float[n]", alone=True)
record(
    Tuning,
    """criterion: str; scoring: str; bandwidths: float[B] any; penalties: float[P]; values: float[B P] any
    margins: float[B P] any; bandwidth: number | None; penalty: number; at_edge: tuple; cost: dict | None""",
)
NODES = f"""slices_: Slices; allocation_: Allocation; n_nodes_: length k; n_oversampled_: whole; n_distinct_: length M
    _bounds: Ends | None; {COMMON}"""
ESTIMATORS["DacKernelRidge"] = Estimator(
    DacKernelRidge,
    f"""bandwidth_: number > 0 | None; penalty_: number | float[k]; tuning_: Tuning; dual_coef_: float[N]
    X_fit_: float[N d]; intercept_: number; _problem: Problem; _centred: bool; _expansion: Expansion
    nodes_?: list of NodeFit; _fitted_with?: dict; {NODES}""",
    _dac_holds,
)
ESTIMATORS["DacRegressor"] = Estimator(
    DacRegressor, f"estimators_: list of OwnEstimator; _weighted: bool; {NODES}", _regressor_holds
)

# AdaptiveKernelRidge


def _adaptive_holds(model: Any) -> bool:
    """Whether the transform takes the columns, there is one response, and the posterior is of what predicts."""
    found, low_rank = model._model, model._low_rank
    one = _width(found.transform) == model.n_features_in_ and len(found.means) == len(low_rank.spread) == 1
    same = low_rank.basis.kernel == found.kernel and np.array_equal(low_rank.basis.centers, found.centers)
    return one and same and _errors_hold(model)


record(
    Basis,
    "kernel: Kernel; centers: float[r D]; kept: int[r]; factor: float[r r]",
    lambda basis: _takes(basis.kernel, basis.centers),
)
record(
    LowRankModel,
    """basis: Basis; rows: int[r]; beta: float[p r]; intercepts: float[p]; factor: float[r r] any; n_rows: number > 0
    spread: float[p]; n_steps: whole | None; precision: number""",
)
record(
    CenterTuning,
    """criterion: str; scoring: str; chosen: dict; penalty: number; dominant: int[q]; pulls: float[q] any
    tried: list of dict; penalties: float[P]; values: float[P] any; margins: float[P] any; at_edge: tuple
    n_fits: number 0..1e308; cost: dict | None""",
)
ESTIMATORS["AdaptiveKernelRidge"] = Estimator(
    AdaptiveKernelRidge,
    f"""centers_: float[r d]; center_rows_: int[r]; dual_coef_: float[r]; intercept_: number; noise_: number
    n_centers_: length r; adapt_: number 0..1; kernel_: KernelName; bandwidth_: number > 0 | None; penalty_: number > 0
    feature_scale_: float[d]; solver_: str; n_iter_: whole | None; tuning_: CenterTuning; _model: GlobalModel
    _low_rank: LowRankModel; feature_importances_: float[d]
    rare_importances_: float[d]; feature_slopes_: float[d]; {COMMON}""",
    _adaptive_holds,
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


def _local_holds(model: LocalModel) -> bool:
    """Whether every coordinate of the cells has a scale: the forms that are used, and the trends."""
    wide = len(model.used) + model.cells.slopes.shape[1] == len(model.scales)
    return wide and model.used.min(initial=0) >= 0


def _levels_hold(levels: TwoLevels) -> bool:
    """Whether level 1 takes the rows that local fits take, and these know forms and trends."""
    same = _width(levels.level_one.transform) == _width(levels.forms)
    known = all(model.used.max(initial=-1) < len(levels.forms) for model in levels.locals)
    n_trends = {model.cells.slopes.shape[1] for model in levels.locals}
    return same and len(n_trends) == 1 and known and min(n_trends) > 0


def _members_hold(model: BlendedModel) -> bool:
    """Whether every member has a weight, and all take rows of the same width."""
    levels, linear = model.members.levels, model.members.linear
    outputs = {len(linear.intercept)}
    if levels is None:
        return outputs == {1} == {len(model.weights)}
    outputs |= {len(levels.level_one.means), *(len(local.means) for local in levels.locals)}
    n_members = 1 + len(levels.locals) + levels.n_trends
    known = levels.forms.n_columns == len(linear.scaling.scale)
    return outputs == {1} and len(model.weights) == n_members and known


def _skew_ridge_holds(model: Any) -> bool:
    """Whether members are of the table's columns, with all companions."""
    members = model._model.members
    wide = len(members.linear.scaling.scale) == model.n_features_in_
    n_companions = 0 if members.levels is None else members.levels.n_trends - 1
    return wide and len(model.companions_) == n_companions and _left_out_hold(model)


def _local_ridge_holds(model: Any) -> bool:
    """Whether cells know the forms of the table's columns."""
    own = model._model
    if own is not None and (own.used.max(initial=-1) >= len(model._forms) or len(own.means) != 1):
        return False
    return model._forms.n_columns == model.n_features_in_ and len(model._means) == 1 and _left_out_hold(model)


def _left_out_hold(model: Any) -> bool:
    """Whether there are left-out predictions, responses and weights, and errors are whole."""
    return len(model._honest) == 3 and _errors_hold(model)


def _prepare(model: Any) -> None:
    """Refuse companions that are not ours; learn the noise before the rows are left behind, for distributions."""
    foreign = [own for own in getattr(model, "companions", None) or () if type(own) not in REGRESSORS]
    require(
        not foreign,
        f"its companion {type(foreign[0]).__name__ if foreign else ''} is no estimator of skewridge's own, and model "
        "files hold data and never code. Save it with pickle or joblib, or fit a SkewRidge without companions to a "
        "table that has the cross-fitted predictions of this one as a column",
    )
    if hasattr(model, "_honest") and not hasattr(model, "calibration_"):
        model.calibrate()


record(Partitions, "roots: int[T] < k; feature: int[k]; cut: float[k]; child: int[k]")
record(CellRows, "order: int[R] < N; starts: int[C+1]")
record(
    Cells,
    """kernel: Kernel; partitions: Partitions; points: float[N D]; rows: CellRows; coef: float[p R]; means: float[C p]
    slopes: float[C q p]""",
    _cells_hold,
)
record(
    LocalModel,
    "used: int[u]; scales: float[D]; cells: Cells; means: float[p]; units: float[p]",
    _local_holds,
    alone=True,
)
record(LinearModel, "scaling: Scaling; coef: float[d p]; intercept: float[p]")
record(
    TwoLevels,
    "level_one: GlobalModel; forms: FeatureForms; locals: tuple of LocalModel; mean: number; spread: number > 0",
    _levels_hold,
    alone=True,
)
record(Members, "levels: TwoLevels | None; linear: LinearModel; low: number -inf..inf; high: number -inf..inf")
record(BlendedModel, "members: Members; weights: float[M]; intercept: number", _members_hold, alone=True)
record(
    StatedRisk,
    """mse: number any; mse_error: number any; rare_mse: number any; rare_error: number any
    dominant_row: whole | None; dominant_share: number 0..1""",
)
record(
    LevelTuning,
    """members: tuple; weights: float[M]; honest_by: str; level_one: CenterTuning | None; ridges: float[b]
    trends: float[b g]; scales: float[* d]; guide_scales: float[b g]""",
    alone=True,
)
LEFT_OUT = f"""risk_: StatedRisk; loo_prediction_: float[N] any; dropped_features_: list; _bounds: Ends | None
    _honest: tuple of float[R]; {COMMON}"""
ESTIMATORS["LocalKernelRidge"] = Estimator(
    LocalKernelRidge,
    f"""feature_scale_: float[d]; ridge_: number 0..1e308; n_cells_: whole; _forms: FeatureForms
    _model: LocalModel | None; _means: float[p]; {LEFT_OUT}""",
    _local_ridge_holds,
    _prepare,
    forgotten=("_seen",),
)
ESTIMATORS["SkewRidge"] = Estimator(
    SkewRidge,
    f"""weights_: float[M]; feature_scale_: float[d]; _model: BlendedModel; companions_: list of OwnEstimator
    tuning_: LevelTuning; {LEFT_OUT}""",
    _skew_ridge_holds,
    _prepare,
    forgotten=("_seen",),
)

# SmoothingSpline: t terms, b of them in use, u fitted features, o free functions, f of them in use, g independent ones


def _check_factor(value: Any, at: At) -> None:
    """A feature and the part of its function that is a factor of a term."""
    pair = type(value) is tuple and len(value) == 2
    known = pair and type(value[0]) is int and value[0] >= 0 and type(value[1]) is str and value[1] in PARTS
    at.require(known, "is no factor of a term")


def _features_hold(features: Features) -> bool:
    """Whether every term has a factor as large as the knots that it keeps, and its features follow the last one's."""
    sizes = [len(kept) for kept in features.kept]
    shapes = [factor.shape for factor in features.factors]
    whole = len(sizes) == len(features.model.terms) and shapes == [(n, n) for n in sizes]
    return whole and np.array_equal(features.starts, np.cumsum([0, *sizes]))


def _fit_holds(fit: SplineFit) -> bool:
    """Whether every feature of the model has knots, and every fitted feature a coefficient."""
    models = (fit.features.model, fit.free.model)
    used = [f for model in models for features in model.free for f in features]
    used += [f for model in models for term in model.terms for f, _ in term]
    width = fit.features.knots.shape[1]
    return max(used, default=-1) < width and len(fit.loads) == len(fit.features) and len(fit.free.model.free) > 0


NAMED["Factor"] = _check_factor
record(
    Model,
    "free: tuple of tuple of whole; terms: tuple of tuple of Factor",
    lambda model: all(1 <= len(term) <= 2 for term in model.terms),
)
record(
    Features,
    """model: Model; places: int[b]; knots: float[q d]; kept: tuple of int[*] < q; factors: tuple of float[* *]
    starts: int[b+1]""",
    _features_hold,
)
record(Free, "model: Model; basis: float[f g]")
record(
    SplineFit,
    """features: Features; free: Free; theta: float[b]; penalty: number 0..1e308; loads: float[u]; free_coef: float[g]
    coef: float[q]; gcv: number any; dof: number any; noise: number any; n_steps: whole; converged: bool
    spread: float[u w]; free_spread: float[g s]""",
    _fit_holds,
)
record(Domain, "low: float[d]; span: float[d]")
ESTIMATORS["SmoothingSpline"] = Estimator(
    SmoothingSpline,
    f"""terms_: list of str; free_terms_: list of str; theta_: float[t]; penalty_: number 0..1e308; knots_: float[q d]
    knot_rows_: int[q]; coef_: float[q]; null_coef_: float[o]; gcv_: number any; dof_: number any; sigma2_: number any
    n_iter_: whole; _domain: Domain; _fit: SplineFit; _unit: number; _mean: number
    _bounds: Ends | None; {COMMON}""",
    _errors_hold,
)

# Raw tables


def _column_holds(column: Column) -> bool:
    """Whether just the kinds that have levels have some, all different, and a fill among them or none of them."""
    levels, means, listed = column.levels, column.means, column.kind in LISTED
    filled = not listed or -1 <= column.fill < len(levels)
    dated = (column.kind == "date") == (column.dates is not None)
    averaged = (column.kind == "means") == (means is not None)
    if not (len(set(levels)) == len(levels) and listed == (len(levels) > 0) and filled and dated and averaged):
        return False
    lengths = set() if means is None else {len(levels), len(means.counts), *map(len, means.deviations)}
    return means is None or (len(lengths) == 1 and len(means.deviations) == len(means.scales) > 0)


def _pipeline_holds(pipeline: Any) -> None:
    """Raise unless a fitted encoder leads to a fitted regressor."""
    steps: Any = pipeline.steps
    pairs = type(steps) is list and len(steps) == 2 and all(type(step) is tuple and len(step) == 2 for step in steps)
    none: Any = None, None
    (first, encoder), (last, model) = steps if pairs else (none, none)
    if (type(first), type(encoder), type(last)) != (str, TableEncoder, str) or type(model) not in REGRESSORS:
        raise TypeError("a Pipeline of other steps than a TableEncoder and an estimator of ours cannot be saved")
    check_is_fitted(encoder)
    check_is_fitted(model)
    if sum(len(column.features) for column in encoder.columns_) != model.n_features_in_:
        raise ValueError("the estimator of a Pipeline was fitted to other columns than its TableEncoder makes")


record(NumberFormat, "decimal: Decimal; unit: str; gaps: tuple of str")
record(
    DateParts,
    "parts: tuple of DatePart; writing: DateWriting",
    lambda dates: len(set(dates.parts)) == len(dates.parts),
)
record(
    LevelMeans,
    """deviations: tuple of tuple of number; counts: tuple of Rows; scales: tuple of number; count_shift: number
    count_scale: number""",
)
record(
    Column,
    """name: str; kind: ColumnKind; levels: tuple of str; fill: number; shift: number; scale: number; gap_flag: bool
    n_gaps: Rows; writing: NumberFormat | None; dates: DateParts | None; means: LevelMeans | None; note: str""",
    _column_holds,
)
ESTIMATORS["TableEncoder"] = Estimator(
    TableEncoder,
    """columns_: list of Column; feature_names_in_: text[d]; n_features_in_: length d
    _sklearn_output_config?: Output""",
)
ESTIMATORS["Pipeline"] = Estimator(Pipeline, holds=_pipeline_holds, parameters=("steps",))
ESTIMATORS["TableModel"] = Estimator(TableModel, holds=_pipeline_holds, parameters=("steps",))
