"""`mx.rnn`: cells, checkpoints and sentences for modules, from before Gluon."""

from typing import TYPE_CHECKING

from minimx.aliases import resolve as _resolve
from minimx.rnn import io
from minimx.rnn.cell import BaseRNNCell, RNNParams
from minimx.rnn.conv import BaseConvRNNCell, ConvGRUCell, ConvLSTMCell, ConvRNNCell
from minimx.rnn.files import (
    do_rnn_checkpoint,
    load_rnn_checkpoint,
    rnn_unroll,
    save_rnn_checkpoint,
)
from minimx.rnn.fused import FusedRNNCell
from minimx.rnn.io import BucketSentenceIter, encode_sentences
from minimx.rnn.simple import GRUCell, LSTMCell, RNNCell
from minimx.rnn.stacks import (
    BidirectionalCell,
    DropoutCell,
    ModifierCell,
    ResidualCell,
    SequentialRNNCell,
    ZoneoutCell,
)

__all__ = [
    "BaseConvRNNCell", "BaseRNNCell", "BidirectionalCell", "BucketSentenceIter",
    "ConvGRUCell", "ConvLSTMCell", "ConvRNNCell", "DropoutCell", "FusedRNNCell",
    "GRUCell", "LSTMCell", "ModifierCell", "RNNCell", "RNNParams", "ResidualCell",
    "SequentialRNNCell", "ZoneoutCell", "do_rnn_checkpoint", "encode_sentences", "io",
    "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint",
]  # fmt: skip

if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        return _resolve(__name__, name, __all__)
