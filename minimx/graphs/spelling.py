"""Operators under the names that MXNet's NumPy half gives them in files.

MXNet has a second operator for much that `mx.nd` has: `_npi_add` beside
`broadcast_add`, `_npx_relu` beside `relu`. Here they are one, and the first names are
understood where graphs are read.
"""

from __future__ import annotations

from minimx.core.ops.registry import ALIASES, REGISTRY, Op
from minimx.npx.operators import operator_of

# NumPy's words for what operators of `mx.nd` are called otherwise.
_TWO = {"subtract": "sub", "multiply": "mul", "true_divide": "div"}
_WITH_NUMBER = {
    "add": "plus",
    "subtract": "minus",
    "multiply": "mul",
    "true_divide": "div",
    "rsubtract": "rminus",
    "rtrue_divide": "rdiv",
}
_OTHERS = {
    "copy": "_copy",
    "zeros": "_zeros",
    "ones": "_ones",
    "full": "_full",
    "arange": "_arange",
    "eye": "_eye",
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "product": "prod",
    "rnn_param_concat": "_rnn_param_concat",
}


# Reductions that leave no axes, where MXNet has an operator of its own for that.
_WITHOUT_AXES = {
    "sum": "_np_sum",
    "prod": "_np_prod",
    "max": "_np_max",
    "min": "_np_min",
    "mean": "_npi_mean",
}


def written(op: Op) -> str:
    """The name of an operator in a file."""
    if getattr(op, "np_shape", False):
        return _WITHOUT_AXES.get(op.name, op.name)
    name: str = getattr(op, "file_name", "") or op.name
    return name


def known(kind: str) -> str:
    """The name of an operator here, for one in a file; the same if there is no other.

    >>> known("_npi_zeros"), known("_npi_hypot"), known("_npi_absolute")
    ('_zeros', '_npi_hypot', 'abs')
    >>> known("_npx_fully_connected"), known("relu")
    ('FullyConnected', 'relu')
    """
    if kind in REGISTRY or kind in ALIASES:
        return kind
    if kind.startswith("_npx_"):
        return operator_of(kind.removeprefix("_npx_")) or kind
    for prefix in ("_npi_", "_np_"):
        if kind.startswith(prefix):
            word = kind.removeprefix(prefix)
            if word == "identity":  # NumPy's is a matrix
                return kind
            offered = [_OTHERS.get(word, word), f"broadcast_{_TWO.get(word, word)}"]
            if word.endswith("_scalar"):
                word = word.removesuffix("_scalar")
                offered = [f"_{_WITH_NUMBER.get(word, word)}_scalar"]
            found = [name for name in offered if name in REGISTRY or name in ALIASES]
            return found[0] if found else kind
    return kind
