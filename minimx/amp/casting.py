"""Conversions in front of the operators that a program calls, while it calls them.

`Rules` say in which type an operator computes (pure); `Mixer.__call__` converts the
inputs of a call accordingly, with `amp_cast` and `amp_multicast`, which the tape and a
graph in the making write down like everything else. Gradient rules are left alone: the
gradients of the conversions bring gradients into the right types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from minimx.amp import lists
from minimx.dtypes import FLOAT32, DType, is_float, resolve
from minimx.errors import ArgumentError, DTypeError
from minimx.events import attribution
from minimx.graph.casts import CastLists
from minimx.nd.launch import invoke
from minimx.ops.precision import AmpCast, AmpMulticast
from minimx.ops.registry import ALIASES, REGISTRY, Op
from minimx.ops.spec import Spec

#: The operators that convert; they are never converted for.
CASTS: Final = ("amp_cast", "amp_multicast", "cast")

Conditions = Iterable[tuple[str, str, Sequence[str]]]


@dataclass(frozen=True)
class Rules:
    """In which type each operator computes; see `minimx.amp.lists`.

    groups: operator -> target, single or widest. conditional: operator ->
    {setting: values} with which it computes in float32.
    """

    target: str
    groups: dict[str, str]
    conditional: dict[str, dict[str, Sequence[str]]] = field(default_factory=dict)

    def group(self, op: Op) -> str:
        """The group of an operator with its settings, or nothing."""
        wanted = self.conditional.get(op.name)
        if wanted is not None:
            for setting, values in wanted.items():
                if str(getattr(op, setting, None)) in values:
                    return "single"
        return self.groups.get(op.name, "")

    def as_lists(self, excluded: Sequence[str] = ()) -> CastLists:
        """The same for the pass that converts whole graphs."""

        def of(group: str) -> list[str]:
            return [name for name, its in self.groups.items() if its == group]

        return CastLists(
            target=of("target"),
            single=of("single"),
            widest=of("widest"),
            conditional=self.conditional,
            excluded=tuple(excluded),
        )


def rules(
    target_dtype: Any = "float16",
    target_ops: Iterable[str] | None = None,
    single_ops: Iterable[str] | None = None,
    conditional_ops: Conditions | None = None,
) -> Rules:
    """The rules that lists of names make; a list that is not given is MXNet's.

    A name that is given explicitly moves to that group from any other. Raises
    `ArgumentError` for unknown operators and for one that is in two given lists.
    """
    target = lists.checked_target(target_dtype)
    given_target = None if target_ops is None else {*map(_known, target_ops)}
    given_single = None if single_ops is None else {*map(_known, single_ops)}
    both = (given_target or set()) & (given_single or set())
    if both:
        raise ArgumentError(
            f"amp: {', '.join(sorted(both))} cannot compute in {target} and in "
            "float32. Leave it in one of the lists."
        )
    groups = {_known(name): "widest" for name in lists.WIDEST}
    usual = {_known(name) for name in lists.list_fp32_ops(target)}
    groups |= dict.fromkeys(
        given_single if given_single is not None else usual, "single"
    )
    low = {_known(name) for name in lists.list_lp16_ops(target)}
    low -= given_single or set()
    groups |= dict.fromkeys(given_target if given_target is not None else low, "target")
    conditions: dict[str, dict[str, Sequence[str]]] = {}
    chosen = lists.CONDITIONAL if conditional_ops is None else conditional_ops
    for name, setting, values in chosen:
        conditions.setdefault(_known(name), {})[setting] = tuple(values)
        groups.pop(_known(name), None)
    return Rules(target, groups, conditions)


def _known(name: str) -> str:
    found = ALIASES.get(name, name)
    if found not in REGISTRY:
        raise ArgumentError(
            f"amp: there is no operator called {name!r}. mx.amp.list_lp16_ops(), "
            "list_fp32_ops() and their like name those of the lists."
        )
    return found


class Mixer:
    """Converts the inputs of calls by rules."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.target: DType = resolve(rules.target)

    def __call__(self, op: Op, inputs: Sequence[Any]) -> Sequence[Any]:
        """The inputs of a call with arrays, converted where they have to be."""
        if attribution.phase == "backward" or op.name in CASTS:
            return inputs
        group = self.rules.group(op)
        if group in ("target", "single"):
            return self._to(op, inputs, self.target if group == "target" else FLOAT32)
        if group == "widest":
            return self._widest(op, inputs)
        return self._alike(op, inputs)

    def _to(self, op: Op, inputs: Sequence[Any], wanted: DType) -> Sequence[Any]:
        kept = _states(op)
        return [
            x if k in kept or not _converts(x.spec.dtype, wanted) else _cast(x, wanted)
            for k, x in enumerate(inputs)
        ]

    def _widest(self, op: Op, inputs: Sequence[Any]) -> Sequence[Any]:
        kinds = {x.spec.dtype for x in inputs if _is_mixed(x.spec.dtype)}
        if len(kinds) < 2:
            return inputs
        op = AmpMulticast.of(num_outputs=len(inputs))
        found: Sequence[Any] = invoke(op, list(inputs))
        return found

    def _alike(self, op: Op, inputs: Sequence[Any]) -> Sequence[Any]:
        """What wants one type gets that of the data; what does not is left alone.

        The slope of PReLU is float32 and the data is not any more; BatchNorm keeps its
        parameters, and places to look at (of `pick`, of `take`) must not be rounded.
        """
        specs = [x.spec for x in inputs]
        kinds = {spec.dtype for spec in specs if _is_mixed(spec.dtype)}
        if len(kinds) < 2:
            return inputs
        try:
            op.plan(tuple(Spec.of(spec.shape, spec.dtype) for spec in specs))
        except DTypeError:
            return self._to(op, inputs, specs[0].dtype)
        return inputs


def _states(op: Op) -> set[int]:
    """The places of inputs that the operator changes; those stay what they are."""
    changed = {*op.mutates, *op.state_inputs}
    if not changed:
        return set()
    return {k for k, name in enumerate(op.inputs) if name in changed}


def _is_mixed(dtype: DType) -> bool:
    return dtype == FLOAT32 or dtype.name in lists.TARGETS


def _converts(dtype: DType, wanted: DType) -> bool:
    return is_float(dtype) and _is_mixed(dtype) and dtype != wanted


def _cast(x: Any, wanted: DType) -> Any:
    return invoke(AmpCast.of(dtype=wanted.name), [x])


class SymbolMixer:
    """Writes conversions down in front of symbols, whose types nobody knows yet."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def __call__(self, op: Op, inputs: Sequence[Any]) -> Sequence[Any]:
        """The inputs of a node, converted where its group asks for it."""
        if op.name in CASTS or not inputs:
            return inputs
        group, kept = self.rules.group(op), _states(op)
        if group in ("target", "single"):
            wanted = self.rules.target if group == "target" else "float32"
            cast = AmpCast.of(dtype=wanted)
            return [
                x if k in kept else x._bind(cast, (x,)) for k, x in enumerate(inputs)
            ]
        if group == "widest" and len(inputs) > 1:
            many = AmpMulticast.of(num_outputs=len(inputs))
            return list(inputs[0]._bind(many, tuple(inputs)))
        return inputs
