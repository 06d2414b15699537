"""Symbol: a computation written down, to be bound to arrays and run later.

A symbol is some outputs of a graph. Operators on symbols make new nodes, and nothing
is computed:

    data = mx.sym.Variable("data")
    fc = mx.sym.FullyConnected(data, num_hidden=10, name="fc")
    fc.list_arguments()         # ['data', 'fc_weight', 'fc_bias']

Operators arrive from `arithmetic.py` and `functions.py`, as for arrays; questions about
shapes from `inference.py`, running from `binding.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from minimx import attribute
from minimx import name as naming
from minimx.aliases import resolve
from minimx.core.errors import ArgumentError, NotImplementedForSymbol, did_you_mean
from minimx.core.files import write_whole
from minimx.core.graph.values.ir import Entry, Graph, Node, rewritten
from minimx.core.np_semantics import is_np_array
from minimx.core.ops.registry import Op, lookup
from minimx.symbol.arithmetic import Arithmetic
from minimx.symbol.binding.executors import Binding
from minimx.symbol.binding.inference import InferenceMethods
from minimx.symbol.slicing import part
from minimx.tools import graph_text

if TYPE_CHECKING:
    from minimx.symbol.methods import Methods
else:
    Methods = object  # functions.py adds them, from the registry


class Symbol(Arithmetic, InferenceMethods, Binding, Methods):
    """One or more outputs of a graph.

    Made by `mx.sym.Variable`, by operators on symbols, and by `load`.
    """

    __slots__ = ("_classic", "graph")

    def __init__(self, outputs: Sequence[Entry]) -> None:
        self.graph = Graph(outputs)
        self._classic = False  # one of mx.nd where NumPy's semantics are set

    # -- what it is -------------------------------------------------------------------

    @property
    def outputs(self) -> tuple[Entry, ...]:
        """The entries of the graph that it stands for."""
        return self.graph.outputs

    @property
    def name(self) -> str | None:
        """The name of the node; None for a group."""
        nodes = {entry.node for entry in self.outputs}
        return nodes.pop().name if len(nodes) == 1 else None

    def list_outputs(self) -> list[str]:
        """The names of the outputs: `['fc_output']`."""
        return [entry.name for entry in self.outputs]

    def list_arguments(self) -> list[str]:
        """The names of the variables, in the order of the graph, without states."""
        return [node.name for node in self.graph.arguments]

    def list_auxiliary_states(self) -> list[str]:
        """The names of the variables that nodes change, such as running means."""
        return [node.name for node in self.graph.states]

    def list_inputs(self) -> list[str]:
        """The names of all variables."""
        return [node.name for node in self.graph.variables]

    @property
    def num_outputs(self) -> int:
        """How many outputs it has."""
        return len(self.outputs)

    def __len__(self) -> int:
        return len(self.outputs)

    def __iter__(self) -> Iterator[Symbol]:
        for entry in self.outputs:
            yield type(self)([entry])

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol(
            "a Symbol is neither true nor false: it has no numbers before it is run. "
            "Use mx.sym.where or a control-flow operator, or run it with eval()."
        )

    def __float__(self) -> float:
        raise NotImplementedForSymbol(
            "float, int: a Symbol has no numbers before it is run. Keep computing with "
            "symbols, or run it with eval()."
        )

    __int__ = __index__ = __float__

    def __repr__(self) -> str:
        if self.name is not None:
            return f"<{type(self).__name__} {self.name}>"
        names = ", ".join(entry.node.name for entry in self.outputs)
        return f"<{type(self).__name__} group [{names}]>"

    def debug_str(self) -> str:
        """The whole graph in words."""
        return graph_text.listing(self.graph)

    # -- parts ------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Symbol:
        """One output, by number or name, or some of them; see also `slicing.part`."""
        if isinstance(index, str):
            return self._named(index)
        if is_np_array() and len(self) == 1:
            return part(self, index)
        if isinstance(index, slice):
            return type(self)(self.outputs[index])
        if not isinstance(index, int):
            raise TypeError("a Symbol is indexed by a number, a slice or a name")
        if not -len(self) <= index < len(self):
            raise IndexError(f"output {index} of a Symbol that has {len(self)}")
        return type(self)([self.outputs[index]])

    def _named(self, wanted: str) -> Symbol:
        found = [e for e in self.outputs if wanted in (e.name, e.node.name)]
        exact = [entry for entry in found if entry.name == wanted] or found
        if len({*exact}) > 1:
            raise ArgumentError(f"there are several outputs called {wanted!r}.")
        if not exact:
            hint = did_you_mean(wanted, self.list_outputs())
            raise ArgumentError(f"there is no output called {wanted!r}.{hint}")
        return type(self)([exact[0]])

    def get_internals(self) -> Symbol:
        """Every output of every node: `net.get_internals()['fc1_output']`."""
        return type(self)(
            [Entry(node, k) for node in self.graph for k in range(node.visible)]
        )

    def get_children(self) -> Symbol | None:
        """A group of the inputs of the node or nodes; None for variables."""
        nodes = dict.fromkeys(entry.node for entry in self.outputs)
        inputs = [entry for node in nodes for entry in node.inputs]
        return type(self)(inputs) if inputs else None

    def _gen_atomic_symbol(self) -> Symbol:
        """The last operator alone, on a variable for each of its inputs."""
        node = self.outputs[0].node
        names = [e.node.name if e.slot == 0 else e.name for e in node.inputs]
        inputs = [Entry(Node(None, (), word)) for word in names]
        alone = node.with_inputs(inputs)
        return type(self)([Entry(alone, k) for k in range(node.visible)])

    # -- attributes --------------------------------------------------------------------

    def attr(self, key: str) -> str | None:
        """One attribute or setting of the node, as text; None if there is none."""
        return self._only_node().get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """The attributes and settings of the node, as text."""
        if recursive:
            raise ArgumentError(
                "list_attr(recursive=True) is gone, as in MXNet; use attr_dict()."
            )
        return self._only_node()

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """The attributes and settings of every node that has some, by its name."""
        found = {node.name: graph_text.attributes(node) for node in self.graph}
        return {name: attrs for name, attrs in found.items() if attrs}

    def _only_node(self) -> dict[str, str]:
        nodes = {entry.node for entry in self.outputs}
        return graph_text.attributes(nodes.pop()) if len(nodes) == 1 else {}

    def _set_attr(self, **kwargs: Any) -> None:
        for node in {entry.node for entry in self.outputs}:
            for key, value in kwargs.items():
                node.attrs[attribute.stored_name(key)] = str(value)

    # -- composition ------------------------------------------------------------------

    def __call__(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """The same computation of other inputs: `net(data=other, name="again")`.

        Symbols are given for variables, all by place or all by name.
        """
        name = kwargs.pop("name", None)
        if args and kwargs:
            raise TypeError("compose: give symbols by place or by name, not both")
        if not all(isinstance(s, Symbol) for s in (*args, *kwargs.values())):
            raise TypeError("compose: only a Symbol can take a variable's place")
        given = dict(zip(self.list_arguments(), args, strict=False)) or kwargs
        if unknown := set(given) - set(self.list_inputs()):
            wrong = sorted(unknown)[0]
            hint = did_you_mean(wrong, self.list_inputs())
            raise ArgumentError(f"compose: there is no variable {wrong!r}.{hint}")
        last = {entry.node for entry in self.outputs}

        def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
            if node.op is None:
                return given[node.name].outputs if node.name in given else None
            if node not in last or name is None:
                return None
            renamed = Node(node.op, inputs, name, node.attrs, node.explicit, node.layer)
            return [Entry(renamed, k) for k in range(node.visible)]

        return type(self)(rewritten(self.graph, change).outputs)

    def _compose(self, *args: Symbol, **kwargs: Any) -> None:
        self.graph = self(*args, **kwargs).graph

    def __copy__(self) -> Symbol:
        return type(self)(_copied(self.graph).outputs)

    def __deepcopy__(self, _: Any) -> Symbol:
        return self.__copy__()

    # -- files ------------------------------------------------------------------------

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph as text that MXNet reads.

        Conversions of mixed precision are left out unless `remove_amp_cast` is False:
        the text is that of the network, not of how it was computed.
        """
        from minimx.graphs.casts import without_casts
        from minimx.graphs.json import dump

        return dump(without_casts(self.graph) if remove_amp_cast else self.graph)

    def save(self, fname: str, remove_amp_cast: bool = True) -> None:
        """Write the graph to a file that MXNet reads."""
        write_whole(fname, self.tojson(remove_amp_cast).encode(), "Symbol.save")

    def __reduce__(self) -> Any:
        return _rebuilt, (self.tojson(remove_amp_cast=False),)

    # -- for the interpreters ---------------------------------------------------------

    def _bind(self, *args: Any, **kwargs: Any) -> Any:
        """Write an operator down: `_bind(op, symbols)`; or, as MXNet 2 spells it, bind.

        The first is the counterpart of running an operator on arrays.
        """
        if args and isinstance(args[0], Op):
            op, values = args
            return applied(op, values, op.name)
        return self.bind(*args, **kwargs)

    # -- nd and np ---------------------------------------------------------------------

    @property
    def is_classic(self) -> bool:
        """Whether `+` means what it means in `mx.nd`."""
        return self._classic or not is_np_array()

    def as_np_ndarray(self) -> Symbol:
        """The symbol with the semantics of NumPy."""
        return type(self)(self.outputs) if self._classic else self

    def as_nd_ndarray(self) -> Symbol:
        """The symbol with those of `mx.nd`, also where those of NumPy are set."""
        return self.as_kind_of(None) if is_np_array() else self

    def as_kind_of(self, other: Symbol | None) -> Symbol:
        """The symbol, marked as one of `mx.nd` if `other` is; None: in any case."""
        if other is None or other._classic:
            made = type(self)(self.outputs)
            made._classic = True
            return made
        return self

    def _alias(self) -> Symbol:
        """The symbol itself: nothing here has a history to forget."""
        return self

    if TYPE_CHECKING:
        # The methods that functions.py adds from the registry.
        def __getattr__(self, name: str) -> Any: ...


