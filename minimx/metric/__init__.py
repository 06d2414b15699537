"""`mx.metric`: running scores of predictions."""

from minimx.metric import numbers, relations
from minimx.metric.base import (
    CompositeEvalMetric,
    CustomMetric,
    EvalMetric,
    check_label_shapes,
    create,
    np,
    register,
)
from minimx.metric.choices import Accuracy, TopKAccuracy
from minimx.metric.decisions import F1, MCC, BinaryAccuracy, Fbeta
from minimx.metric.numbers import *  # noqa: F403
from minimx.metric.relations import *  # noqa: F403

__all__ = [
    "Accuracy", "BinaryAccuracy", "CompositeEvalMetric", "CustomMetric", "EvalMetric",
    "F1", "Fbeta", "MCC", "TopKAccuracy", "check_label_shapes", "create", "np",
    "register",
]  # fmt: skip
__all__ += numbers.__all__
__all__ += relations.__all__
