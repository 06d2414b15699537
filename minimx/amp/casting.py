"""Conversions in front of the operators that a program calls, while it calls them.

Who computes in which type, and what that asks of the inputs, is decided by the policy
in ops/casting.py, from what the data sheets say and the user's lists (`rules`). `Mixer`
converts the inputs of a call accordingly, with `amp_cast` and `amp_multicast`, which
the tape and a graph in the making write down like everything else. Gradients and
updates are left alone: the gradients of the conversions bring gradients into the right
types. The gradient of a loss output ignores what arrives, and with it the loss scale;
in front of its data stands an operator that multiplies it in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, Final

from minimx.core.arrays.launch import invoke
from minimx.core.dtypes import DType, resolve
from minimx.core.errors import ArgumentError, DTypeError, ListedTwice
from minimx.core.events import attribution
from minimx.core.ops import casting
from minimx.core.ops.casting import TARGETS, UNKNOWN, Conversion, Rules
from minimx.core.ops.registry import ALIASES, REGISTRY, Op
from minimx.core.ops.spec import Spec
from minimx.operators.arrays.precision import AmpCast, AmpMulticast, ScaledLoss

#: The operators that convert; they are never converted for.
CASTS: Final = ("amp_cast", "amp_multicast", "cast")
#: So many answers of the policy are remembered.
REMEMBERED: Final = 4096

Conditions = Iterable[tuple[str, str, Sequence[str]]]


def checked_target(target_dtype: Any) -> str:
    """The name of a two-byte type. Raises `ArgumentError` for another one."""
    name = getattr(target_dtype, "__name__", None) or str(target_dtype)
    if name not in TARGETS:
        raise ArgumentError(
            f"amp: target_dtype={target_dtype!r}; there are {' and '.join(TARGETS)}."
        )
    return name


def rules(
    target_dtype: Any = "float16",
    target_ops: Iterable[str] | None = None,
    single_ops: Iterable[str] | None = None,
    conditional_ops: Conditions | None = None,
    excluded: Sequence[str] = (),
) -> Rules:
    """The rules of the data sheets, with a user's lists in place of theirs.

    A name that is given explicitly moves to that group from any other. Raises
    `ArgumentError` for unknown operators, `ListedTwice` for one in two given lists.
    """
    target = checked_target(target_dtype)
    given = {"target": _known(target_ops), "float32": _known(single_ops)}
    conditions = _conditions(conditional_ops)
    named = {
        f"in {target}": given["target"] or set(),
        "in float32": given["float32"] or set(),
        "by conditions": set() if conditional_ops is None else {*conditions},
    }
    for (one, first), (other, second) in combinations(named.items(), 2):
        if both := first & second:
            raise ListedTwice(
                f"amp: {', '.join(sorted(both))} cannot compute {one} and {other}. "
                "Leave it in one of the lists."
            )
    groups = {name: sheet.casting.rule(target) for name, sheet in REGISTRY.items()}
    for group, names in given.items():
        if names is not None:
            freed = [name for name, its in groups.items() if its == group]
            groups |= dict.fromkeys(freed, "either")
    for group, names in given.items():
        groups |= dict.fromkeys(names or (), group)
        conditions = {k: v for k, v in conditions.items() if k not in (names or ())}
    return Rules(target, groups, conditions, tuple(excluded))


def _conditions(
    given: Conditions | None,
) -> dict[str, dict[str, tuple[str, ...]]]:
    if given is None:
        return {
            name: dict(sheet.casting.conditional)
            for name, sheet in REGISTRY.items()
            if sheet.casting.conditional
        }
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, setting, values in given:
        for known in _known([name]) or ():
            found.setdefault(known, {})[setting] = tuple(values)
    return found


def _known(names: Iterable[str] | None) -> set[str] | None:
    if names is None:
        return None
    found = {ALIASES.get(name, name) for name in names}
    for name in sorted(found - REGISTRY.keys()):
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
        self._answers: dict[Any, Conversion] = {}

    def __call__(self, op: Op, inputs: Sequence[Any]) -> Sequence[Any]:
        """The inputs of a call with arrays, converted where they have to be."""
        if attribution.phase in ("backward", "update") or op.name in CASTS:
            return inputs
        asked = self._asked(op, inputs)
        if asked.together:
            chosen = [inputs[k] for k in asked.together]
            many = invoke(AmpMulticast.of(num_outputs=len(chosen)), chosen)
            found = dict(zip(asked.together, many, strict=True))
            inputs = [found.get(k, x) for k, x in enumerate(inputs)]
        else:
            inputs = [
                x if kind is None else invoke(AmpCast.of(dtype=kind.name), [x])
                for x, kind in zip(inputs, asked.to, strict=True)
            ]
        if op.casting.loss:
            inputs = [invoke(ScaledLoss.of(), [inputs[0]]), *inputs[1:]]
        return inputs

    def in_force(self) -> Mixer:
        """These conversions, in every thread."""
        return self

    def _asked(self, op: Op, inputs: Sequence[Any]) -> Conversion:
        """What the policy asks; for one operator and types of inputs the same again."""
        kept = casting.states(op)
        kinds = tuple(None if k in kept else x.spec.dtype for k, x in enumerate(inputs))
        found = self._answers.get((op, kinds))
        if found is not None:
            return found
        specs = [x.spec for x in inputs]
        asked: list[bool] = []

        def fits() -> bool:
            asked.append(_fits(op, specs))
            return asked[-1]

        group, _ = casting.group(op, self.rules)
        found = casting.conversion(op, group, self.target, kinds, fits)
        if len(self._answers) < REMEMBERED and not asked:
            self._answers[op, kinds] = found
        return found


def _fits(op: Op, specs: Sequence[Any]) -> bool:
    """Whether an operator takes inputs of just these types.

    The slope of PReLU is float32 and the data is not any more; BatchNorm keeps its
    parameters, and places to look at (of `pick`, of `take`) must not be rounded.
    """
    try:
        op.plan(tuple(Spec.of(spec.shape, spec.dtype) for spec in specs))
    except DTypeError:
        return False
    return True


class SymbolMixer:
    """Writes conversions down in front of symbols, whose types are not known yet."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.target: DType = resolve(rules.target)

    def __call__(self, op: Op, inputs: Sequence[Any]) -> Sequence[Any]:
        """The inputs of a node, converted where its group asks for it."""
        if op.name in CASTS or not inputs:
            return inputs
        kept = casting.states(op)
        kinds = [None if k in kept else UNKNOWN for k in range(len(inputs))]
        group, _ = casting.group(op, self.rules)
        asked = casting.conversion(op, group, self.target, kinds)
        many: Any = ()
        if asked.together:
            chosen = tuple(inputs[k] for k in asked.together)
            many = chosen[0]._bind(AmpMulticast.of(num_outputs=len(chosen)), chosen)
        found = dict(zip(asked.together, many, strict=True))
        made = [
            found.get(k, x) if to is None else x._bind(AmpCast.of(dtype=to.name), (x,))
            for k, (x, to) in enumerate(zip(inputs, asked.to, strict=True))
        ]
        if op.casting.loss:
            made[0] = made[0]._bind(ScaledLoss.of(), (made[0],))
        return made