def _rebuilt(text: str) -> Symbol:
    """The symbol that was pickled."""
    from minimx.graphs.json import load

    return Symbol(load(text, trusted=True).outputs)


def _copied(graph: Graph) -> Graph:
    """The same graph of nodes of its own, so that attributes do not spread."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry]:
        copied = node.with_inputs(inputs)
        return [Entry(copied, k) for k in range(node.visible)]

    return rewritten(graph, change)


def applied(
    op: Op,
    inputs: Sequence[Symbol],
    hint: str,
    name: str | None = None,
    attr: dict[str, str] | None = None,
) -> Symbol:
    """A new node: an operator on symbols of one output each.

    hint: what its name begins with if it is given none.
    """
    name = naming.current().get(name, hint.lower())
    if mixing is not None:
        inputs = mixing(op, inputs)
    return placed(op, [single(op, symbol) for symbol in inputs], name, attr)


#: Who converts the inputs of nodes, while mixed precision is on (amp/casting.py).
mixing: Callable[[Op, Sequence[Symbol]], Sequence[Symbol]] | None = None


def placed(
    op: Op,
    entries: list[Entry],
    name: str,
    attr: Any = None,
    explicit: Iterable[str] = (),
) -> Symbol:
    """A new node under its final name; explicit: settings to write out in any case."""
    attributes = {
        attribute.stored_name(key): str(value)
        for key, value in attribute.current().get(attr).items()
    }
    node = Node(op, entries, name, attributes, explicit)
    return Symbol([Entry(node, k) for k in range(op.visible)])


def single(op: Op, symbol: Symbol) -> Entry:
    """The one output of a symbol that is to be an input."""
    if len(symbol.outputs) != 1:
        raise ArgumentError(
            f"{op.name}: an input has {len(symbol.outputs)} outputs "
            f"({', '.join(symbol.list_outputs()[:4])}). Choose one: symbol[0]."
        )
    return symbol.outputs[0]


def refused(name: str, instead: str) -> Any:
    """A method that arrays have and symbols cannot have."""

    def method(self: Symbol, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedForSymbol(
            f"{name}: a Symbol has no numbers before it is run. {instead}"
        )

    method.__name__ = name
    method.__doc__ = "Refused: a Symbol has no numbers before it is run."
    return method


for _word in ("wait_to_read", "asnumpy", "asscalar", "item", "tolist", "copy"):
    setattr(Symbol, _word, refused(_word, "Run it: symbol.eval(...)[0]."))
for _word in ("as_in_context", "detach", "backward", "attach_grad"):
    setattr(Symbol, _word, refused(_word, "Bind it; the executor has backward()."))

IDENTITY: Op = lookup("_copy").of()


if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        return resolve(__name__, name, globals())
