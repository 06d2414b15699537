"""Conversions that let some operators compute in two-byte numbers.

    passed = insert_casts(graph, kinds_of(graph), "float16", lists)

Which operator computes in which type is said by lists of names (`CastLists`); the
conversions, `amp_cast` and `amp_multicast`, follow from them. One entry is converted to
one type once, whoever needs it. Shapes do not matter here, and need not be known. What
an operator changes, such as the running means of BatchNorm, is never converted, nor
what is no real number. The outputs of the graph have the types that they had before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from minimx.dtypes import FLOAT32, DType, is_float, resolve
from minimx.errors import ArgumentError
from minimx.graph import words
from minimx.graph.ir import Entry, Graph, Node, outputs_of, retraced, rewritten
from minimx.graph.report import Change, Passed
from minimx.ops.precision import AmpCast, AmpMulticast
from minimx.ops.registry import ALIASES, Op


@dataclass(frozen=True)
class CastLists:
    """Who computes in which type, by the names of operators.

    target: in two-byte numbers. single: in float32. widest: in the widest type among
    their inputs. conditional: in float32 where a setting has one of some values,
    {operator: {setting: values}}. excluded: nodes, by name, that compute in float32
    whatever their operators do. Operators in no list take what comes.
    """

    target: Collection[str] = ()
    single: Collection[str] = ()
    widest: Collection[str] = ()
    conditional: Mapping[str, Mapping[str, Collection[str]]] = field(
        default_factory=dict
    )
    excluded: Collection[str] = ()


Kinds = Mapping[Entry, DType]


def kinds_of(graph: Graph, given: Mapping[str, DType] | None = None) -> Kinds:
    """The element type of every entry.

    given: those of variables, by name; the others are what they say, or float32.
    """
    kinds: dict[Entry, DType] = {}
    for node in graph:
        if node.op is None:
            said = node.attrs.get("__dtype__")
            own = FLOAT32 if said in (None, "None", "-1") else _of_code(str(said))
            kinds[Entry(node)] = (given or {}).get(node.name, own)
        else:
            kinds |= _made(node, kinds)
    return kinds


def without_casts(graph: Graph) -> Graph:
    """The graph without `amp_cast` and `amp_multicast`, as files have it."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        return inputs if isinstance(node.op, AmpCast | AmpMulticast) else None

    return rewritten(graph, change)


def _of_code(text: str) -> DType:
    """A type from the number that MXNet writes for it, or from its name."""
    return resolve(int(text) if text.isdecimal() else text)


def _made(node: Node, kinds: Kinds) -> dict[Entry, DType]:
    """The types of what a node gives, from those of what goes in."""
    assert node.op is not None
    ins: list[DType | None] = [kinds[entry] for entry in node.inputs]
    _, outs = node.op.deduce_types(ins, [None] * node.op.visible)
    first = next((kind for kind in ins if kind is not None), FLOAT32)
    return {Entry(node, slot): kind or first for slot, kind in enumerate(outs)}


def insert_casts(
    graph: Graph, kinds: Kinds, target: str | DType, lists: CastLists
) -> Passed:
    """The graph with conversions in front of the operators of the lists.

    kinds: those of all entries; variables keep theirs. target: float16 or bfloat16.
    Raises ArgumentError for another type, or if an operator is in two lists.
    """
    dtype = resolve(target)
    if dtype.name not in ("float16", "bfloat16"):
        raise ArgumentError(
            f"insert_casts: {dtype.name} is no two-byte type of real numbers. Give "
            "float16 or bfloat16."
        )
    return _Casting(graph, kinds, dtype, lists).passed()


