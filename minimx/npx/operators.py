"""Operators of the registry under the names that `npx` gives them.

`npx.fully_connected` is `FullyConnected`, `npx.multibox_prior` is
`_contrib_MultiBoxPrior`: names are matched without regard to case and underscores, so
that an operator is found here as soon as it is registered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from minimx.nd import functions
from minimx.np.multiarray import ndarray
from minimx.ops.registry import ALIASES, REGISTRY, lookup

#: Where the name says too little, or where two operators share one.
NAMES = {
    "activation": "Activation",
    "batch_flatten": "Flatten",
    "cast": "cast",
    "ctc_loss": "CTCLoss",
    "dropout": "Dropout",
    "embedding": "Embedding",
    "nonzero": "",
    "norm": "norm",
    "pooling": "Pooling",
    "reshape": "_npx_reshape",
    "rnn": "RNN",
    "softmax": "softmax",
    "stop_gradient": "BlockGrad",
}
#: What names begin with that are offered without it.
_PREFIXES = ("", "_npx_", "_contrib_", "_")


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


@cache
def _by_plain_name(_: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for prefix in reversed(_PREFIXES):
        for name in (*ALIASES, *REGISTRY):
            rest = name.removeprefix(prefix) if name.startswith(prefix) else ""
            if rest and not rest.startswith("_"):
                found[_plain(rest)] = name
    return found


def operator_of(name: str) -> str | None:
    """The registry's name of the operator that `npx` calls so; None without one."""
    if name.startswith("_"):
        return None
    known = NAMES.get(name)
    if known is None:
        if name != name.lower():
            return None
        known = _by_plain_name(len(REGISTRY) + len(ALIASES)).get(_plain(name), "")
    return known if known in REGISTRY or known in ALIASES else None


def names() -> list[str]:
    """The names of NAMES whose operators are there."""
    return sorted(name for name in NAMES if operator_of(name))


@cache
def function(name: str) -> Callable[..., Any] | None:
    """The `npx` function of an operator, None if there is none of that name."""
    found = operator_of(name)
    if found is None:
        return None
    made = functions.make(lookup(found), name, ndarray)
    made.__module__ = "minimx.npx"
    # The examples of the operators are written for mx.nd.
    made.__doc__ = (made.__doc__ or "").partition("\nExamples\n")[0].rstrip()
    return made
