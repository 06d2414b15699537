"""Data sheets for several element types: casts, scaled losses, looking for overflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from minimx.core.dtypes import (
    FLOAT32,
    FLOAT64,
    LAYOUTS,
    POWERS,
    DType,
    is_float,
    resolve,
)
from minimx.core.errors import DTypeError, OperatorError
from minimx.core.kernels import find
from minimx.core.ops import GradContext, Kernel, Op, Types, Value, bind, register
from minimx.core.ops.casting import EITHER
from minimx.core.ops.deduction import all_alike, first_is_out
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Deduced, Opens, merge
from minimx.operators.arrays.mixed import Cast
from minimx.operators.rules import Gradients, computed_by, like_first


@register("amp_cast")
class AmpCast(Op):
    """Convert floating-point numbers to `dtype`, for mixed precision.

    data: any shape; out: the same shape, of type `dtype` if data are floating-point
    numbers, else of its own. The gradient is converted back.
    """

    dtype: str
    unchanged = {"out": "data"}
    deduce = first_is_out

    def infer(self, *specs: Spec) -> Spec:
        """The wanted type where the input is real."""
        (data,) = specs
        return data.with_dtype(resolve(self.dtype)) if is_float(data.dtype) else data

    def kernel(self, *specs: Spec) -> Kernel:
        """A conversion."""
        return Cast.of(dtype=self.infer(*specs).dtype.name).kernel(*specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Convert back."""
        return _back(at, (dout,))


def _back(at: GradContext, douts: Sequence[Value]) -> list[Value | None]:
    grads: list[Value | None] = []
    for spec, dout in zip(at.ins, douts, strict=True):
        real = is_float(spec.dtype)
        grads.append(bind(AmpCast.of(dtype=spec.dtype.name), dout) if real else None)
    return grads


# -- losses ----------------------------------------------------------------------------


class LossScale:
    """What the losses of this moment are multiplied by; set by `amp.scale_loss`.

    now: read when a gradient is computed, which may be later than when it is asked for.
    used: whether anybody asked for it.
    """

    now = 1.0
    used = False


loss_scale: Final = LossScale()


@register("_amp_scaled_loss")
class ScaledLoss(Op):
    """The data as they are; their gradient is multiplied by the loss scale.

    data: any shape; out: the same shape. It stands in front of operators that are a
    loss and its gradient at once, and ignore the gradient that arrives.
    """

    casting = EITHER
    unchanged = {"out": "data"}
    deduce = all_alike
    inplace = {"out": "data"}

    infer = like_first

    def kernel(self, *specs: Spec) -> Kernel:
        """A copy, unless the output lies over the data."""
        return lambda data, out: np.copyto(out, data)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """The gradient times the scale of the moment."""
        loss_scale.used = True
        return (bind(ScaledLossGradient.of(), dout),)


@register("_backward_amp_scaled_loss")
class ScaledLossGradient(Op):
    """A gradient times the loss scale of the moment. data, out: one shape."""

    casting = EITHER
    deduce = all_alike
    inplace = {"out": "data"}
    deterministic = False
    differentiable = False

    infer = like_first

    def kernel(self, *specs: Spec) -> Kernel:
        """A product with a number that is looked up when it runs."""
        return lambda data, out: np.multiply(
            data, out.dtype.type(loss_scale.now), out=out
        )


# -- many arrays -----------------------------------------------------------------------


class Many(Op):
    """An operator on `num_arrays` arrays of any shapes."""

    variadic = True
    num_arrays: int = 1

    def check(self, specs: Sequence[Spec], wanted: int) -> None:
        """Refuse another number of arrays."""
        if len(specs) != wanted:
            raise OperatorError(
                f"{self.name}: {len(specs)} arrays were given and {wanted} announced."
            )


@register("amp_multicast")
class AmpMulticast(Many):
    """Give all floating-point inputs one type: the widest, or the narrowest among them.

    data: num_outputs arrays of any shapes; outs: the same shapes
    """

    num_outputs: int
    cast_narrow: bool = False

    @property
    def visible(self) -> int:  # type: ignore[override]
        """One output for each input."""
        return self.num_outputs

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """One type for all that are real."""
        self.check(specs, self.num_outputs)
        if not any(is_float(spec.dtype) for spec in specs):
            return specs
        common = self._common([spec.dtype for spec in specs])
        return tuple(s.with_dtype(common) if is_float(s.dtype) else s for s in specs)

    def _common(self, dtypes: Sequence[DType]) -> DType:
        """The type that all real ones get."""
        choose = min if self.cast_narrow else max
        real = [dtype for dtype in dtypes if is_float(dtype)]
        return choose(real, key=lambda dtype: dtype.itemsize)

    def deduce(self, ins: Opens, outs: Opens) -> Deduced:
        """Each output has the shape of its input."""
        pairs = zip(ins, outs, strict=True)
        both = [merge(self.name, first, last) for first, last in pairs]
        return both, list(both)

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """The outputs, once the inputs are known; nothing the other way."""
        known = [dtype for dtype in ins if dtype is not None]
        if len(known) < len(ins) or not any(map(is_float, known)):
            return ins, ins if len(known) == len(ins) else outs
        common = self._common(known)
        return ins, [common if is_float(dtype) else dtype for dtype in known]

    def kernel(self, *specs: Spec) -> Kernel:
        """One conversion after the other."""
        convert = find("widths.convert")

        def run(*arrays: Any) -> None:
            half = len(arrays) // 2
            for x, out in zip(arrays[:half], arrays[half:], strict=True):
                convert(x, out)

        return run

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """Convert back."""
        return _back(at, dout if isinstance(dout, tuple) else (dout,))


