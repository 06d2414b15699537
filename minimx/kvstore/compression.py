"""Gradient compression: what is asked for, and packing on the engine.

A `Compression` belongs to a store. It keeps the residuals, one for each key and sender,
and turns gradients into packed arrays and back:

    packed = compression.pack(key, sender, gradient)     # uint8, 1/16 of the bytes
    compression.unpack(packed, out)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

import minimx.nd as nd
from minimx.core import engine
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError, DTypeError, did_you_mean
from minimx.core.ops.spec import Cost

#: How many float32 numbers one 32-bit word holds.
NUMBERS_IN_A_WORD: Final = {"2bit": 16, "1bit": 32}


def packed_bytes(kind: str, elements: int) -> int:
    """The bytes of a packed gradient: whole words.

    >>> packed_bytes("2bit", 100), packed_bytes("1bit", 100)
    (28, 16)
    """
    return 4 * -(-elements // NUMBERS_IN_A_WORD[kind])


class Compression:
    """What `set_gradient_compression` was given, and the residuals since then.

    params: `type` (2bit or 1bit) and `threshold` (by default 0.5): 2bit sends it, so it
        is above 0; for 1bit it says from where on a number counts as 1, not as -1.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.kind, self.threshold = _checked(params)
        self._residuals: dict[tuple[Any, Any], NDArray] = {}

    def __repr__(self) -> str:
        return f"{self.kind} with threshold {self.threshold:g}"

    def pack(self, key: Any, sender: Any, gradient: NDArray) -> NDArray:
        """The gradient in few bits, uint8 (n,), on its device.

        sender: whose residual is used. Raises `DTypeError` unless the gradient is dense
        and float32.
        """
        self._check(key, gradient)
        at = gradient.context
        residual = self._residuals.get((key, sender))
        if residual is None or residual.context is not at:
            residual = nd.zeros(gradient.shape, ctx=at)
            self._residuals[key, sender] = residual
        size = packed_bytes(self.kind, gradient.size)
        packed = nd.empty((size,), ctx=at, dtype="uint8")
        kernel, threshold = self._kernel("pack"), np.float32(self.threshold)

        def run() -> None:
            flat = (x.view().reshape(-1) for x in (gradient, residual))
            kernel(*flat, threshold, packed.view())

        writes = [residual.chunk, packed.chunk]
        cost = Cost(3 * gradient.size, 3 * gradient.spec.nbytes + size)
        name = f"Quantize{self.kind}"
        engine.push(run, at, [gradient.chunk], writes, name, cost=cost)
        return packed

    def unpack(self, packed: NDArray, out: NDArray) -> None:
        """Fill `out`, float32, with the numbers that a packed gradient stands for."""
        kernel, threshold = self._kernel("unpack"), np.float32(self.threshold)

        def run() -> None:
            kernel(packed.view(), threshold, out.view().reshape(-1))

        cost = Cost(out.size, packed.size + out.spec.nbytes)
        name = f"Dequantize{self.kind}"
        engine.push(run, out.context, [packed.chunk], [out.chunk], name, cost=cost)

    def _kernel(self, what: str) -> Any:
        from minimx.kvstore import packing  # imports numba

        return getattr(packing, what + self.kind[0])

    def _check(self, key: Any, gradient: NDArray) -> None:
        if gradient.stype != "default" or gradient.dtype != np.float32:
            raise DTypeError(
                f"the gradient of {key!r} is {np.dtype(gradient.dtype)} and stored as "
                f"{gradient.stype}; compression takes dense float32. Leave "
                "compression_params away, or train in float32."
            )


def _checked(params: Mapping[str, Any]) -> tuple[str, float]:
    known = ("type", "threshold")
    for name in params:
        if name not in known:
            raise ArgumentError(
                f"set_gradient_compression has no setting {name!r}; it has type and "
                f"threshold.{did_you_mean(name, known)}"
            )
    kind = params.get("type", "")
    if kind not in NUMBERS_IN_A_WORD:
        raise ArgumentError(
            f"set_gradient_compression: type is '2bit' or '1bit', not {kind!r}."
        )
    try:
        threshold = float(params.get("threshold", 0.5))
    except (TypeError, ValueError):
        threshold = np.nan
    if not np.isfinite(threshold) or (kind == "2bit" and threshold <= 0):
        above = " above 0" if kind == "2bit" else ""
        raise ArgumentError(
            f"set_gradient_compression: threshold is a number{above}, not "
            f"{params['threshold']!r}."
        )
    return kind, threshold
