"""How a formula becomes a data sheet.

    unary("sigmoid", "1 / (1 + exp(-x))", grad="dy * y * (1 - y)", doc="...")
    binary("broadcast_mul", "a * b", grads=("dz * b", "dz * a"), doc="...")

The input is x and the output y, or a, b and z for two inputs; dy or dz is the gradient
of the output. The first line registers two operators:

    sigmoid               input data; saves ("out",), as the gradient uses y and not x
    _backward_sigmoid     inputs (dy, y); one kernel for the whole formula

and the gradient rule of the first is a call of the second, followed by a sum over what
was broadcast (`sum_to`).

A backward operator has its formula in two forms: as a kernel, and `composed`, which
computes it by calling operators one by one. The second is used where the gradient is to
be differentiated again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from minimx.core import shapes
from minimx.core.dtypes import DType
from minimx.core.errors import DTypeError, ShapeError
from minimx.core.kernels import pointwise
from minimx.core.kernels.formula import FUNCTIONS, Formula
from minimx.core.operators.reduce import sum_to
from minimx.core.ops import deduction
from minimx.core.ops.casting import WIDEST
from minimx.core.ops.registry import (
    GradContext,
    Kernel,
    Op,
    Value,
    bind,
    lookup,
    register,
)
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Deduced, Opens


def same_dtype(op: str, specs: Sequence[Spec]) -> None:
    """Refuse inputs of different element types. Raises DTypeError.

    op: the operator's name, for the error; specs: of the inputs, at least one.
    """
    first = specs[0].dtype
    for spec in specs:
        if spec.dtype is not first and spec.dtype != first:
            raise DTypeError(
                f"{op}: the inputs are {' and '.join(s.dtype.name for s in specs)}; "
                f"one operator computes in one type. Convert one of them, for example "
                f"with .astype('{first.name}')."
            )


class Pointwise(Op):
    """An operator that is one formula, applied element by element."""

    #: The names of the inputs and settings as the formula calls them.
    formula: ClassVar[Formula]
    #: For each input the class of its backward operator, "same" where the gradient
    #: passes unchanged, "zero" where there is none.
    backward: ClassVar[tuple[Any, ...]] = ()
    #: From integer to integer it only jumps: their gradient is 0.
    jumps: ClassVar[bool] = False
    #: False for the `elemwise_*` operators, which want equal shapes.
    stretches: ClassVar[bool] = True
    #: The module that has the formula in its table.
    declared_in: ClassVar[str]
    #: The element type of the output where it is not that of the inputs.
    gives: ClassVar[DType | None] = None

    @property
    def constants(self) -> tuple[float, ...]:
        """The numbers among the operands of the formula: the settings."""
        return tuple(self.settings.values())

    def deduce(self, ins: Opens, outs: Opens) -> Deduced:
        """One shape for all, or NumPy's broadcasting for several inputs that stretch.

        See `Op.deduce`.
        """
        alike = len(ins) == 1 or not self.stretches
        rule = deduction.all_alike if alike else deduction.stretched
        return rule(self, ins, outs)

    def infer(self, *specs: Spec) -> Spec | tuple[Spec, ...]:
        """Shapes stretch to a common one; element types must be equal."""
        same_dtype(self.name, specs)
        shape = specs[0].shape
        for spec in specs[1:]:
            if not self.stretches and spec.shape != shape:
                raise ShapeError(
                    f"{self.name}: shapes {shape} and {spec.shape} differ. Reshape "
                    f"one, or take the operator that stretches axes of length 1, "
                    f"{self.name.replace('elemwise', 'broadcast')}."
                )
            shape = shapes.broadcast(self.name, shape, spec.shape)
        return Spec.of(shape, self.gives or specs[0].dtype)

    def kernel(self, *specs: Spec) -> Kernel:
        """Generated from the formula."""
        out = self.infer(*specs)
        assert isinstance(out, Spec)
        return pointwise.kernel(
            self.formula,
            [spec.shape for spec in specs],
            [spec.dtype for spec in specs],
            out.shape,
            out.dtype,
            self.constants,
        )

    def cost(self, *specs: Spec) -> Cost:
        """One operation for each operator and function of the formula."""
        out = self.infer(*specs)
        assert isinstance(out, Spec)
        moved = sum(spec.nbytes for spec in specs) + out.nbytes
        return Cost(out.size * self.formula.steps, moved)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Rule: the formulas of the gradients, one backward operator for each input."""
        known = dict(zip(self.saves, saved, strict=True)) if saved else {}
        grads: list[Value | None] = []
        flat = self.jumps and at.ins[0].dtype.kind in "iu"
        for k, rule in enumerate(self.backward):
            spec = at.ins[k]
            if not at.wants[k]:
                grads.append(None)
            elif rule == "zero" or flat:
                zeros = bind(lookup("zeros_like").of(), dout)
                grads.append(sum_to(zeros, at.outs[0].shape, spec.shape))
            else:
                found = dout if rule == "same" else rule.applied(self, dout, known)
                grads.append(sum_to(found, at.outs[0].shape, spec.shape))
        return grads


class Backward(Pointwise):
    """The gradient of a pointwise operator, as one kernel."""

    #: For each input after the first: its name among the saved values.
    takes: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def applied(cls, forward: Op, dout: Value, saved: dict[str, Value]) -> Value:
        """The gradient of a call of the forward operator.

        dout: the gradient of its output; saved: what it kept, by the names in `saves`.
        """
        op = forward.relatives.get(cls)
        if op is None:
            op = forward.relatives[cls] = cls.of(**forward.settings)
        return bind(op, dout, *[saved[name] for name in cls.takes])

    def composed(self, *values: Value) -> Value:
        """The same gradient made of operators, each of which has a gradient itself."""
        names = dict(
            zip(self.formula.operands, (*values, *self.constants), strict=True)
        )
        return self.formula.evaluate(OPERATORS, names)