class _Casting:
    """A graph on its way to mixed precision."""

    def __init__(
        self, graph: Graph, kinds: Kinds, target: DType, lists: CastLists
    ) -> None:
        self.graph = graph
        self.before = kinds
        self.target = target
        self.lists = lists
        #: The types of the entries of the new graph.
        self.kinds: dict[Entry, DType] = {}
        self.made: dict[tuple[Entry, DType], Entry] = {}
        self.changes: list[Change] = []
        groups = {"target": lists.target, "single": lists.single}
        groups |= {"widest": lists.widest, "conditional": lists.conditional}
        self.group: dict[str, str] = {}
        for group, names in groups.items():
            for name in map(_registered, names):
                if self.group.setdefault(name, group) != group:
                    raise ArgumentError(
                        f"insert_casts: {name} is in the lists {self.group[name]} and "
                        f"{group}. Leave it in one of them."
                    )

    def passed(self) -> Passed:
        """Node by node, then the outputs."""
        after, places = retraced(self.graph, self._node)
        outputs = [
            self._as(new, self.before[old], "the graph gives it out")
            for old, new in zip(self.graph.outputs, after.outputs, strict=True)
        ]
        after = Graph(outputs, after.order)
        return Passed("casts", self.graph, after, tuple(self.changes), places)

    def _node(self, node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry]:
        if node.op is None:
            self.kinds[Entry(node)] = self.before[Entry(node)]
            return outputs_of(node)
        inputs = self._converted(node, inputs)
        kept = node if inputs == node.inputs else node.with_inputs(inputs)
        self._learn(kept)
        return outputs_of(kept)

    def _learn(self, node: Node) -> None:
        self.kinds |= _made(node, self.kinds)

    def _converted(self, node: Node, inputs: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """What goes into a node, in the types that it computes in."""
        assert node.op is not None
        group, why = self._group(node, node.op)
        states = node.states()
        free = [
            is_float(self.kinds[new]) and old not in states
            for old, new in zip(node.inputs, inputs, strict=True)
        ]
        if group in ("target", "single"):
            kinds = self._kinds(node.op, group)
            return tuple(
                self._as(entry, kind, why) if may and kind is not None else entry
                for entry, kind, may in zip(inputs, kinds, free, strict=True)
            )
        return self._widest(node, inputs, free, group, why)

    def _group(self, node: Node, op: Op) -> tuple[str, str]:
        """The list that counts for a node, and the reason."""
        group = self.group.get(op.name, "")
        if node.name in self.lists.excluded:
            return "single", f"{node.name} is excluded"
        if group == "conditional":
            wanted = {ALIASES.get(k, k): v for k, v in self.lists.conditional.items()}
            settings = words.settings(op, op.settings)
            for name, values in wanted[op.name].items():
                if settings.get(name) in values:
                    why = f"{op.name} with {name}={settings[name]} computes in float32"
                    return "single", why
            return "", ""
        words_of = {
            "target": f"{op.name} computes in {self.target.name}",
            "single": f"{op.name} computes in float32",
            "widest": f"{op.name} computes in the widest type",
        }
        return group, words_of.get(group, f"{op.name} wants one type")

    def _kinds(self, op: Op, group: str) -> list[DType | None]:
        """The type of each input if the first has that of the group."""
        first = self.target if group == "target" else FLOAT32
        count = len(op.inputs)
        known: list[DType | None] = [first, *[None] * (count - 1)]
        kinds, _ = op.deduce_types(known, [None] * op.visible)
        return [kind or first for kind in kinds]

    def _widest(
        self,
        node: Node,
        inputs: tuple[Entry, ...],
        free: Sequence[bool],
        group: str,
        why: str,
    ) -> tuple[Entry, ...]:
        """One type for all real inputs, where they were alike and are not now."""
        places = [k for k, may in enumerate(free) if may]
        kinds = {self.kinds[inputs[k]] for k in places}
        alike = len({self.before[node.inputs[k]] for k in places}) == 1
        if len(kinds) < 2 or not (group == "widest" or alike):
            return inputs
        chosen = [inputs[k] for k in places]
        cast = Node(
            AmpMulticast.of(num_outputs=len(chosen)),
            chosen,
            f"{chosen[0].name}_amp_multicast",
            layer=node.layer,
        )
        self._learn(cast)
        self.changes.append(Change("converted", (cast.name, node.name), why))
        found = dict(zip(places, outputs_of(cast), strict=True))
        return tuple(found.get(k, entry) for k, entry in enumerate(inputs))

    def _as(self, entry: Entry, dtype: DType, why: str) -> Entry:
        """An entry in a type; the same conversion as before, if there was one."""
        if self.kinds[entry] == dtype or not is_float(dtype):
            return entry
        found = self.made.get((entry, dtype))
        if found is None:
            name = f"{entry.name}_amp_cast_{dtype.name}"
            op = AmpCast.of(dtype=dtype.name)
            cast = Node(op, [entry], name, layer=entry.node.layer)
            self._learn(cast)
            self.changes.append(Change("converted", (name, entry.node.name), why))
            found = self.made[entry, dtype] = Entry(cast)
        return found


def _registered(name: str) -> str:
    return ALIASES.get(name, name)
