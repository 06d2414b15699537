"""`mx.metric`: running scores of predictions."""

from minimx.metric.base import (
    CompositeEvalMetric,
    CustomMetric,
    EvalMetric,
    check_label_shapes,
    create,
    np,
    register,
)
from minimx.metric.choices import F1, MCC, Accuracy, TopKAccuracy
from minimx.metric.numbers import (
    MAE,
    MSE,
    RMSE,
    CrossEntropy,
    Loss,
    NegativeLogLikelihood,
    PearsonCorrelation,
    Perplexity,
)

__all__ = [
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "RMSE",
    "Accuracy",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Loss",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "TopKAccuracy",
    "check_label_shapes",
    "create",
    "np",
    "register",
]
