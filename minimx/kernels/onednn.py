"""Convolutions by Intel's library oneDNN, where it is installed; through its C API.

    library()                     the file, or ""
    offered(direction, at)        a `Prepared` convolution, or None where there is none

`pip install 'minimx[onednn]'` brings it. It takes float32 images in layouts of its own:
a kernel copies in, computes, and copies back, in the workspace that it was given. How
it shares a weight's gradient among threads is its own affair.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.metadata
import threading
from collections.abc import Callable, Sequence
from ctypes import byref, c_int, c_int64, c_size_t, c_void_p
from functools import cache, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from minimx.errors import MXNetError

if TYPE_CHECKING:
    from minimx.kernels.convolution import Geometry

# Numbers of oneDNN 3's C API: kinds, data types, what to ask a description for.
_CPU, _IN_ORDER, _FLOAT, _ANY, _OURS = 1, 1, 3, 1, 1
_TRAINING, _DIRECT = 64, 1
_SCRATCHPAD_MD = 136
# The arguments of a primitive, and where a description tells their layouts.
SRC, DST, WEIGHTS, BIAS = 1, 17, 33, 41
DIFF_SRC, DIFF_DST, DIFF_WEIGHTS, DIFF_BIAS = 129, 145, 161, 169
FROM, TO, SCRATCHPAD = 1, 17, 80
_LAYOUT = {SRC: 129, DIFF_SRC: 130, WEIGHTS: 131, DIFF_WEIGHTS: 132, DST: 133}
_LAYOUT[DIFF_DST] = 134
#: What each direction reads and what it writes.
ARGUMENTS = {
    "forward": ((SRC, WEIGHTS, BIAS), (DST,)),
    "data": ((DIFF_DST, WEIGHTS), (DIFF_SRC,)),
    "weight": ((DIFF_DST, SRC), (DIFF_WEIGHTS, DIFF_BIAS)),
}
#: Buffers in the workspace begin at multiples of this.
_ALIGNMENT = 64


class _Argument(ctypes.Structure):
    _fields_ = (("arg", c_int), ("memory", c_void_p))


def library() -> str:
    """The file of the oneDNN library: of pip's package, else of the system, or ""."""
    for name in ("onednn-cpu-gomp", "onednn"):
        try:
            files = importlib.metadata.files(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in files:
            if "dnnl" in file.name and (".so" in file.name or file.suffix == ".dll"):
                return str(file.locate())
    return ctypes.util.find_library("dnnl") or ""


class _Library:
    """The loaded library and its engine for this processor."""

    def __init__(self, file: str) -> None:
        self._functions = ctypes.CDLL(file)
        self._local = threading.local()
        self.engine = c_void_p()
        self("engine_create", byref(self.engine), _CPU, c_size_t(0))

    def __call__(self, name: str, *args: Any) -> None:
        """Call a function; raises MXNetError with the status that it returns."""
        status = getattr(self._functions, f"dnnl_{name}")(*args)
        if status:
            raise MXNetError(f"oneDNN: dnnl_{name} returned status {status}.")

    @property
    def stream(self) -> c_void_p:
        """Where this thread's primitives run."""
        found: c_void_p | None = getattr(self._local, "stream", None)
        if found is None:
            found = self._local.stream = c_void_p()
            self("stream_create", byref(found), self.engine, _IN_ORDER)
        return found

    def layout(self, pd: Any, what: int) -> c_void_p:
        """The layout of an argument, as a description tells it."""
        query = self._functions.dnnl_primitive_desc_query_md
        query.restype, query.argtypes = c_void_p, (c_void_p, c_int, c_int)
        return c_void_p(query(pd, what, 0))

    def size(self, layout: c_void_p) -> int:
        """The bytes that an array of a layout takes."""
        ask = self._functions.dnnl_memory_desc_get_size
        ask.restype, ask.argtypes = c_size_t, (c_void_p,)
        return int(ask(layout))

    def same(self, one: c_void_p, other: c_void_p) -> bool:
        """Whether two layouts are equal."""
        return bool(self._functions.dnnl_memory_desc_equal(one, other))


@cache
def _loaded() -> _Library | None:
    """The library, if there is one that speaks this API."""
    file = library()
    if not file:
        return None
    try:
        found = _Library(file)
        found("memory_desc_destroy", _any(found, (1, 1)))
    except (OSError, AttributeError, MXNetError):
        return None  # an older or a broken one: the readable kernels do the work
    return found


def missing() -> str:
    """Why nothing is offered."""
    if _loaded() is None:
        return "oneDNN is not installed: pip install 'minimx[onednn]'"
    return "oneDNN does not know this shape"


@lru_cache(maxsize=1024)
def offered(direction: str, at: Geometry) -> Prepared | None:
    """The convolution as oneDNN would compute it; None without oneDNN."""
    dnnl = _loaded()
    if dnnl is None or min(at.pad_h, at.pad_w) < 0 or not at.images:
        return None
    try:
        return Prepared(dnnl, direction, at)
    except MXNetError:  # it does not know this shape
        return None


class Prepared:
    """One direction of a convolution, made ready. nbytes: of its workspace."""

    def __init__(self, dnnl: _Library, direction: str, at: Geometry) -> None:
        self._dnnl = dnnl
        self.reads, self.writes = ARGUMENTS[direction]
        self._plain = {arg: _ours(dnnl, dims) for arg, dims in _shapes(at).items()}
        pd = _described(dnnl, direction, at)
        self._main = _made(dnnl, pd)
        self._inner: dict[int, tuple[c_void_p, c_void_p, int]] = {}
        self.nbytes = 0
        for arg in (*self.reads, *self.writes):
            if arg in _LAYOUT:
                self._lay(arg, dnnl.layout(pd, _LAYOUT[arg]))
        self._scratch = dnnl.layout(pd, _SCRATCHPAD_MD)
        self._scratch_at = self._take(dnnl.size(self._scratch))

    def _take(self, nbytes: int) -> int:
        begin, self.nbytes = (
            self.nbytes,
            self.nbytes + -(-nbytes // _ALIGNMENT) * _ALIGNMENT,
        )
        return begin

    def _lay(self, arg: int, wanted: c_void_p) -> None:
        """Plan a copy to or from oneDNN's own layout, where it is another one."""
        dnnl, plain = self._dnnl, self._plain[arg]
        if dnnl.same(plain, wanted):
            return
        ends = (wanted, plain) if arg in self.writes else (plain, wanted)
        pd, engine = c_void_p(), dnnl.engine
        made = (ends[0], engine, ends[1], engine, None)
        dnnl("reorder_primitive_desc_create", byref(pd), *made)
        place = self._take(dnnl.size(wanted))
        self._inner[arg] = wanted, _made(dnnl, pd), place

    def run(self, arrays: dict[int, Any], workspace: Any) -> None:
        """Compute; arrays: contiguous float32, by their argument."""
        base = workspace.ctypes.data if self.nbytes else 0
        outside = {
            arg: self._memory(self._plain[arg], array.ctypes.data)
            for arg, array in arrays.items()
        }
        inside = dict(outside)
        for arg, (layout, _, place) in self._inner.items():
            inside[arg] = self._memory(layout, base + place)
        for arg in self.reads:
            if arg in self._inner:
                self._execute(
                    self._inner[arg][1], {FROM: outside[arg], TO: inside[arg]}
                )
        scratch = self._memory(self._scratch, base + self._scratch_at)
        self._execute(self._main, {**inside, SCRATCHPAD: scratch})
        for arg in self.writes:
            if arg in self._inner:
                self._execute(
                    self._inner[arg][1], {FROM: inside[arg], TO: outside[arg]}
                )
        self._dnnl("stream_wait", self._dnnl.stream)
        made = {
            memory.value for memory in (*outside.values(), *inside.values(), scratch)
        }
        for address in made:
            self._dnnl("memory_destroy", c_void_p(address))

    def _memory(self, layout: c_void_p, address: int) -> c_void_p:
        found = c_void_p()
        engine = self._dnnl.engine
        self._dnnl("memory_create", byref(found), layout, engine, c_void_p(address))
        return found

    def _execute(self, primitive: c_void_p, memories: dict[int, c_void_p]) -> None:
        pairs = [_Argument(arg, memory) for arg, memory in memories.items()]
        array = (_Argument * len(pairs))(*pairs)
        stream = self._dnnl.stream
        self._dnnl("primitive_execute", primitive, stream, len(pairs), array)


def _shapes(at: Geometry) -> dict[int, tuple[int, ...]]:
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


def _numbers(values: Sequence[int]) -> Any:
    return (c_int64 * 12)(*values)


def _ours(dnnl: _Library, dims: tuple[int, ...]) -> c_void_p:
    """The layout of an array of ours."""
    found = c_void_p()
    strides = [prod(dims[k + 1 :]) for k in range(len(dims))]
    sizes = _numbers(dims), _FLOAT, _numbers(strides)
    dnnl("memory_desc_create_with_strides", byref(found), len(dims), *sizes)
    return found


def _any(dnnl: _Library, dims: tuple[int, ...]) -> c_void_p:
    """Any layout: oneDNN chooses."""
    found = c_void_p()
    sizes = _numbers(dims), _FLOAT, _ANY
    dnnl("memory_desc_create_with_tag", byref(found), len(dims), *sizes)
    return found


def _made(dnnl: _Library, pd: c_void_p) -> c_void_p:
    found = c_void_p()
    dnnl("primitive_create", byref(found), pd)
    return found


def _described(dnnl: _Library, direction: str, at: Geometry) -> c_void_p:
    """The description of a convolution; that of gradients needs the forward one."""
    shapes, engine = _shapes(at), dnnl.engine
    free = {arg: _any(dnnl, dims) for arg, dims in shapes.items() if len(dims) > 1}
    bias = _ours(dnnl, shapes[BIAS])
    below = [
        (out - 1) * stride + dilate * (kernel - 1) + 1 - size - pad
        for out, stride, dilate, kernel, size, pad in (
            (at.out_h, at.stride_h, at.dilate_h, at.kernel_h, at.height, at.pad_h),
            (at.out_w, at.stride_w, at.dilate_w, at.kernel_w, at.width, at.pad_w),
        )
    ]
    steps = (
        _numbers((at.stride_h, at.stride_w)),
        _numbers((at.dilate_h - 1, at.dilate_w - 1)),
        _numbers((at.pad_h, at.pad_w)),
        _numbers(below),
    )
    attr, pd = c_void_p(), c_void_p()
    dnnl("primitive_attr_create", byref(attr))
    dnnl("primitive_attr_set_scratchpad_mode", attr, _OURS)
    ends: tuple[c_void_p, ...] = free[SRC], free[WEIGHTS], bias, free[DST]
    name = "convolution_forward_primitive_desc_create"
    dnnl(name, byref(pd), engine, _TRAINING, _DIRECT, *ends, *steps, attr)
    if direction == "forward":
        return pd
    hint, pd = pd, c_void_p()
    if direction == "data":
        ends = free[DIFF_SRC], free[WEIGHTS], free[DIFF_DST]
    else:
        ends = free[SRC], free[DIFF_WEIGHTS], bias, free[DIFF_DST]
    word = {"data": "data", "weight": "weights"}[direction]
    name = f"convolution_backward_{word}_primitive_desc_create"
    dnnl(name, byref(pd), engine, _DIRECT, *ends, *steps, hint, attr)
    return pd


def kernel(prepared: Prepared) -> Callable[..., None]:
    """`kernel(*arrays, workspace)`: the arrays in the order of `conv`'s kernels."""

    def run(*args: Any) -> None:
        *arrays, workspace = args if prepared.nbytes else (*args, None)
        order = (*prepared.reads, *prepared.writes)
        named = dict(zip(order, arrays, strict=True))
        for arg in (BIAS, DIFF_BIAS):
            if arg in named and named[arg] is None:
                filters = named[DST if arg == BIAS else DIFF_DST].shape[1]
                named[arg] = np.zeros(filters, np.float32)
        prepared.run(named, workspace)

    return run
