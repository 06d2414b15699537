"""`gluon.contrib`: layers and data that MXNet tried out, under its names."""

from minimx.gluon.contrib import cnn, data, nn, rnn

__all__ = ["cnn", "data", "nn", "rnn"]
