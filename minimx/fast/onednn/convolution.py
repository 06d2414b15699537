"""Convolutions by oneDNN, where it is installed (`minimx.fast.onednn.library`).

    offered(direction, at, dtype)     an `Offer`, or None where there is none
    kernel(offer)                     the kernel that takes it up

It takes images in layouts of its own: a kernel copies in, computes, and copies back, in
the workspace that it was given. How it shares a weight's gradient among threads is its
own affair. Arrays of bfloat16 it takes as they are, if the processor can multiply them.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_void_p
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from minimx.core.errors import MXNetError
from minimx.core.kernels.threads import count
from minimx.fast.onednn.library import (
    ALIGNMENT,
    BIAS,
    DST,
    SCRATCHPAD,
    SRC,
    WEIGHTS,
    Library,
    Owner,
    aligned,
    library,
    loaded,
    numbers,
    primitives,
    team,
)

if TYPE_CHECKING:
    from minimx.core.kernels.convolution import Geometry

__all__ = ["ARGUMENTS", "Offer", "kernel", "library", "missing", "offered"]

_TRAINING, _INFERENCE, _DIRECT = 64, 96, 1
# The arguments of a primitive, and where a description tells their layouts.
DIFF_SRC, DIFF_DST, DIFF_WEIGHTS, DIFF_BIAS = 129, 145, 161, 169
FROM, TO = 1, 17
_LAYOUT = {SRC: 129, DIFF_SRC: 130, WEIGHTS: 131, DIFF_WEIGHTS: 132, DST: 133}
_LAYOUT[DIFF_DST] = 134
#: What each direction reads and what it writes.
ARGUMENTS = {
    "forward": ((SRC, WEIGHTS, BIAS), (DST,)),
    "data": ((DIFF_DST, WEIGHTS), (DIFF_SRC,)),
    "weight": ((DIFF_DST, SRC), (DIFF_WEIGHTS, DIFF_BIAS)),
}


def missing(dtype: str = "float32") -> str:
    """Why nothing is offered."""
    found = loaded()
    if found is None:
        return "oneDNN is not installed: pip install 'minimx[onednn]'"
    if dtype == "bfloat16" and not found.bfloat16:
        return "the processor has no instruction for bfloat16"
    return "oneDNN does not know this shape"


def offered(direction: str, at: Geometry, dtype: str = "float32") -> Offer | None:
    """The convolution as oneDNN would compute it; None without oneDNN."""
    return offers(direction, at, dtype, team(at.products))


@lru_cache(maxsize=1024)
def offers(direction: str, at: Geometry, dtype: str, threads: int) -> Offer | None:
    dnnl = loaded()
    if dnnl is None or min(at.pad_h, at.pad_w) < 0 or not at.images:
        return None
    if dtype == "bfloat16" and not dnnl.bfloat16:
        return None
    try:
        return Offer(dnnl, direction, at, dtype, threads)
    except MXNetError:  # it does not know this shape
        return None


class Offer:
    """One direction of a convolution; nbytes: of the workspace that it takes.

    What it takes to compute is prepared when it is first run, and again when it was
    dropped meanwhile: see `dnnl.primitives`.
    """

    def __init__(
        self, dnnl: Library, direction: str, at: Geometry, dtype: str, threads: int
    ) -> None:
        self.reads, self.writes = ARGUMENTS[direction]
        self._make = partial(Prepared, dnnl, direction, at, dtype)
        self._key = "convolution", direction, at, dtype
        self._threads = threads
        self.dtype = dtype
        self.nbytes = self._make(threads).nbytes

    def run(self, arrays: dict[int, Any], workspace: Any) -> None:
        """Compute; arrays: contiguous, of the type offered, by their argument."""
        number = min(self._threads, count())  # 1 after a fork
        make = partial(self._prepared, number)
        ready = primitives.take((*self._key, number), make)
        if number != self._threads:
            workspace = aligned(ready.nbytes)
        ready.run(arrays, workspace)

    def _prepared(self, threads: int) -> Prepared:
        made = self._make(threads)
        made.prepare()
        return made


class Prepared(Owner):
    """One direction of a convolution: a plan, and the primitives that carry it out."""

    def __init__(
        self, dnnl: Library, direction: str, at: Geometry, dtype: str, threads: int
    ) -> None:
        super().__init__(dnnl, threads)
        self.reads, self.writes = ARGUMENTS[direction]
        self._types = types_of(dtype)
        self._plain = {
            arg: self.ours(dims, self._types[arg])
            for arg, dims in shapes_of(at).items()
        }
        self._pd = self._described(direction, at)
        self._code: dict[int, c_void_p] = {}
        # By argument: the layout within, the description of the copy, where it lies.
        self._inner: dict[int, tuple[c_void_p, c_void_p, int]] = {}
        self.nbytes = 0
        for arg in (*self.reads, *self.writes):
            if arg in _LAYOUT:
                self._lay(arg, dnnl.layout(self._pd, _LAYOUT[arg]))
        self._scratch = self.scratch(self._pd)
        self._scratch_at = self._take(dnnl.size(self._scratch))

    def prepare(self) -> None:
        """Let oneDNN write the code."""
        self._code = {
            arg: self.primitive(pd) for arg, (_, pd, _) in self._inner.items()
        }
        self._main = self.primitive(self._pd)

    def _take(self, nbytes: int) -> int:
        begin = self.nbytes
        self.nbytes += -(-nbytes // ALIGNMENT) * ALIGNMENT
        return begin

    def _lay(self, arg: int, wanted: c_void_p) -> None:
        """Plan a copy to or from oneDNN's own layout, where it is another one."""
        plain = self._plain[arg]
        if self._dnnl.same(plain, wanted):
            return
        ends = (wanted, plain) if arg in self.writes else (plain, wanted)
        engine = self._dnnl.engine
        pd = self.description("reorder", ends[0], engine, ends[1], engine, None)
        self._inner[arg] = wanted, pd, self._take(self._dnnl.size(wanted))

    def run(self, arrays: dict[int, Any], workspace: Any) -> None:
        """Compute; arrays: contiguous, by their argument."""
        base = workspace.ctypes.data if self.nbytes else 0
        outside = {
            arg: self.memory(("plain", arg), self._plain[arg], array.ctypes.data)
            for arg, array in arrays.items()
        }
        inside = dict(outside)
        for arg, (layout, _, place) in self._inner.items():
            inside[arg] = self.memory(arg, layout, base + place)
        for arg in self.reads:
            if arg in self._inner:
                self.execute(self._code[arg], {FROM: outside[arg], TO: inside[arg]})
        scratch = self.memory(SCRATCHPAD, self._scratch, base + self._scratch_at)
        self.execute(self._main, {**inside, SCRATCHPAD: scratch})
        for arg in self.writes:
            if arg in self._inner:
                self.execute(self._code[arg], {FROM: inside[arg], TO: outside[arg]})
        self.wait()

    def _described(self, direction: str, at: Geometry) -> c_void_p:
        """The description of a convolution; that of gradients needs the forward one."""
        shapes, engine = shapes_of(at), self._dnnl.engine
        free = {
            arg: self.any_layout(dims, self._types[arg])
            for arg, dims in shapes.items()
            if len(dims) > 1
        }
        bias, attr = self._plain[BIAS], self.attributes()
        ends: tuple[c_void_p, ...] = free[SRC], free[WEIGHTS], bias, free[DST]
        name, steps = "convolution_forward", steps_of(at)
        whole = self._types[DST] == "int32"
        settings = engine, _INFERENCE if whole else _TRAINING, _DIRECT
        pd = self.description(name, *settings, *ends, *steps, attr)
        if direction == "forward":
            return pd
        if direction == "data":
            ends = free[DIFF_SRC], free[WEIGHTS], free[DIFF_DST]
        else:
            ends = free[SRC], free[DIFF_WEIGHTS], bias, free[DIFF_DST]
        word = {"data": "data", "weight": "weights"}[direction]
        name = f"convolution_backward_{word}"
        return self.description(name, engine, _DIRECT, *ends, *steps, pd, attr)


