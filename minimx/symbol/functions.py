"""The `mx.sym` functions and the symbol's methods, written from the registry.

    sym.FullyConnected(data, num_hidden=10, name="fc")

They take what the functions of `mx.nd` take, with symbols for arrays, and further a
`name` and attributes (`attr`). An input that is not given becomes a variable named
after the node: `fc_weight`, `fc_bias`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from minimx import attribute
from minimx import name as naming
from minimx.core.arrays.calls import METHODS, Call
from minimx.core.dtypes import resolve
from minimx.core.errors import OperatorError
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.ops.registry import ALIASES, REGISTRY, Op
from minimx.nd import help
from minimx.nd.functions import _signature, bound, function_caches
from minimx.symbol import symbol as nodes
from minimx.symbol.symbol import Symbol, placed, single
from minimx.tools import graph_text

# Words of array functions that say where and into what: nothing here depends on them.
_PLACING = ("ctx", "device", "out")


def make(sheet: type[Op], public: str) -> Callable[..., Any]:
    """The `mx.sym` function of an operator."""
    call = Call(sheet, Symbol)

    def function(*args: Any, **kwargs: Any) -> Symbol:
        name = kwargs.pop("name", None)
        attributes = dict(kwargs.pop("attr", None) or {})
        for word in _PLACING:
            if word not in call.fields:
                kwargs.pop(word, None)
        for word in [word for word in kwargs if _is_attribute(word, call)]:
            attributes[word] = kwargs.pop(word)
        op, given = call.take_apart(args, kwargs)
        explicit = kwargs.keys() & call.fields
        return written_down(op, given, hint_of(public), name, attributes, explicit)

    function.__name__ = function.__qualname__ = public
    function.__doc__ = help.text(sheet, call.fields)
    function.__module__ = "minimx.symbol"
    function.__signature__ = _signature(sheet, call.fields)  # type: ignore[attr-defined]
    function.sheet = sheet  # type: ignore[attr-defined]
    return function


def _is_attribute(word: str, call: Call) -> bool:
    """Whether a word of a call is no input and no setting, but an attribute."""
    if word in call.fields or word in call.inputs:
        return False
    return word in graph_text.READ_BY_US or (word[:2] == word[-2:] == "__")


def hint_of(public: str) -> str:
    """What the names of an operator's nodes begin with."""
    for prefix in ("_contrib_", "_linalg_", "_image_", "_sparse_"):
        public = public.removeprefix(prefix)
    return public


def written_down(
    op: Op,
    given: dict[str, Symbol | None] | list[Symbol],
    hint: str,
    name: str | None,
    attributes: dict[str, Any],
    explicit: Collection[str] = (),
) -> Symbol:
    """A new node; inputs that are not given become variables.

    explicit: the settings that were given, to be spelt out even at their defaults.
    """
    name = naming.current().get(name, hint.lower())
    if isinstance(given, list):
        many = _spread(op, given)
        many = many if nodes.mixing is None else nodes.mixing(op, many)
        entries = [single(op, symbol) for symbol in many]
        return placed(op, entries, name, attributes, explicit)
    entries = []
    for word in op.inputs:
        symbol = given.get(word)
        if symbol is None:
            entries.append(_new_variable(op, name, word, attributes, explicit))
        elif isinstance(symbol, Symbol):
            entries.append(single(op, symbol))
        else:
            what = type(symbol).__name__
            raise OperatorError(
                f"{op.name}: the input {word} is a {what}; it must be a Symbol. Make "
                f"one with mx.sym.Variable(...), or leave it away: it becomes a "
                f"variable {name}_{word}."
            )
    unknown = [word for word, value in given.items() if value is not None]
    if surplus := set(unknown) - set(op.inputs):
        raise OperatorError(
            f"{op.name}: with these settings there is no input "
            f"{sorted(surplus)[0]}; it takes {', '.join(op.inputs)}."
        )
    if nodes.mixing is not None:
        converted = nodes.mixing(op, [Symbol([entry]) for entry in entries])
        entries = [single(op, symbol) for symbol in converted]
    return placed(op, entries, name, attributes, explicit)


