"""A convolution or dense layer and what follows it in one operator, for prediction.

The backends ONEDNN and ONEDNN_QUANTIZE put them into graphs. With `quantized`, data and
what is added are integers of eight bits. The weights stay real numbers: a normalization
is folded into them, and each filter is rounded to integers with levels of its own, so
that one filter with large weights does not make those of all others coarse. A graph
remembers the integers until a parameter is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar
from weakref import WeakKeyDictionary, ref

import numpy as np

from minimx.core.dtypes import FLOAT32, DType
from minimx.core.errors import OperatorError
from minimx.core.operators.conv import Convolution
from minimx.core.operators.matmul import FullyConnected
from minimx.core.ops.checks import expect
from minimx.core.ops.registry import Kernel, register, with_settings
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Shape
from minimx.operators.quantized.base import (
    INT8,
    RANGE,
    TOP,
    UINT8,
    Narrowed,
    ends_of,
    level,
    rounded,
    rows,
)
from minimx.operators.quantized.products import Sums

#: The parameters of a normalization.
NORM = ("gamma", "beta", "moving_mean", "moving_var")
PARAMETERS = {"weight", "bias", *NORM}
Kept = tuple[Mapping[str, Any], Any] | None


@with_settings
class _Fused(Narrowed):
    """What both have in common."""

    no_bias: bool = False
    with_act: bool = False
    quantized: bool = False
    training: bool = False

    all_inputs: ClassVar[Any] = (
        *("data", "weight", "bias"), *NORM, "sum", *ends_of("data", "sum"),
    )  # fmt: skip
    multiplies = False
    # Settings of the convolution, as a dense layer has them.
    with_bn = with_sum = with_postsum_act = False
    eps, fix_gamma = 1e-3, True

    @property
    def visible(self) -> int:  # type: ignore[override]
        """Integers come with a range."""
        return 3 if self.quantized else 1

    @property
    def inputs(self) -> tuple[str, ...]:
        """Arrays and parameters, and the ranges of the integers."""
        bias = () if self.no_bias else ("bias",)
        more = (*(NORM if self.with_bn else ()), *["sum"] * self.with_sum)
        return ("data", "weight", *bias, *more, *ends_of(*self.kinds))

    @property
    def state_inputs(self) -> tuple[str, ...]:
        """Those of the normalization."""
        return NORM[2:] if self.with_bn else ()

    @property
    def kinds(self) -> Mapping[str, DType | None]:  # type: ignore[override]
        """Which inputs are integers."""
        words = ("data", "sum") if self.with_sum else ("data",)
        return dict.fromkeys(words if self.quantized else ())

    def first_type(self, data: DType | None) -> DType:
        """Without a sign where relu comes last."""
        if not self.quantized:
            return FLOAT32
        bent = self.with_postsum_act if self.with_sum else self.with_act
        return UINT8 if bent else INT8

    def plain(self, no_bias: bool) -> Any:
        """The operator on real numbers that does the work."""
        raise NotImplementedError

    def filters(self) -> int:
        """How many rows the weight has."""
        raise NotImplementedError

    def complete(self, data: Spec) -> dict[str, Shape]:
        """The parameters."""
        shapes: dict[str, Shape] = self.plain(self.no_bias).complete(data)
        shapes |= dict.fromkeys(NORM if self.with_bn else (), (self.filters(),))
        return shapes | dict.fromkeys(ends_of(*self.kinds), (1,))

    def infer(self, *specs: Spec) -> Any:
        """The shape of the operator on real numbers."""
        if self.training and not self.quantized:
            raise OperatorError(
                f"{self.name} was made for prediction: it has no gradient, and takes "
                "the moving mean and variance. Train the network that was there before "
                "optimize_for."
            )
        self.check(*specs)
        named = dict(zip(self.inputs, specs, strict=True))
        count = 2 if self.no_bias else 3
        reals = [spec.with_dtype(FLOAT32) for spec in specs[:count]]
        out = self.plain(self.no_bias).infer(*reals)
        for word in NORM if self.with_bn else ():
            expect(self.name, word, named[word], (self.filters(),), "the weight")
        if self.with_sum:
            expect(self.name, "sum", named["sum"], out.shape, "the output")
        return (out.with_dtype(self.first_type(None)), RANGE, RANGE)[: self.visible]

    def compute(self, *specs: Spec) -> Kernel:
        """On integers or on real numbers."""
        return self._on_integers(*specs) if self.quantized else self._on_reals(*specs)

    def scratch(self, *specs: Spec) -> int:
        """What the operator on real numbers asks for."""
        if self.quantized:
            return int(Sums(self.plain(True), *specs[:2]).nbytes)
        return int(self.plain(False).scratch(specs[0]))

    def folded(self, named: Mapping[str, Any]) -> tuple[Any, Any]:
        """Weight and bias with the normalization in them."""
        weight, bias = named["weight"], named.get("bias", np.float32(0))
        if not self.with_bn:
            return weight, np.broadcast_to(bias, weight.shape[:1])
        gamma, beta, mean, variance = (named[word] for word in NORM)
        scale = 1 / np.sqrt(variance + np.float32(self.eps))
        scale = scale if self.fix_gamma else scale * gamma
        return weight * _column(scale, weight), beta + (bias - mean) * scale

    def finish(self, out: Any, more: Any) -> None:
        """relu, the sum, and relu again, as far as they are there."""
        if self.with_act:
            np.maximum(out, 0, out=out)
        if more is not None:
            out += more
            if self.with_postsum_act:
                np.maximum(out, 0, out=out)

    def _on_reals(self, *specs: Spec) -> Kernel:
        plain, words = self.plain(False), self.inputs
        weight = specs[1]
        run = plain.compute(specs[0], weight, weight.with_shape(weight.shape[:1]))

        def kernel(*arrays: Any) -> None:
            named = dict(zip(words, arrays, strict=False))
            out, *workspace = arrays[len(words) :]
            weight, bias = self.folded(named)
            run(arrays[0], weight, np.ascontiguousarray(bias), out, *workspace)
            self.finish(out, named.get("sum"))

        return kernel

    def _on_integers(self, *specs: Spec) -> Kernel:
        words, measured = self.inputs, self.measured
        sums = Sums(self.plain(True), *specs[:2])

        def kernel(*arrays: Any, kept: Kept = None) -> None:
            named = dict(zip(words, arrays, strict=False))
            out, first, last, workspace = arrays[len(words) :]
            data = arrays[0]
            make = partial(self._as_integers, named)
            parts = make() if kept is None else _remembered(make, named, *kept)
            weight, steps, bias = parts
            found = sums(data, weight, workspace)
            one = level(data.dtype, named["min_data"], named["max_data"])
            axes = (-1,) + (1,) * (specs[1].ndim - 2)
            found = found.astype(np.float32, copy=False)
            found *= (one * steps).reshape(axes)
            found += bias.reshape(axes)
            more = named.get("sum")
            if more is not None:
                more = more * level(more.dtype, named["min_sum"], named["max_sum"])
            self.finish(found, more)
            first[0], last[0] = measured or (found.min(), found.max())
            step = level(out.dtype, first, last)
            rounded(found / step if step else found, out)

        def for_arrays(arrays: Mapping[int, Any], step: Any) -> Kernel:
            given = {words[k]: x.chunk for k, x in arrays.items() if k < len(words)}
            chunks = {word: given[word] for word in PARAMETERS & given.keys()}
            return partial(kernel, kept=(chunks, step))

        kernel.for_arrays = for_arrays  # type: ignore[attr-defined]
        return kernel

    def _as_integers(self, named: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """The weight as integers, the level of each filter, and the bias."""
        weight, bias = self.folded(named)
        steps = self.steps(weight)
        whole = np.rint(weight / _column(steps, weight)).astype(np.int8)
        return whole, steps, np.array(bias)

    def steps(self, weight: Any) -> Any:
        """The real number that the integer 1 stands for, for each filter."""
        largest = np.abs(weight.reshape(len(weight), -1)).max(axis=1)
        return np.where(largest > 0, largest, 1) / np.float32(TOP["int8"])

    def cost(self, *specs: Spec) -> Cost:
        """That of the operator on real numbers."""
        out = self.infer(*specs)[0]
        moved = sum(spec.nbytes for spec in specs) + out.nbytes
        return Cost(2 * out.size * rows(specs[1]), moved)


#: By step of a graph: what its parameters became, and of which versions of them.
_kept: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()


def _remembered(
    make: Callable[[], Any],
    named: Mapping[str, Any],
    chunks: Mapping[str, Any],
    step: Any,
) -> Any:
    """What parameters become, until one of them is written, or lies elsewhere.

    named: arrays; chunks: the memory that they are in, which counts writes; where it is
    shared with another library it does not, and nothing is kept. step: of a graph.
    """
    words = PARAMETERS & named.keys()
    if words != chunks.keys() or min(chunk.version for chunk in chunks.values()) < 0:
        return make()
    key = {
        word: (ref(chunk), chunk.version, named[word].ctypes.data)
        for word, chunk in chunks.items()
    }
    known = _kept.get(step)
    if known is None or known[0] != key:
        known = _kept[step] = key, make()
    return known[1]


def _column(values: Any, weight: Any) -> Any:
    """A number for each filter, so that it stretches over its weights."""
    return values.reshape((-1,) + (1,) * (weight.ndim - 1))


@register("_sg_mkldnn_conv", "_sg_onednn_conv")
class FusedConvolution(_Fused, Convolution):
    """Convolution, BatchNorm, relu, a sum and relu in one operator, for prediction.

    data, weight, bias: as in Convolution, of float32; with_bn: gamma, beta,
    moving_mean, moving_var (num_filter,); with_sum: sum, of the shape of out
    out: as in Convolution; with_act: relu before the sum, with_postsum_act: after it

    quantized: data and sum are int8 or uint8, with a range each, two arrays (1,) of
    float32. outs are then uint8 if relu comes last, else int8, and their range:
    min_calib_range and max_calib_range if they were measured, else that of the numbers.
    eps, fix_gamma: as in BatchNorm; all else as in Convolution. `training` is internal.
    No gradient. Raises OperatorError in training, DTypeError and ShapeError for other
    inputs.
    """

    with_bn: bool = False
    with_sum: bool = False
    with_postsum_act: bool = False
    eps: float = 1e-3
    fix_gamma: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.with_postsum_act and not self.with_sum:
            raise OperatorError(
                f"{self.name}: with_postsum_act is relu after a sum; set with_sum too, "
                "or take with_act."
            )

    def plain(self, no_bias: bool) -> Any:
        """The convolution; of integers without transforms, which would round."""
        words = Convolution.of(kernel=(1,), num_filter=1).settings
        settings = {word: self.settings[word] for word in words}
        off = self.quantized or self.cudnn_off
        return Convolution.of(**{**settings, "no_bias": no_bias, "cudnn_off": off})

    def filters(self) -> int:
        """The filters of the convolution."""
        return self.num_filter


@register("_sg_mkldnn_fully_connected", "_sg_onednn_fully_connected")
class FusedFullyConnected(_Fused, FullyConnected):
    """FullyConnected and relu in one operator, for prediction.

    data, weight, bias: as in FullyConnected, of float32; out: as there; with_act: relu

    quantized: data is int8 or uint8, with a range, min_data and max_data (1,) float32.
    outs are then uint8 with relu, else int8, and their range: min_calib_range and
    max_calib_range if they were measured, else that of the numbers.
    channel_wise_quantize: each output has levels of its own for its weights, else all
    have the same. `training` is internal. No gradient. Raises OperatorError in
    training, DTypeError and ShapeError for other inputs.
    """

    channel_wise_quantize: bool = False

    def plain(self, no_bias: bool) -> Any:
        """The dense layer."""
        words = FullyConnected.of(num_hidden=1).settings
        settings = {word: self.settings[word] for word in words}
        return FullyConnected.of(**{**settings, "no_bias": no_bias})

    def filters(self) -> int:
        """The outputs of the layer."""
        return self.num_hidden

    def steps(self, weight: Any) -> Any:
        """One level for all, or one for each output."""
        found = super().steps(weight)
        if self.channel_wise_quantize:
            return found
        largest = np.float32(np.abs(weight).max(initial=0)) or np.float32(1)
        return np.full_like(found, largest / np.float32(TOP["int8"]))
