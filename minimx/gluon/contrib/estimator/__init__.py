"""`gluon.contrib.estimator`: a training loop that calls handlers at its events."""

from minimx.gluon.contrib.estimator import batch_processor, estimator, event_handler
from minimx.gluon.contrib.estimator.batch_processor import BatchProcessor
from minimx.gluon.contrib.estimator.estimator import Estimator
from minimx.gluon.contrib.estimator.event_handler import *  # noqa: F403

__all__ = [
    "BatchProcessor", "Estimator", "batch_processor", "estimator", "event_handler",
]  # fmt: skip
__all__ += event_handler.__all__
