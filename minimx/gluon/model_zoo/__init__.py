"""`gluon.model_zoo`: published networks."""

from minimx.gluon.model_zoo import vision
from minimx.gluon.model_zoo.vision import get_model

__all__ = ["get_model", "vision"]