# -- operators as the functions of a formula: how `composed` computes ------------------


def _like(value: Any, other: Value) -> Value:
    """A value as it is; a number as a value of the shape of `other`."""
    if isinstance(value, int | float):
        return bind(lookup("zeros_like").of(), other) + value
    return value


def _where(condition: Value, yes: Any, no: Any) -> Value:
    args = _like(yes, condition), _like(no, condition)
    return bind(lookup("where").of(), condition, *args)


def _pair(name: str) -> Callable[[Any, Any], Value]:
    def apply(a: Any, b: Any) -> Value:
        if isinstance(b, int | float):
            b = _like(b, a)
        return bind(lookup(name).of(), _like(a, b), b)

    return apply


def _single(name: str) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        if isinstance(value, int | float):  # a setting
            with np.errstate(all="ignore"):
                return float(getattr(np, name)(value))
        return bind(lookup(name).of(), value)

    return apply


OPERATORS: dict[str, Callable[..., Value]] = {
    **{name: _single(name) for name, inputs in FUNCTIONS.items() if inputs == 1},
    **{
        name: _pair(f"broadcast_{name}")
        for name in ("maximum", "minimum", "div", "mod", "power", "hypot")
    },
    "where": _where,
}


# -- sheets from formulas --------------------------------------------------------------


def _enter(
    base: type[Pointwise],
    names: tuple[str, ...],
    doc: str,
    facts: dict[str, Any],
    settings: dict[str, str],
) -> type[Pointwise]:
    title = "".join(word.capitalize() for word in names[0].split("_"))
    body = {"__doc__": doc, "__annotations__": settings, "__module__": __name__}
    return register(*names)(type(title, (base,), {**body, **facts}))


def _gradient(
    name: str, text: str | None, takes: dict[str, str], settings: dict[str, str]
) -> Any:
    """The backward operator for the formula of a gradient."""
    if text is None:
        return None
    if text == "0":
        return "zero"
    dout, *_ = takes
    if text == dout:
        return "same"
    formula = Formula(text, (*takes, *settings))
    used = [word for word in takes if word in formula.names and word != dout]
    operands = (dout, *used, *settings)
    doc = (
        f"The gradient {text} of `{name}`.\n\n"
        f"{', '.join((dout, *used))}: shapes that stretch to that of {dout}; "
        f"{dout} is the gradient of the output."
    )
    facts = {
        "formula": Formula(text, operands),
        "inputs": (dout, *used),
        "takes": tuple(takes[word] for word in used),
        "inplace": {"out": (dout, *used)},
    }
    return _enter(Backward, (f"_backward_{name}",), doc, facts, settings)


def _caller() -> str:
    """The module that has a sheet in its table: the one that calls `unary`."""
    return str(sys._getframe(2).f_globals["__name__"])


def _saved(rules: Sequence[Any], order: Sequence[str]) -> tuple[str, ...]:
    """What the backward operators take, each once, in the order of the sheet."""
    wanted = {name for rule in rules for name in getattr(rule, "takes", ())}
    return tuple(name for name in order if name in wanted)


def unary(
    name: str,
    text: str,
    *aliases: str,
    doc: str,
    grad: str | None = None,
    settings: dict[str, str] | None = None,
    facts: dict[str, Any] | None = None,
) -> type[Pointwise]:
    """Register an operator of one input, x in the formula; its output is y.

    name, aliases: of the operator. text: the formula (`kernels/formula.py`). doc: what
    it does; shapes are added. grad: the formula of dx, with dy, x and y; None: no
    gradient flows. settings: {name: type} of numbers that the formulas use as well.
    facts: further class attributes of the sheet, such as casting; also defaults of
    settings. Returns the sheet.
    """
    settings = settings or {}
    takes = {"dy": "", "x": "data", "y": "out"}
    rule = _gradient(name, grad, takes, settings)
    sheet = {
        "formula": Formula(text, ("x", *settings)),
        "inplace": {"out": "data"},
        "unchanged": {"out": "data"} if text == "x" else {},
        "backward": (rule,),
        "saves": _saved([rule], ("data", "out")),
        "differentiable": rule is not None,
        "declared_in": _caller(),
        **(facts or {}),
    }
    doc = f"{doc}\n\ny = {text}; data: any shape; out: the same shape."
    return _enter(Pointwise, (name, *aliases), doc, sheet, settings)


def binary(
    name: str,
    text: str,
    *aliases: str,
    doc: str,
    grads: tuple[str, str] | None = None,
    facts: dict[str, Any] | None = None,
) -> type[Pointwise]:
    """Register an operator of two inputs, a and b in the formula; its output is z.

    grads: the formulas of da and db, with dz, a, b and z; None: no gradient flows. The
    rest as for `unary`. Inputs are called lhs and rhs, as in MXNet.
    """
    takes = {"dz": "", "a": "lhs", "b": "rhs", "z": "out"}
    left, right = grads or (None, None)
    rules = (
        _gradient(f"{name}_lhs", left, takes, {}),
        _gradient(f"{name}_rhs", right, takes, {}),
    )
    sheet = {
        "formula": Formula(text, ("a", "b")),
        "inputs": ("lhs", "rhs"),
        "inplace": {"out": ("lhs", "rhs")},
        "backward": rules,
        "saves": _saved(rules, ("lhs", "rhs", "out")),
        "differentiable": grads is not None,
        "declared_in": _caller(),
        "casting": WIDEST,
        **(facts or {}),
    }
    doc = f"{doc}\n\nz = {text}; lhs, rhs: shapes that stretch to the shape of out."
    return _enter(Pointwise, (name, *aliases), doc, sheet, {})
