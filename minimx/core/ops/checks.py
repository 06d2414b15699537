"""What many data sheets require of their inputs, and the error if that is not so."""

from __future__ import annotations

from minimx.core.dtypes import is_float
from minimx.core.errors import DTypeError, ShapeError
from minimx.core.ops.settings import shown
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape


def same_reals(op: str, names: tuple[str, ...], *specs: Spec) -> None:
    """Refuse inputs that are not all of one floating-point type.

    op is the operator's name, for the error; names: of the inputs, in the order of
    specs. Raises DTypeError that names the two inputs that differ.
    """
    first = specs[0]
    if not is_float(first.dtype):
        raise DTypeError(
            f"{op}: {names[0]} is {first.dtype.name}, and this operator computes in "
            f"floating point. Convert it with .astype('float32')."
        )
    for name, spec in zip(names, specs, strict=False):
        if spec.dtype != first.dtype:
            raise DTypeError(
                f"{op}: {names[0]} is {first.dtype.name} and {name} {spec.dtype.name}; "
                f"one operator computes in one type. Convert one of them, for example "
                f"with .astype('{first.dtype.name}')."
            )


def expect(op: str, name: str, spec: Spec, wanted: Shape, why: str) -> None:
    """Refuse an input that has not the `wanted` shape.

    op, name: of the operator and the input; why: what asks for that shape, as the
    subject of a sentence ("data (8, 3, 32, 32) with kernel=(3, 3)"). Raises ShapeError.
    """
    if spec.shape != wanted:
        raise ShapeError(
            f"{op}: {name} is {spec.shape}, but {why} asks for {wanted}. "
            f"Give {name} that shape, or rebuild the layer."
        )


def check_sizes(op: str, specs: tuple[Spec, ...]) -> None:
    """Refuse outputs that cannot be: axes of negative length, bytes beyond 64 bits."""
    for spec in specs:
        if min(spec.shape, default=0) < 0 or spec.nbytes >= 1 << 63:
            raise ShapeError(
                f"{op}: an output of the shape {shown(spec.shape)} cannot be. Check "
                "the settings, and the shapes of the inputs."
            )
