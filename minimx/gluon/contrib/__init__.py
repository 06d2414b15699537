"""`gluon.contrib`: layers and data that MXNet tried out, under its names."""

from minimx.gluon.contrib import cnn, data, estimator, nn, rnn

__all__ = ["cnn", "data", "estimator", "nn", "rnn"]
