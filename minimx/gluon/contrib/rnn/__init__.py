"""`gluon.contrib.rnn`: cells that MXNet tried out."""

from minimx.gluon.contrib.rnn import conv_rnn_cell, rnn_cell
from minimx.gluon.contrib.rnn.conv_rnn_cell import *  # noqa: F403
from minimx.gluon.contrib.rnn.rnn_cell import *  # noqa: F403

__all__ = ["conv_rnn_cell", "rnn_cell"]
__all__ += conv_rnn_cell.__all__
__all__ += rnn_cell.__all__
