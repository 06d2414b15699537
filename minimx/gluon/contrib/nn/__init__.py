"""`gluon.contrib.nn`: layers side by side, and layers that have moved to `gluon.nn`."""

from minimx.gluon.contrib.nn import basic_layers
from minimx.gluon.contrib.nn.basic_layers import *  # noqa: F403

__all__ = basic_layers.__all__
