"""`mx.rnn`: cells, checkpoints and sentences for modules, from before Gluon."""

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.rnn import files, io, stacks
from minimx.rnn.cell import BaseRNNCell, RNNParams
from minimx.rnn.conv import BaseConvRNNCell, ConvGRUCell, ConvLSTMCell, ConvRNNCell
from minimx.rnn.files import *  # noqa: F403
from minimx.rnn.fused import FusedRNNCell
from minimx.rnn.io import BucketSentenceIter, encode_sentences
from minimx.rnn.simple import GRUCell, LSTMCell, RNNCell
from minimx.rnn.stacks import *  # noqa: F403

__all__ = [
    "BaseConvRNNCell", "BaseRNNCell", "BucketSentenceIter", "ConvGRUCell",
    "ConvLSTMCell", "ConvRNNCell", "FusedRNNCell", "GRUCell", "LSTMCell", "RNNCell",
    "RNNParams", "encode_sentences", "io",
]  # fmt: skip
__all__ += stacks.__all__
__all__ += files.__all__

_resolve_missing(__name__, __all__)