class Finite(Many):
    """1 if no element of any array is infinite or not a number, else 0."""

    differentiable = False
    init_output: bool = True

    def infer(self, *specs: Spec) -> Spec:
        """One number."""
        return Spec.of((1,), FLOAT32)

    def kernel(self, *specs: Spec) -> Kernel:
        """A look at every array until one is not finite."""
        fresh = self.init_output

        def run(*arrays: Any) -> None:
            *xs, out = arrays
            before = fresh or out[0] != 0
            out[0] = before and all(np.isfinite(x).all() for x in xs)

        return run

    def cost(self, *specs: Spec) -> Cost:
        """Every element is looked at."""
        return Cost(sum(s.size for s in specs), sum(s.nbytes for s in specs))


@register("all_finite")
class AllFinite(Finite):
    """1 if every element of data is a finite number, else 0. out (1,), float32.

    init_output=False: and if the array that out= names held 1 before.
    """

    variadic = False
    init_output: bool = True
    inputs = ("data",)


@register("multi_all_finite")
class MultiAllFinite(Finite):
    """1 if every element of every array is a finite number, else 0. out (1,), float32.

    init_output=False: and if the array that out= names held 1 before.
    """

    num_arrays: int = 1
    init_output: bool = True

    def infer(self, *specs: Spec) -> Spec:
        """One number."""
        self.check(specs, self.num_arrays)
        return super().infer(*specs)


@register("_exponents")
class Exponents(Many):
    """Count the numbers of each array by power of two; ours, for `mx.numerics`.

    data: num_arrays arrays of any shapes and real types. out (num_arrays, 283),
    float64, a row for each: how many are zero, infinite and NaN, the sum of the squares
    of all others, then a count for each power of `minimx.core.dtypes.POWERS`.
    """

    num_arrays: int = 1
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """A row for each array. Raises DTypeError for whole numbers."""
        self.check(specs, self.num_arrays)
        for spec in specs:
            if spec.dtype.name not in LAYOUTS:
                raise DTypeError(
                    f"_exponents: {spec.dtype.name} has no exponent. Cast to float32."
                )
        return Spec.of((len(specs), 4 + len(POWERS)), FLOAT64)

    def kernel(self, *specs: Spec) -> Kernel:
        """The bits of one array after the other."""
        count = find("exponents.count")
        layouts = [LAYOUTS[spec.dtype.name] for spec in specs]
        words = [np.dtype(f"u{spec.dtype.itemsize}") for spec in specs]

        def run(*arrays: Any) -> None:
            *xs, out = arrays
            for x, layout, word, row in zip(xs, layouts, words, out, strict=True):
                bits = np.ascontiguousarray(x).reshape(-1).view(word)
                count(bits, layout.fraction, (1 << layout.exponent) - 1, row)

        return run

    def cost(self, *specs: Spec) -> Cost:
        """Every element is looked at."""
        return Cost(2 * sum(s.size for s in specs), sum(s.nbytes for s in specs))


# -- many arrays at once ---------------------------------------------------------------


@register("reset_arrays")
class ResetArrays(Many):
    """Write zeros over all arrays, in one call; there is no output.

    data: num_arrays arrays of any shapes and types, which are changed in place. Raises
    OperatorError for another number of arrays.
    """

    num_arrays: int

    visible = 0
    differentiable = False

    def __post_init__(self) -> None:
        super().__post_init__()
        names = tuple(f"data{k}" for k in range(self.num_arrays))
        object.__setattr__(self, "inputs", names)
        object.__setattr__(self, "mutates", names)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Nothing comes out."""
        self.check(specs, self.num_arrays)
        return ()

    def kernel(self, *specs: Spec) -> Kernel:
        """Fills."""

        def run(*arrays: Any) -> None:
            for x in arrays:
                x.fill(0)

        return run


@register("multi_sum_sq")
class MultiSumSq(Many):
    """The sum of the squares of each array. data: num_arrays arrays; out (num_arrays,).

    out is float32.
    """

    num_arrays: int
    differentiable = False

    def infer(self, *specs: Spec) -> Spec:
        """A number for each array."""
        self.check(specs, self.num_arrays)
        return Spec.of((len(specs),), FLOAT32)

    def kernel(self, *specs: Spec) -> Kernel:
        """Sums in single precision, in double precision for float64."""

        def run(*arrays: Any) -> None:
            *xs, out = arrays
            for k, x in enumerate(xs):
                wide = x if x.dtype == np.float64 else x.astype(np.float32, copy=False)
                out[k] = np.square(wide).sum()

        return run

    def cost(self, *specs: Spec) -> Cost:
        """Two operations for each element."""
        return Cost(2 * sum(s.size for s in specs), sum(s.nbytes for s in specs))


@register("multi_lars")
class MultiLars(Op):
    """The learning rates of LARS: longer steps where the weight is large.

    lrs, weights_sum_sq, grads_sum_sq, wds, out (n,): one number for each layer
    out = lrs * eta * |w| / (|g| * rescale_grad + wds * |w| + eps), where |w| and |g|
    are positive; lrs elsewhere
    """

    eta: float
    eps: float
    rescale_grad: float = 1.0

    inputs = ("lrs", "weights_sum_sq", "grads_sum_sq", "wds")
    differentiable = False

    infer = like_first

    kernel = computed_by("updates.lars", "eta", "eps", "rescale_grad")
