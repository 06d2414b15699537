"""`mx.sym.contrib`: operators called `_contrib_*`, under their short names."""

from __future__ import annotations

from math import log

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
    width = log(range_max + 1)
    drawn = _uniform(0, width, shape=(num_sampled,), dtype="float64")
    samples = (drawn.exp() - 1).astype("int64") % range_max

    def expected(classes: Symbol) -> Symbol:
        numbers = classes.astype("float64")
        odds = ((numbers + 2.0) / (numbers + 1.0)).log() / width
        return odds * num_sampled  # type: ignore[no-any-return]

    return samples, expected(true_classes), expected(samples)


isfinite, isinf, isnan = (FUNCTIONS[n] for n in ("isfinite", "isinf", "isnan"))
install_namespace(__name__, "mx.sym.contrib", "_contrib_", functions=FUNCTIONS)
