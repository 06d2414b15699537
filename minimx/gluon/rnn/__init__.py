"""`gluon.rnn`: recurrent layers, which run whole sequences, and cells, single steps."""

from minimx.gluon.rnn import modifiers, rnn_cell, rnn_layer
from minimx.gluon.rnn.modifiers import (
    BidirectionalCell,
    DropoutCell,
    HybridSequentialRNNCell,
    ModifierCell,
    ResidualCell,
    SequentialRNNCell,
    ZoneoutCell,
)
from minimx.gluon.rnn.rnn_cell import (
    GRUCell,
    HybridRecurrentCell,
    LSTMCell,
    RecurrentCell,
    RNNCell,
)
from minimx.gluon.rnn.rnn_layer import GRU, LSTM, RNN

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "BidirectionalCell",
    "DropoutCell",
    "GRUCell",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
    "modifiers",
    "rnn_cell",
    "rnn_layer",
]
