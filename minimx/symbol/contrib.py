"""`mx.sym.contrib`: operators called `_contrib_*`, under their short names."""

from __future__ import annotations

from minimx.nd.contrib import _zipfian
from minimx.nd.namespaces import install_namespace
from minimx.symbol.control import cond as cond
from minimx.symbol.control import foreach as foreach
from minimx.symbol.control import while_loop as while_loop
from minimx.symbol.functions import FUNCTIONS
from minimx.symbol.random import uniform as _uniform
from minimx.symbol.symbol import Symbol


def rand_zipfian(
    true_classes: Symbol, num_sampled: int, range_max: int
) -> tuple[Symbol, Symbol, Symbol]:
    """Class numbers below range_max, small ones more often, as words in a language.

    P(k) = log((k + 2) / (k + 1)) / log(range_max + 1). Returns num_sampled numbers
    (int64), and how often each of true_classes, and each of them, is to be expected.
    """
    found: tuple[Symbol, Symbol, Symbol] = _zipfian(
        _uniform, true_classes, num_sampled, range_max
    )
    return found


isfinite, isinf, isnan = (FUNCTIONS[n] for n in ("isfinite", "isinf", "isnan"))
install_namespace(__name__, "mx.sym.contrib", "_contrib_", functions=FUNCTIONS)
