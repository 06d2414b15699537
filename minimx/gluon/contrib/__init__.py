"""`gluon.contrib`: layers that MXNet tried out, under the names it gave them."""

from minimx.gluon.contrib import cnn, nn

__all__ = ["cnn", "nn"]
