"""`gluon.model_zoo`: published networks, and where their weights are kept."""

from minimx.gluon.model_zoo import model_store, vision
from minimx.gluon.model_zoo.vision import get_model

__all__ = ["get_model", "model_store", "vision"]