def _spread(op: Op, given: list[Symbol]) -> Sequence[Symbol]:
    """The inputs of an operator of many: a symbol of several outputs is several."""
    if len(given) == 1 and len(given[0]) > 1:
        return list(given[0])
    return given


def _new_variable(
    op: Op, node: str, word: str, attributes: dict[str, Any], settings: Collection[str]
) -> Entry:
    """A variable for an input that was not given; it has the attributes of its node."""
    start = op.default_initializers.get(word)
    explicit = {} if start is None else {"__init__": start}
    explicit |= {
        attribute.stored_name(key): str(value)
        for key, value in attribute.current().get(attributes).items()
    }
    resolved = graph_text.settings(op, settings) | explicit
    return Entry(Node(None, (), f"{node}_{word}", resolved))


class Written(Mapping[str, Callable[..., Any]]):
    """The functions of all operators, by any name; each is made when asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Callable[..., Any]] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        made = self._made.get(name)
        if made is None:
            sheet = REGISTRY[ALIASES.get(name, name)]
            made = self._made[name] = make(sheet, name)
        return made

    def enter(self, function: Callable[..., Any], *names: str) -> None:
        """Offer a function of its own for some names."""
        self._made.update(dict.fromkeys(names, function))

    def __iter__(self) -> Iterator[str]:
        return iter((*REGISTRY, *ALIASES))

    def __len__(self) -> int:
        return len(REGISTRY) + len(ALIASES)


FUNCTIONS = Written()
function_caches.append(FUNCTIONS._made)


def _numpys(symbol: Symbol, name: str) -> Callable[..., Any] | None:
    """The function of `mx.sym.np` of that name, for a symbol of NumPy's kind."""
    if symbol.is_classic:
        return None
    from minimx.symbol import np

    return getattr(np, name) if name in vars(np) else None


def _method(name: str) -> Callable[..., Any]:
    function = FUNCTIONS[name]

    def method(self: Symbol, *args: Any, **kwargs: Any) -> Any:
        if (numpys := _numpys(self, name)) is not None:
            return numpys(self, *args, **kwargs)
        return function(self, *args, **kwargs).as_kind_of(self)

    method.__name__ = name
    method.__doc__ = inspect.getdoc(function)
    method.__signature__ = bound(inspect.signature(function))  # type: ignore[attr-defined]
    method.from_registry = True  # type: ignore[attr-defined]
    return method


def _axes_method(name: str, setting: str) -> Callable[..., Any]:
    """A method whose one setting may be given as several numbers."""

    def method(self: Symbol, *values: Any, **kwargs: Any) -> Any:
        numpys = _numpys(self, name)
        if len(values) == 1 and isinstance(values[0], (tuple, list)):
            values = tuple(values[0])
        if values:
            if numpys is not None:
                return numpys(self, values, **kwargs)
            kwargs[setting] = values
        return FUNCTIONS[name](self, **kwargs)

    method.__name__ = name
    method.__doc__ = f"`{name}`, with `{setting}` as one tuple or as several numbers."
    return method


def _of_numpy(name: str) -> Callable[..., Any]:
    """A method that only arrays of `mx.np` have."""

    def method(self: Symbol, *args: Any, **kwargs: Any) -> Any:
        from minimx.symbol import np

        return getattr(np, name)(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"`np.{name}` of the symbol."
    return method


def _astype(self: Symbol, dtype: Any, **kwargs: Any) -> Any:
    """The symbol converted to another element type."""
    return FUNCTIONS["cast"](self, dtype=resolve(dtype).name, **kwargs)


def install_methods() -> None:
    """Give Symbol a method for each operator that arrays have one for."""
    for name in METHODS:
        if name in FUNCTIONS and not hasattr(Symbol, name):
            setattr(Symbol, name, _method(name))
    for name, public, setting in (
        ("reshape", "reshape", "shape"),
        ("transpose", "transpose", "axes"),
    ):
        setattr(Symbol, name, _axes_method(public, setting))
    for name in ("std", "var", "cumsum", "any", "all"):
        setattr(Symbol, name, _of_numpy(name))
    setattr(Symbol, "T", property(lambda self: self.transpose()))  # noqa: B010
    setattr(Symbol, "astype", _astype)  # noqa: B010 (not declared in the class)


install_methods()
