"""`gluon.rnn`: recurrent layers, which run whole sequences, and cells, single steps."""

from minimx.gluon.rnn import modifiers, rnn_cell, rnn_layer
from minimx.gluon.rnn.modifiers import *  # noqa: F403
from minimx.gluon.rnn.rnn_cell import (
    GRUCell,
    HybridRecurrentCell,
    LSTMCell,
    RecurrentCell,
    RNNCell,
)
from minimx.gluon.rnn.rnn_layer import GRU, LSTM, RNN

__all__ = [
    "GRU", "GRUCell", "HybridRecurrentCell", "LSTM", "LSTMCell", "RNN", "RNNCell",
    "RecurrentCell", "modifiers", "rnn_cell", "rnn_layer",
]  # fmt: skip
__all__ += modifiers.__all__
