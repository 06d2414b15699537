"""Intel's library oneDNN, where it is installed: its C API, and who owns what it makes.

    library()        the file of one that loads, or ""
    found()          that, and why there is none
    loaded()         the library, or None where there is none
    primitives       what is kept of what it prepared: MXNET_ONEDNN_CACHE_NUM
    counts()         how often something prepared was found, and how often it was made

`pip install 'minimx[onednn]'` brings it. A *primitive* is machine code that oneDNN
wrote for one computation on one shape: that takes a millisecond, so it is kept.

It computes in float32, and in bfloat16 where the processor has an instruction for it
(`Library.bfloat16`). AVX512-BF16's `vdpbf16ps` takes two registers of 32 bfloat16 each,
sees them as 16 pairs, multiplies them pair by pair, and adds both products to one of 16
sums in float32: twice the multiplications of a fused multiply-add on float32, from half
the memory. Products of two bfloat16 numbers have 16 bits and are exact in float32; it
is the sums that round, and the result, once, when it is stored. The instruction takes
numbers below 2**-126 for zero.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from math import prod
from typing import Any, Final

import numpy as np

from minimx.core.errors import MXNetError
from minimx.core.kernels import threads
from minimx.core.knobs import knobs
from minimx.fast.onednn.lru_cache import Counts, LruCache

# Numbers of oneDNN 3's C API: kinds, what to ask a description for, processors.
_CPU, _IN_ORDER, _ANY, _OURS = 1, 1, 1, 1
_SCRATCHPAD_MD = 136
_BFLOAT16_BIT, _INTEGER_BITS = 0x80, 0x48
#: The instruction sets that the library tells, from the richest, as its names say.
_ISAS = {
    0x400: "AMX",
    0x100: "AVX512-FP16",
    0x80: "AVX512-BF16",
    0x40: "AVX512-VNNI",
    0x20: "AVX512",
    0x4: "AVX2",
}
#: Its number of each element type.
TYPES: Final = {"float32": 3, "bfloat16": 2, "int32": 4, "int8": 5, "uint8": 6}
#: The arguments that every primitive may have.
SRC, DST, WEIGHTS, BIAS, SCRATCHPAD = 1, 17, 33, 41, 80
#: What may follow on a result before it is stored.
ADD, MULTIPLY, RELU = 0x1FFF0, 0x1FFF1, 0
#: Buffers begin at multiples of so many bytes.
ALIGNMENT: Final = 64


class _Argument(ctypes.Structure):
    _fields_ = (("arg", c_int), ("memory", c_void_p))


class _Version(ctypes.Structure):
    _fields_ = (("major", c_int), ("minor", c_int), ("patch", c_int))


#: Knobs that act through the library alone, and what is known to be wrong with it.
KNOBS: Final = (
    "MXNET_ONEDNN_ENABLED",
    "MXNET_ONEDNN_CACHE_NUM",
    "MXNET_ONEDNN_FORCE_FC_AB_FORMAT",
    "MXNET_USE_ONEDNN_RNN",
    "MXNET_RNN_USE_WEIGHT_CACHE",
)
_damaged: list[str] = []


def library() -> str:
    """The file of a oneDNN library that loads, or "": pip's, else the system's."""
    return found()[0]


@cache
def found() -> tuple[str, str]:
    """The file of the library that is used, and why none is; one of the two is ""."""
    trouble = ""
    for file in _candidates():
        try:
            ctypes.CDLL(file)
        except OSError as failure:
            trouble = trouble or f"{file} does not load: {failure}"
        else:
            return file, ""
    return "", trouble or "not installed"


@cache
def listed() -> bool:
    """Whether there is a file that could be the library; loads nothing."""
    return next(_candidates(), None) is not None


def why_not(name: str, value: Any) -> str:
    """Why a knob of `KNOBS` cannot act with this value, or "".

    Off, each that can be off is obeyed without the library. That a file is there but
    does not load is known when the first computation has tried.
    """
    if value is False or (listed() and not _damaged):
        return ""
    reason = _damaged[0] if _damaged else "oneDNN is not installed"
    return (
        f"{reason}. The readable kernels do its work. "
        "Install it with: pip install 'minimx[onednn]'"
    )


def _candidates() -> Iterator[str]:
    """The files that could be the library, the best first."""
    from importlib import metadata  # slow to import, and asked once

    for name in ("onednn-cpu-gomp", "onednn"):
        try:
            files = metadata.files(name) or []
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if "dnnl" in file.name and (".so" in file.name or file.suffix == ".dll"):
                yield str(file.locate())
    system = ctypes.util.find_library("dnnl")
    if system:
        yield system


class Library:
    """The loaded library and its engine for this processor."""

    def __init__(self, file: str) -> None:
        self._functions = ctypes.CDLL(file)
        self._local = threading.local()
        self.engine = c_void_p()
        self("engine_create", byref(self.engine), _CPU, c_size_t(0))
        # What MXNET_ONEDNN_CACHE_NUM drops shall be gone, not kept by the library.
        self("set_primitive_cache_capacity", 0)

    def __call__(self, name: str, *args: Any) -> None:
        """Call a function; raises MXNetError with the status that it returns."""
        status = getattr(self._functions, f"dnnl_{name}")(*args)
        if status:
            raise MXNetError(f"oneDNN: dnnl_{name} returned status {status}.")

    @property
    def version(self) -> str:
        """Its version, as `3.2.0`."""
        ask = self._functions.dnnl_version
        ask.restype = ctypes.POINTER(_Version)
        found = ask().contents
        return f"{found.major}.{found.minor}.{found.patch}"

    @property
    def isa(self) -> int:
        """The instruction sets that it uses on this processor, as its bits."""
        return int(self._functions.dnnl_get_effective_cpu_isa())

    @property
    def processor(self) -> str:
        """The richest of them, by name."""
        return next((name for bit, name in _ISAS.items() if self.isa & bit), "none")

    @property
    def bfloat16(self) -> bool:
        """Whether the processor multiplies bfloat16 by an instruction of its own."""
        return bool(self.isa & _BFLOAT16_BIT)

    @property
    def integers(self) -> bool:
        """Whether it adds products of integers of eight bits to sums of 32 at once.

        Without such an instruction it adds pairs in 16 bits first, which cut off.
        """
        return bool(self.isa & _INTEGER_BITS)

    @contextmanager
    def team(self, number: int) -> Iterator[None]:
        """Let what this thread runs or prepares meanwhile have so many threads.

        Other users of OpenMP on this thread keep the number that they had.
        """
        # A build on another runtime than OpenMP has no such function.
        tell = getattr(self._functions, "omp_set_num_threads", None)
        if tell is None:
            yield
            return
        before = self._functions.omp_get_max_threads()
        tell(number)
        try:
            yield
        finally:
            tell(before)

    @property
    def stream(self) -> c_void_p:
        """Where this thread's primitives run."""
        found: c_void_p | None = getattr(self._local, "stream", None)
        if found is None:
            found = self._local.stream = c_void_p()
            self("stream_create", byref(found), self.engine, _IN_ORDER)
        return found

    def layout(self, pd: Any, what: int, index: int = 0) -> c_void_p:
        """The layout of an argument, as a description tells it."""
        query = self._functions.dnnl_primitive_desc_query_md
        query.restype, query.argtypes = c_void_p, (c_void_p, c_int, c_int)
        return c_void_p(query(pd, what, index))

    def size(self, layout: c_void_p) -> int:
        """The bytes that an array of a layout takes."""
        ask = self._functions.dnnl_memory_desc_get_size
        ask.restype, ask.argtypes = c_size_t, (c_void_p,)
        return int(ask(layout))

    def same(self, one: c_void_p, other: c_void_p) -> bool:
        """Whether two layouts are equal."""
        return bool(self._functions.dnnl_memory_desc_equal(one, other))


