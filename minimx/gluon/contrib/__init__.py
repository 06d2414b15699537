"""`gluon.contrib`: layers that MXNet tried out, under the names it gave them."""

from minimx.gluon.contrib import cnn, data, nn, rnn

__all__ = ["cnn", "data", "nn", "rnn"]