def types_of(dtype: str) -> dict[int, str]:
    """The type of every argument; products of integers have sums of 32 bits."""
    found = dict.fromkeys(_LAYOUT, dtype) | {BIAS: dtype, DIFF_BIAS: dtype}
    if dtype in ("int8", "uint8"):
        found |= {WEIGHTS: "int8", BIAS: "int32", DST: "int32"}
    return found


def steps_of(at: Geometry) -> tuple[Any, ...]:
    """Strides, dilates, and the pads in front and behind."""
    below = [
        (out - 1) * stride + dilate * (kernel - 1) + 1 - size - pad
        for out, stride, dilate, kernel, size, pad in (
            (at.out_h, at.stride_h, at.dilate_h, at.kernel_h, at.height, at.pad_h),
            (at.out_w, at.stride_w, at.dilate_w, at.kernel_w, at.width, at.pad_w),
        )
    ]
    return (
        numbers((at.stride_h, at.stride_w)),
        numbers((at.dilate_h - 1, at.dilate_w - 1)),
        numbers((at.pad_h, at.pad_w)),
        numbers(below),
    )


def shapes_of(at: Geometry) -> dict[int, tuple[int, ...]]:
    """The shape of every argument; a weight of groups has an axis for them."""
    data = at.images, at.channels, at.height, at.width
    out = at.images, at.filters, at.out_h, at.out_w
    weight: tuple[int, ...] = at.filters, at.channels, at.kernel_h, at.kernel_w
    if at.groups > 1:
        filters, channels = at.filters // at.groups, at.channels // at.groups
        weight = at.groups, filters, channels, at.kernel_h, at.kernel_w
    bias = (at.filters,)
    return {
        SRC: data,
        DIFF_SRC: data,
        DST: out,
        DIFF_DST: out,
        WEIGHTS: weight,
        DIFF_WEIGHTS: weight,
        BIAS: bias,
        DIFF_BIAS: bias,
    }


def kernel(offer: Offer) -> Callable[..., None]:
    """`kernel(*arrays, workspace)`: the arrays in the order of `conv`'s kernels."""

    def run(*args: Any) -> None:
        *arrays, workspace = args if offer.nbytes else (*args, None)
        order = (*offer.reads, *offer.writes)
        named = dict(zip(order, arrays, strict=True))
        for arg in (BIAS, DIFF_BIAS):
            if arg in named and named[arg] is None:
                filters = named[DST if arg == BIAS else DIFF_DST].shape[1]
                named[arg] = np.zeros(filters, arrays[0].dtype)
        offer.run(named, workspace)

    return run
