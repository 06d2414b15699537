"""Values of parameters: from files, and as integers of eight bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import minimx.nd as nd
from minimx import symbol as sym
from minimx.core.errors import ArgumentError
from minimx.quantization.graph import SUFFIX
from minimx.symbol import Symbol

Arrays = dict[str, Any]


def load_symbol(given: Any) -> Symbol:
    """A symbol, or the one in a file. Raises ArgumentError for something else."""
    if isinstance(given, str):
        return sym.load(given)
    if isinstance(given, Symbol):
        return given
    raise ArgumentError(
        f"give a Symbol, or the path of the file that it is in, not a "
        f"{type(given).__name__}."
    )


def quantized_parameters(qsym: Symbol, params: Mapping[str, Any]) -> Arrays:
    """The values of the arguments of a graph on integers.

    params: the values of the graph on real numbers. `fc_weight_quantize` is int8, in
    the range `fc_weight_quantize_min` to `fc_weight_quantize_max` of `fc_weight`, which
    is one array of one element each; all others are as they were.
    """
    found: Arrays = {}
    for name in qsym.list_arguments():
        source = name.removesuffix(SUFFIX)
        if name in params:
            found[name] = params[name]
        elif source in params:
            value = params[source]
            ends = nd.min(value), nd.max(value)
            parts = nd.contrib.quantize(value, *ends, out_type="int8")
            words = (name, f"{name}_min", f"{name}_max")
            found |= dict(zip(words, parts, strict=True))
    return found
