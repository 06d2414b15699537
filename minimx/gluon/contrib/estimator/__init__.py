"""`gluon.contrib.estimator`: a training loop with places for one's own handlers."""

from minimx.gluon.contrib.estimator import batch_processor, estimator, event_handler
from minimx.gluon.contrib.estimator.batch_processor import BatchProcessor
from minimx.gluon.contrib.estimator.checkpoint import CheckpointHandler
from minimx.gluon.contrib.estimator.estimator import Estimator
from minimx.gluon.contrib.estimator.event_handler import (
    BatchBegin,
    BatchEnd,
    EarlyStoppingHandler,
    EpochBegin,
    EpochEnd,
    EventHandler,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "BatchProcessor",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "Estimator",
    "EventHandler",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
    "batch_processor",
    "estimator",
    "event_handler",
]
