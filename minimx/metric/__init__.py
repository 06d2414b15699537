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
from minimx.metric.choices import Accuracy, TopKAccuracy
from minimx.metric.decisions import F1, MCC, BinaryAccuracy, Fbeta
from minimx.metric.numbers import (
    MAE,
    MSE,
    RMSE,
    Caffe,
    CrossEntropy,
    Loss,
    NegativeLogLikelihood,
    Perplexity,
    Torch,
)
from minimx.metric.relations import (
    PCC,
    MeanCosineSimilarity,
    MeanPairwiseDistance,
    PearsonCorrelation,
)

__all__ = [
    "F1", "MAE", "MCC", "MSE", "PCC", "RMSE", "Accuracy", "BinaryAccuracy", "Caffe",
    "CompositeEvalMetric", "CrossEntropy", "CustomMetric", "EvalMetric", "Fbeta",
    "Loss", "MeanCosineSimilarity", "MeanPairwiseDistance", "NegativeLogLikelihood",
    "PearsonCorrelation", "Perplexity", "TopKAccuracy", "Torch", "check_label_shapes",
    "create", "np", "register",
]  # fmt: skip
