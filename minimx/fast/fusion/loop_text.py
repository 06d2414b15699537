"""The text of a fused loop.

    text = write(loop)

The line of an operator is the formula of its own kernel, rounded to its own type: what
the loop gives is equal to the bit to what the operators give one after the other.

A formula with `exp` or `tanh` keeps a processor's registers busy; two of them in one
loop are slower than two loops. So a loop with several goes in pieces: a few stages, one
after the other, over PIECE elements, then over the next ones. What stages hand on to
each other stays in the nearest cache.

Where a row of an operand is not walked element by element, the text says so; shapes are
not in it, so that one compiled loop serves all of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from minimx.core.dtypes import NARROW, DType
from minimx.core.kernels import codegen
from minimx.core.kernels.formula import Formula
from minimx.core.kernels.half import computing

#: How many elements a piece has: a page of single-precision numbers.
PIECE = 1024


class Operand(NamedTuple):
    """What a loop reads: its name in the text, its type, its step along a row.

    step: 1, 0, or None for any other. number: one number in every launch, a setting.
    """

    name: str
    dtype: DType
    step: int | None
    number: bool = False


class Line(NamedTuple):
    """One operator of a loop: name = formula(sources), rounded to a type.

    ins: the types of the sources; title: what the operator is called.
    """

    name: str
    formula: Formula
    sources: tuple[str, ...]
    ins: tuple[DType, ...]
    out: DType
    title: str


class Loop(NamedTuple):
    """Everything that the text of a loop depends on. outs: (name, type) of each."""

    operands: tuple[Operand, ...]
    lines: tuple[Line, ...]
    outs: tuple[tuple[str, DType], ...]

    @property
    def title(self) -> str:
        """The operators, in order."""
        return ", ".join(line.title for line in self.lines) or "_copy"


# -- stages ----------------------------------------------------------------------------

#: Functions that are a single instruction or two.
_LIGHT = frozenset(
    ("select", "maximum", "minimum", "abs", "sign", "sqrt", "div", "copysign")
    + ("floor", "ceil", "trunc", "rint", "round", "isnan", "isinf", "isfinite")
)


def is_heavy(line: Line) -> bool:
    """Whether a line calls a function that takes a while."""
    return not _LIGHT.issuperset(codegen.functions_of(line.formula))


def stages(loop: Loop) -> list[list[Line]]:
    """The lines, cut so that no stage has more than one heavy line."""
    found: list[list[Line]] = [[]]
    for line in loop.lines:
        if is_heavy(line) and any(map(is_heavy, found[-1])):
            found.append([])
        found[-1].append(line)
    return found


class _Stage(NamedTuple):
    """One stage: what it loads, takes over, computes, hands on and stores."""

    loads: list[Operand]
    takes: list[str]
    lines: list[Line]
    gives: list[str]
    stores: list[int]


def _planned(loop: Loop) -> list[_Stage]:
    """The stages of a loop; each value is loaded or computed in one of them only."""
    cut = stages(loop)
    moving = {o.name: o for o in loop.operands if o.step != 0}
    made = {line.name: k for k, lines in enumerate(cut) for line in lines}
    wanted: list[list[str]] = [
        list(dict.fromkeys(s for line in lines for s in line.sources)) for lines in cut
    ]
    for name, _ in loop.outs:
        if name in moving:  # an operand that is handed out as it is
            wanted[0].append(name)
    born = dict(made)
    for k, names in enumerate(wanted):
        for name in names:
            if name in moving:
                born.setdefault(name, k)
    last = {name: k for k, names in enumerate(wanted) for name in names}
    return [
        _Stage(
            [o for name, o in moving.items() if born.get(name) == k],
            [name for name in names if born.get(name, k) < k],
            cut[k],
            [name for name, at in born.items() if at == k < last.get(name, k)],
            [n for n, (name, _) in enumerate(loop.outs) if born.get(name, 0) == k],
        )
        for k, names in enumerate(wanted)
    ]


def _slots(loop: Loop, plan: Sequence[_Stage]) -> tuple[dict[str, str], list[str]]:
    """Which slot on the stack each value that is handed on has, and their types."""
    kinds = {o.name: o.dtype for o in loop.operands}
    kinds |= {line.name: line.out for line in loop.lines}
    last = {name: k for k, stage in enumerate(plan) for name in stage.takes}
    slots: dict[str, str] = {}
    types: list[str] = []
    free: list[tuple[str, str]] = []
    for k, stage in enumerate(plan):
        free += [
            (slots[n], types[int(slots[n][1:])]) for n in stage.takes if last[n] == k
        ]
        for name in stage.gives:
            kind = codegen.numba_type(computing(kinds[name]))
            fitting = [slot for slot, of in free if of == kind]
            if fitting:
                slots[name] = fitting[0]
                free.remove((fitting[0], kind))
            else:
                slots[name] = f"b{len(types)}"
                types.append(kind)
    return slots, types


# -- the text --------------------------------------------------------------------------

_HEAD = '''"""One loop for {title}.