@cache
def loaded() -> Library | None:
    """The library, if there is one that speaks this API.

    Where there is none the readable kernels do the work.
    """
    file, trouble = found()
    if file:
        try:
            dnnl = Library(file)
            Owner(dnnl).any_layout((1, 1), "float32")
        except (OSError, AttributeError, MXNetError):
            trouble = f"{file} is older than oneDNN 3, or damaged"
        else:
            return dnnl
    if listed():
        _damaged[:] = [trouble]
        _look_again()
    return None


def takes_bfloat16() -> bool:
    """Whether oneDNN is here, wanted, and has an instruction for bfloat16."""
    if not knobs.get("MXNET_ONEDNN_ENABLED"):
        return False
    dnnl = loaded()
    return dnnl is not None and dnnl.bfloat16


class Owner:
    """Handles of the library that are given back when this object goes.

    team: the threads that share what is prepared here; a primitive runs on as many as
    it was prepared for.
    """

    def __init__(self, dnnl: Library, team: int = 1) -> None:
        self._dnnl, self._team = dnnl, team
        self._handles: list[tuple[str, int | None]] = []
        self._local = threading.local()
        weakref.finalize(self, _give_back, dnnl, self._handles).atexit = False

    def create(self, kind: str, function: str, *args: Any) -> c_void_p:
        """What a function makes, in the handle that is its first argument."""
        found = c_void_p()
        self._dnnl(function, byref(found), *args)
        self._handles.append((kind, found.value))
        return found

    def ours(
        self, dims: Sequence[int], dtype: str, strides: Sequence[int] = ()
    ) -> c_void_p:
        """The layout of an array of ours; strides: in elements, else C-contiguous."""
        strides = strides or [prod(dims[k + 1 :]) for k in range(len(dims))]
        sizes = numbers(dims), TYPES[dtype], numbers(strides)
        function = "memory_desc_create_with_strides"
        return self.create("memory_desc", function, len(dims), *sizes)

    def any_layout(self, dims: Sequence[int], dtype: str) -> c_void_p:
        """Any layout: oneDNN chooses."""
        function = "memory_desc_create_with_tag"
        sizes = numbers(dims), TYPES[dtype], _ANY
        return self.create("memory_desc", function, len(dims), *sizes)

    def attributes(self, after: Sequence[tuple[int, c_void_p | None]] = ()) -> c_void_p:
        """Those of all our primitives: scratch memory comes from us.

        after: what is done to each result before it is stored: (`ADD` or `MULTIPLY`,
        the layout of the other operand) or (`RELU`, None). A relu multiplies what is
        not above 0 by an argument, which is to be 0: so a NaN stays one. (oneDNN's own
        relu makes 0 of it.) Minus infinity becomes NaN.
        """
        attr = self.create("primitive_attr", "primitive_attr_create")
        self._dnnl("primitive_attr_set_scratchpad_mode", attr, _OURS)
        if after:
            chain = self.create("post_ops", "post_ops_create")
            for kind, layout in after:
                if layout is None:
                    self._dnnl("post_ops_append_prelu", chain, 0)
                else:
                    self._dnnl("post_ops_append_binary", chain, kind, layout)
            self._dnnl("primitive_attr_set_post_ops", attr, chain)
        return attr

    def description(self, of: str, *args: Any) -> c_void_p:
        """A description of a primitive: how it will compute, but no code yet."""
        with self._dnnl.team(self._team):
            return self.create("primitive_desc", f"{of}_primitive_desc_create", *args)

    def primitive(self, pd: c_void_p) -> c_void_p:
        """The code that a description describes."""
        with self._dnnl.team(self._team):
            return self.create("primitive", "primitive_create", pd)

    def scratch(self, pd: c_void_p) -> c_void_p:
        """The layout of the scratch memory that a primitive asks for."""
        return self._dnnl.layout(pd, _SCRATCHPAD_MD)

    def memory(self, name: object, layout: c_void_p, address: int) -> c_void_p:
        """The view that this thread has of an address, as an array of a layout."""
        known: dict[object, c_void_p] = self._local.__dict__.setdefault("known", {})
        found, place = known.get(name), c_void_p(address)
        if found is None:
            args = layout, self._dnnl.engine, place
            found = known[name] = self.create("memory", "memory_create", *args)
        else:
            self._dnnl("memory_set_data_handle", found, place)
        return found

    def execute(self, primitive: c_void_p, memories: dict[int, c_void_p]) -> None:
        """Let a primitive run; it may not be over before `wait`."""
        pairs = [_Argument(arg, memory) for arg, memory in memories.items()]
        array = (_Argument * len(pairs))(*pairs)
        stream = self._dnnl.stream
        with self._dnnl.team(self._team):
            self._dnnl("primitive_execute", primitive, stream, len(pairs), array)

    def wait(self) -> None:
        """Until what this thread started is over."""
        self._dnnl("stream_wait", self._dnnl.stream)


def _give_back(dnnl: Library, handles: list[tuple[str, int | None]]) -> None:
    while handles:  # descriptions last: layouts that they tell are theirs
        kind, handle = handles.pop()
        dnnl(f"{kind}_destroy", c_void_p(handle))


def numbers(values: Sequence[int]) -> Any:
    """Lengths in the form of the C API."""
    return (c_int64 * 12)(*values)


def aligned(nbytes: int) -> Any:
    """Scratch memory that begins at a multiple of `ALIGNMENT`."""
    found = np.empty(nbytes + ALIGNMENT, np.uint8)
    skip = -found.ctypes.data % ALIGNMENT
    return found[skip : skip + nbytes]


def team(work: int) -> int:
    """How many threads share so many multiplications."""
    return threads.parts(work)


#: What is kept of all that was prepared.
primitives: Final[LruCache[Any]] = LruCache(knobs.get("MXNET_ONEDNN_CACHE_NUM"))
knobs.watch(
    "MXNET_ONEDNN_CACHE_NUM", lambda name, new, old: primitives.keep_at_most(new)
)
_look_again = knobs.needs(KNOBS, why_not)


def counts() -> Counts:
    """How many prepared primitives are kept, were found, made and dropped so far."""
    return primitives.counts()
