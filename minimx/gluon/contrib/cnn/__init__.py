"""`gluon.contrib.cnn`: convolutions whose windows bend."""

from minimx.gluon.contrib.cnn.conv_layers import (
    DeformableConvolution,
    ModulatedDeformableConvolution,
)

__all__ = [
    "DeformableConvolution",
    "ModulatedDeformableConvolution",
]
