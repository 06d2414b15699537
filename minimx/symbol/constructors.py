"""Constructors of symbols: variables, groups, and graphs read from files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx import attribute
from minimx.core.dtypes import CODES, resolve
from minimx.core.errors import ArgumentError, DataError
from minimx.core.files import read_whole
from minimx.core.graph.values.ir import Entry, Node
from minimx.graphs.json import load as parse
from minimx.symbol.symbol import Symbol

_STORAGE = {"default": 0, "row_sparse": 1, "csr": 2}


def var(
    name: str,
    attr: dict[str, Any] | None = None,
    shape: int | Sequence[int] | None = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: Any = None,
    init: Any = None,
    stype: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """A variable: a place where an array is put in when the graph is bound.

    shape: 0 for axes that are to be inferred. init: an initializer or its name.
    Further attributes have names with two bars at both ends: `__mood__="great"`.
    """
    if not isinstance(name, str):
        raise TypeError("a variable's name is text")
    attributes: dict[str, Any] = attribute.current().get(attr)
    if shape is not None:
        whole = (shape,) if isinstance(shape, int) else tuple(shape)
        attributes["__shape__"] = str(whole)
    if dtype is not None:
        wanted = resolve(dtype)
        attributes["__dtype__"] = next(code for code, d in CODES.items() if d == wanted)
    if init is not None:
        attributes["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        if stype not in _STORAGE:
            raise ArgumentError(
                f"stype={stype!r}: choose one of {', '.join(_STORAGE)}."
            )
        attributes["__storage_type__"] = _STORAGE[stype]
    attributes |= {
        f"__{key}__": value
        for key, value in (("lr_mult", lr_mult), ("wd_mult", wd_mult))
        if value is not None
    }
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise ArgumentError(
                f"a variable has no setting {key!r}. Remarks of your own are written "
                f"__{key.strip('_')}__=…, or attr={{{key!r}: …}}."
            )
        attributes[key] = value
    attributes = {
        attribute.stored_name(key): str(value) for key, value in attributes.items()
    }
    return Symbol([Entry(Node(None, (), name, attributes))])


Variable = var


def Group(symbols: Sequence[Symbol], create_fn: Any = Symbol) -> Symbol:  # noqa: N802
    """One symbol with the outputs of several."""
    symbols = list(symbols)
    if not symbols or not all(isinstance(symbol, Symbol) for symbol in symbols):
        raise TypeError("Group: give a list of at least one Symbol")
    made: Symbol = create_fn([e for symbol in symbols for e in symbol.outputs])
    return made


def load_json(json_str: str) -> Symbol:
    """The symbol that `tojson` wrote, here or in MXNet. Raises DataError."""
    if not isinstance(json_str, str):
        raise TypeError("load_json: give the text of a graph")
    return Symbol(parse(json_str).outputs)


fromjson = load_json


def load(fname: str) -> Symbol:
    """The symbol in a file that `save` wrote, here or in MXNet. Raises DataError."""
    if not isinstance(fname, (str, bytes)) and not hasattr(fname, "__fspath__"):
        raise TypeError("load: give the name of a file")
    try:
        return load_json(read_whole(fname, "symbol.load").decode())
    except UnicodeDecodeError:
        raise DataError(f"{fname}: this is no text, and so no graph.") from None
    except DataError as reason:
        if str(fname) in str(reason):
            raise
        raise DataError(f"{fname}: {reason}") from None
