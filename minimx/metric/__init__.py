"""`mx.metric`: running scores of predictions."""

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.metric import decisions, numbers, relations
from minimx.metric.base import (
    CompositeEvalMetric,
    CustomMetric,
    EvalMetric,
    alias,
    check_label_shapes,
    create,
    np,
    register,
)
from minimx.metric.decisions import *  # noqa: F403
from minimx.metric.numbers import *  # noqa: F403
from minimx.metric.relations import *  # noqa: F403

__all__ = [
    "CompositeEvalMetric", "CustomMetric", "EvalMetric", "alias", "check_label_shapes",
    "create", "np", "register",
]  # fmt: skip
__all__ += decisions.__all__
__all__ += numbers.__all__
__all__ += relations.__all__

_resolve_missing(__name__, __all__)
