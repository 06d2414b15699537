"""In which type operators compute under mixed precision: one policy, many readers.

A data sheet declares its rule (`casting = SINGLE`), by default `USUAL`. A rule is one
of four groups, which MXNet has as lists of operators (contrib/amp/lists):

    target    FP16_FUNCS         in float16 or bfloat16: what multiplies matrices
    float32   FP32_FUNCS         in float32: sums over many elements, and what leaves
                                 float16's range
    widest    WIDEST_TYPE_CASTS  in the widest type among the inputs
    either    FP16_FP32_FUNCS    in the type that comes

The rule may differ between float16 and bfloat16. In bfloat16 MXNet computes only what
oneDNN knows in it, and everything else in float32.

    group(op, rules)                       pure: which of the four holds for an operator
    conversion(op, group, target, kinds)   pure: what each input is converted to

Calls, symbols and whole graphs are converted by these two (amp/casting.py,
graphs/casts.py); they differ in what they know of the inputs' types.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from minimx.core.dtypes import FLOAT32, DType

#: The types that mixed precision may aim at.
TARGETS: Final = ("float16", "bfloat16")
GROUPS: Final = ("target", "float32", "widest", "either")
#: The type of an input, as long as it is unknown.
UNKNOWN: Final = "unknown"


@dataclass(frozen=True)
class Casting:
    """How an operator is treated under mixed precision, as its data sheet declares.

    float16, bfloat16: the rule with that target. conditional: {setting: values} with
    which the operator computes in float32. loss: it is a loss and its gradient at once,
    so that the loss scale has to reach it by another way than the gradient.
    """

    float16: str = "either"
    bfloat16: str = "float32"
    conditional: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    loss: bool = False

    def rule(self, target: str) -> str:
        """The rule with a target, whatever the settings."""
        return self.float16 if target == "float16" else self.bfloat16


USUAL: Final = Casting()
EITHER: Final = Casting("either", "either")
TARGET: Final = Casting("target", "target")
TARGET_IN_FLOAT16: Final = Casting("target", "float32")
SINGLE: Final = Casting("float32", "float32")
SINGLE_IN_FLOAT16: Final = Casting("float32", "either")
WIDEST: Final = Casting("widest", "widest")
LOSS: Final = Casting("float32", "float32", loss=True)


@dataclass(frozen=True)
class Rules:
    """The rules of one use of mixed precision: those of the sheets, or a user's.

    target: float16 or bfloat16. groups: operator → group. conditional: operator →
    {setting: values} with which it computes in float32. excluded: nodes, by name, that
    compute in float32 whatever their operators do.
    """

    target: str
    groups: Mapping[str, str]
    conditional: Mapping[str, Mapping[str, Collection[str]]] = field(
        default_factory=dict
    )
    excluded: Collection[str] = ()


def group(op: Any, rules: Rules, node: str = "") -> tuple[str, str]:
    """The group of an operator with its settings, and the reason.

    node: the name that it has in a graph.
    """
    if node and node in rules.excluded:
        return "float32", f"{node} is excluded"
    for setting, values in rules.conditional.get(op.name, {}).items():
        chosen = str(getattr(op, setting, None))
        if chosen in values:
            return "float32", f"{op.name} with {setting}={chosen} computes in float32"
    found = rules.groups.get(op.name, "either")
    where = {
        "target": f"computes in {rules.target}",
        "float32": "computes in float32",
        "widest": "computes in the widest type",
        "either": "wants one type",
    }
    return found, f"{op.name} {where[found]}"


@dataclass(frozen=True)
class Conversion:
    """What the inputs of a call become.

    to: for each input a type, or None: it stays. together: these inputs get the widest
    type among them (`amp_multicast`).
    """

    to: tuple[DType | None, ...]
    together: tuple[int, ...] = ()


def conversion(
    op: Any,
    group: str,
    target: DType,
    kinds: Sequence[DType | str | None],
    fits: Callable[[], bool] | None = None,
) -> Conversion:
    """What the inputs of an operator are converted to, by its group.

    kinds: the types of the inputs; UNKNOWN where it is not known yet; None for what
    must stay as it is, such as a state that the operator changes. Only float32 and the
    two-byte types are ever converted. fits: whether an operator of either type takes
    inputs of just these types. If not, they are given that of the data; inputs that are
    all alike the widest, as are those of which nothing is known.
    """
    stays: tuple[DType | None, ...] = (None,) * len(kinds)
    free = [k for k, kind in enumerate(kinds) if kind == UNKNOWN or is_mixed(kind)]
    if group in ("target", "float32"):
        asked = types_asked(op, target if group == "target" else FLOAT32, len(kinds))
        changed = {k: asked[k] for k in free if kinds[k] != asked[k]}
        return Conversion(tuple(changed.get(k) for k in range(len(kinds))))
    found = {kinds[k] for k in free}
    if group == "widest" and len(free) > 1 and (len(found) > 1 or UNKNOWN in found):
        return Conversion(stays, tuple(free))
    if group == "widest" or len(found - {UNKNOWN}) < 2:
        return Conversion(stays)
    if fits is not None and fits():
        return Conversion(stays)
    if fits is None or op.variadic:
        return Conversion(stays, tuple(free))
    first: Any = kinds[free[0]]
    changed = {k: first for k in free if kinds[k] != first}
    return Conversion(tuple(changed.get(k) for k in range(len(kinds))))


def types_asked(op: Any, first: DType, count: int) -> list[DType]:
    """The type of each input if the first has some type, as the sheet deduces them.

    BatchNorm asks for parameters in float32 whatever the data are; most operators ask
    for one type everywhere.
    """
    known = [first, *[None] * (count - 1)]
    asked, _ = op.deduce_types(known, [None] * op.visible)
    return [first if kind is None or not is_mixed(kind) else kind for kind in asked]


def is_mixed(kind: Any) -> bool:
    """Whether mixed precision concerns a type: float32 and the two-byte ones."""
    return kind is not None and (kind == FLOAT32 or kind.name in TARGETS)


def states(op: Any) -> set[int]:
    """The positions of inputs that the operator changes; they are never converted."""
    changed = {*op.mutates, *op.state_inputs}
    if not changed:
        return set()
    return {k for k, name in enumerate(op.inputs) if name in changed}
