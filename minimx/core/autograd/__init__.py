"""Gradients: `record` what is computed, then walk `backward`.

    x.attach_grad()
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    x.grad                      # 2 x

The tape knows operators, not arrays. Reading order: `modes.py` (who records), `tape.py`
(what is written down), `walk.py` (how it is walked back), `function.py` (your own),
`rerun.py` (second derivatives of cached ops).
"""

from minimx.core.autograd import history
from minimx.core.autograd.function import Function
from minimx.core.autograd.history import get_symbol
from minimx.core.autograd.modes import (
    is_recording,
    is_training,
    pause,
    predict_mode,
    record,
    set_recording,
    set_training,
    state,
    train_mode,
)
from minimx.core.autograd.tape import (
    GRAD_REQS,
    Leaf,
    TapeEntry,
    TapeNode,
    mark_variables,
    record_call,
)
from minimx.core.autograd.walk import backward, grad

# As they were called before there were graphs, whose nodes and entries are others.
Node, Entry = TapeNode, TapeEntry

__all__ = [
    "GRAD_REQS", "Entry", "Function", "Leaf", "Node", "TapeEntry", "TapeNode",
    "backward", "get_symbol", "grad", "history", "is_recording", "is_training",
    "mark_variables", "pause", "predict_mode", "record", "record_call",
    "set_recording", "set_training", "state", "train_mode",
]  # fmt: skip
