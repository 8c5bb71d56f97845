"""How weights of rows reach the regressor that an estimator has inside, if any do."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn import get_config
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import LinearRegression, RANSACRegressor
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object, process_routing
from sklearn.utils.validation import has_fit_parameter

WEIGHT = "sample_weight"
_INSIDE = ("estimator", "regressor")  # what estimators call the one that they have inside
_HANDING_ON = (RANSACRegressor, MultiOutputRegressor)  # take weights if the one inside does, whatever they seem to


def weights_name(estimator: Any) -> str | None:
    """Return the name by which an estimator's fit takes weights of rows for its regressor; None where it takes none.

    With scikit-learn's metadata routing, an estimator takes what its regressor has requested; a pipeline's is its last
    step, whatever the others take.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> weights_name(Ridge()), weights_name(make_pipeline(Ridge())), weights_name(KNeighborsRegressor())
    ('sample_weight', 'ridge__sample_weight', None)
    """
    if not routing_is_on():
        return _taken(estimator)
    if isinstance(estimator, Pipeline):
        return _requested(estimator.steps[-1][1])
    return WEIGHT if _requested(estimator) else None  # a plain estimator's own fit is called, and a router's


def check_weights_are_taken(estimator: Any, focus: float, sample_weight: Any) -> None:
    """Refuse weights, those of ``focus`` or given ones, that would not reach the regressor."""
    if focus == 1 and sample_weight is None:
        return
    wanted = f"focus={focus:g}" if focus < 1 else WEIGHT
    name, kind = weights_name(estimator), type(estimator).__name__
    if name is None and routing_is_on():
        raise ValueError(
            f"{wanted} weights the rows, and with metadata routing the regressor of {kind} has not requested "
            f"sample_weight in fit. Call set_fit_request(sample_weight=True) on it, or use focus=1."
        )
    if name is None:
        raise ValueError(
            f"{wanted} weights the rows, and {kind}.fit takes no sample_weight for its regressor. Use an estimator "
            "that does, or focus=1 without sample_weight."
        )
    if routing_is_on() and is_composed(estimator):
        process_routing(estimator, "fit", **{name: 1.0})  # every step must have said whether it takes them


def routing_is_on() -> bool:
    """Whether scikit-learn routes metadata by request."""
    return bool(get_config().get("enable_metadata_routing", False))


def inside(estimator: Any) -> Any:
    """The regressor that an estimator has inside, or None."""
    found = (getattr(estimator, name, None) for name in _INSIDE)
    return next((one for one in found if hasattr(one, "fit")), None)


def is_composed(estimator: Any) -> bool:
    """Whether an estimator's rows reach others inside it, perhaps changed."""
    return isinstance(estimator, Pipeline) or inside(estimator) is not None


def _taken(estimator: Any) -> str | None:
    """The name without routing."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        taken = _taken(last)
        return None if taken is None else f"{name}__{taken}"
    if isinstance(estimator, VotingRegressor):
        voters = [voter for _, voter in estimator.estimators if voter != "drop"]
        return WEIGHT if all(has_fit_parameter(voter, WEIGHT) for voter in voters) else None
    within = inside(estimator)
    if within is None and getattr(estimator, "regressor", "") is None:
        within = LinearRegression()  # what a transformed target is fitted by unless another is given
    if has_fit_parameter(estimator, WEIGHT):
        hands_on = isinstance(estimator, _HANDING_ON) or getattr(estimator, "_hands_weights_on", False)
        return WEIGHT if not hands_on or within is None or _taken(within) else None
    kinds = {parameter.kind for parameter in inspect.signature(estimator.fit).parameters.values()}
    return _taken(within) if within is not None and inspect.Parameter.VAR_KEYWORD in kinds else None


def _requested(estimator: Any) -> str | None:
    """The name that an estimator's callers know its weights by; None where it has not requested them."""
    if isinstance(estimator, Pipeline):
        return weights_name(estimator)
    routing = get_routing_for_object(estimator)
    if not hasattr(routing, "fit"):  # a router
        return WEIGHT if routing.consumes("fit", [WEIGHT]) else None
    request = routing.fit.requests.get(WEIGHT)
    return request if isinstance(request, str) and request.isidentifier() else WEIGHT if request is True else None