({ins}) -> {outs}; made by minimx.fast.fusion.loop.
"""

from numba import {types}

{imports}


@row_kernel
def kernel(args, steps, n):
'''


def write(loop: Loop) -> str:
    """The file that numba compiles."""
    body = [
        f"{o.name}_ = operand(args, {k}, {_memory(o.dtype)})"
        for k, o in enumerate(loop.operands)
    ]
    first = len(loop.operands)
    body += [
        f"y{k}_ = operand(args, {first + k}, {_memory(dtype)})"
        for k, (_, dtype) in enumerate(loop.outs)
    ]
    body += [_loaded(o, "0") for o in loop.operands if o.step == 0]
    plan = _planned(loop)
    slots, types = _slots(loop, plan)
    if len(plan) == 1:
        body += ["for i in range(n):", *_indented(_inside(loop, plan[0], slots))]
    else:
        body += [f"b{k} = alloca({kind}, {PIECE})" for k, kind in enumerate(types)]
        body.append(f"for start in range(0, n, {PIECE}):")
        body.append(f"    stop = min(start + {PIECE}, n)")
        for stage in plan:
            inner = _indented(_inside(loop, stage, slots))
            body += _indented(["for i in range(start, stop):", *inner])
    text = "\n".join(_indented(body))
    return _head(loop, text) + text + "\n"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _inside(loop: Loop, stage: _Stage, slots: dict[str, str]) -> list[str]:
    """The body of a loop over elements."""
    lines = [
        _loaded(o, "i" if o.step == 1 else f"i * steps[{loop.operands.index(o)}]")
        for o in stage.loads
    ]
    lines += [f"{name} = load_stack({slots[name]}, i - start)" for name in stage.takes]
    lines += [f"{_spelled(line)}  # {line.title}" for line in stage.lines]
    lines += [f"store_stack({slots[name]}, i - start, {name})" for name in stage.gives]
    for k in stage.stores:
        name, dtype = loop.outs[k]
        lines.append(f"store(y{k}_, i, {_converted('to', dtype, name)})")
    return lines


def _loaded(operand: Operand, place: str) -> str:
    name = operand.name
    found = f"load({name}_, {place})"
    return f"{name} = {_converted('from', operand.dtype, found)}"


def _spelled(line: Line) -> str:
    names = dict(zip(line.formula.operands, line.sources, strict=True))
    ins = [computing(dtype) for dtype in line.ins]
    text = codegen.expression(line.formula, ins or [computing(line.out)], names)
    text = f"{codegen.numba_type(computing(line.out))}({text})"
    return f"{line.name} = {_converted('round', line.out, text)}"


def _memory(dtype: DType) -> str:
    """The type of the elements in memory, as numba calls it."""
    return "uint16" if dtype in NARROW else codegen.numba_type(dtype)


def _converted(how: str, dtype: DType, text: str) -> str:
    return f"{how}_{dtype.name}({text})" if dtype in NARROW else text


def _head(loop: Loop, body: str) -> str:
    """The imports of what the body uses."""
    dtypes = [d for o in loop.operands for d in (o.dtype, computing(o.dtype))]
    dtypes += [line.out for line in loop.lines] + [dtype for _, dtype in loop.outs]
    words = {codegen.numba_type(dtype) for dtype in dtypes if dtype not in NARROW}
    words |= {"uint16", "float32", "float64", "intp"}
    halves = [f"{how}_{d.name}" for d in NARROW for how in ("from", "to", "round")]
    functions = {f for line in loop.lines for f in codegen.functions_of(line.formula)}
    modules = {
        "core.kernels.halfwords": halves,
        "core.kernels.mathematics": list(functions),
        "core.kernels.native": ["load", "operand", "row_kernel", "store"],
        "fast.fusion.stack_memory": ["alloca", "load_stack", "store_stack"],
    }
    used = {
        module: sorted(n for n in names if f"{n}(" in body or n == "row_kernel")
        for module, names in modules.items()
    }
    return _HEAD.format(
        title=loop.title,
        ins=", ".join(operand.dtype.name for operand in loop.operands),
        outs=", ".join(dtype.name for _, dtype in loop.outs),
        types=", ".join(sorted(w for w in words if re.search(rf"\b{w}\b", body))),
        imports="\n".join(
            f"from minimx.{module} import {', '.join(names)}"
            for module, names in used.items()
            if names
        ),
    )
