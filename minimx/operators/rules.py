"""Rules that many data sheets share, as functions that they take for methods.

    kernel = computed_by("places.ravel", "shape")    # find("places.ravel")(self.shape)
    return kernel_of("places.slice_fill", key, 0.0)  # find("places.slice_fill")(key, 0)
    return with_half(run, specs)                     # half precision as single
    one_of(self, "mode", "edge", "reflect")          # or an error that says so
    infer = like_first                               # out: the spec of the first input
    cost = per_element(4, 3)                         # flops, arrays read and written

Rules for shapes that are only partly known are in `core/ops/deduction.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minimx.core.dtypes import NARROW
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.kernels.half import in_single
from minimx.core.ops import Kernel, Op, Value
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import normalize_axis

#: What `grad` gives: for each input its gradient; None where there is none.
Gradients = Sequence[Value | None]

_PREFIXES = ("_linalg_", "_contrib_", "_image_", "_npi_", "_np_", "_")


def short_name(op: Any) -> str:
    """The name of an operator without MXNet's prefix: `det` for `_linalg_det`."""
    name = str(op.name)
    return name.removeprefix(next((p for p in _PREFIXES if name.startswith(p)), ""))


def kernel_of(name: str, *settings: Any) -> Kernel:
    """The kernel that the function `name`, as `file.function`, makes of settings."""
    made: Kernel = find(name)(*settings)
    return made


def computed_by(name: str, *settings: str) -> Callable[..., Kernel]:
    """A sheet's `kernel`: the function `name`, as `file.function`.

    A name that ends in a dot goes on with the operator's own, see `short_name`.
    settings: names of settings. With some, the function takes their values and returns
    the kernel; without, it is the kernel.
    """

    def kernel(op: Any, *specs: Spec) -> Kernel:
        full = name + short_name(op) if name.endswith(".") else name
        if settings:
            return kernel_of(full, *[getattr(op, setting) for setting in settings])
        found: Kernel = find(full)
        return found

    return kernel


class Draws(Op):
    """An operator that draws random numbers, and through which no gradient flows."""

    needs_rng = True
    deterministic = False
    differentiable = False


def with_half(run: Kernel, specs: Sequence[Spec]) -> Kernel:
    """The kernel; with inputs in half precision, it computes in single precision.

    specs: of all inputs, which the kernel only reads.
    """
    half = any(spec.dtype in NARROW for spec in specs)
    return in_single(run, len(specs)) if half else run


def different_axes(op: Any, ndim: int) -> tuple[int, int]:
    """The settings `axis1` and `axis2`, counted from the front; ShapeError if equal."""
    name = short_name(op)
    one, two = (normalize_axis(name, axis, ndim) for axis in (op.axis1, op.axis2))
    if one == two:
        raise ShapeError(
            f"{name}: axis1={op.axis1} and axis2={op.axis2} are one axis; a diagonal "
            "runs along two."
        )
    return one, two


def one_of(op: Any, setting: str, *known: str) -> None:
    """Raise OperatorError unless a setting is one of the words `known`."""
    value = getattr(op, setting)
    if value not in known:
        words = ", ".join(known)
        raise OperatorError(
            f"{short_name(op)}: {setting}={value!r} is not known; choose {words}."
        )


def like_first(op: Any, *specs: Spec) -> Spec:
    """The spec of the first input."""
    return specs[0]


def given_shape(op: Any, *specs: Spec) -> Spec:
    """The setting `shape`, in the element type of the first input."""
    return specs[0].with_shape(op.shape)


def per_element(flops: int, arrays: int) -> Callable[..., Cost]:
    """A sheet's `cost`: so many operations for each element of the first input.

    arrays: how many arrays of its size are read and written.
    """

    def cost(op: Any, *specs: Spec) -> Cost:
        return Cost(flops * specs[0].size, arrays * specs[0].nbytes)

    return cost
