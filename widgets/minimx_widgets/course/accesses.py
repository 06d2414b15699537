"""How often a kernel reads and writes each element: counted, not estimated.

    counted(kernel, x, y, out)        run a kernel's plain Python on counting arrays
    counted_operator(op, x, y)        the same for the loop that minimx generated
    AccessTable(found)                go through all accesses one by one

The Python function behind a numba function is run, with arrays in place of NumPy's that
note every access; helpers that it calls are run in Python, too. An array that it makes
on the way is noted as well. What a compiler may save is not looked at: the count is
that of the text.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from minimx.core.errors import ArgumentError
from minimx.core.kernels.codegen import write
from minimx.core.operators.pointwise import Pointwise
from minimx.core.ops import Op
from minimx.fast.fusion.fused_operator import FusedOp
from minimx_widgets.course.parts.text import table

READ, WRITE = "read", "write"
_HEADS = ("array", "kind", "elements", "reads", "writes")


@dataclass
class Memory:
    """One array of a run: what it is, and how often each element was touched.

    kind: "input", "output", or "temporary" for what the kernel makes itself.
    reads, writes: one count for each element.
    """

    name: str
    kind: str
    values: Any
    reads: Any = field(init=False)
    writes: Any = field(init=False)

    def __post_init__(self) -> None:
        self.values = np.array(self.values).reshape(-1)
        self.reads = np.zeros(self.values.size, int)
        self.writes = np.zeros(self.values.size, int)


@dataclass
class Accesses:
    """Every access of one run of a kernel.

    events: (number of the array, element, READ or WRITE), in order. compiled: whether a
    numba function was at work.
    """

    memories: list[Memory] = field(default_factory=list)
    events: list[tuple[int, int, str]] = field(default_factory=list)
    compiled: bool = False

    @property
    def total(self) -> int:
        """All reads and writes."""
        return len(self.events)

    @property
    def per_element(self) -> float:
        """Reads and writes for each element of the output."""
        return self.total / max(len(memory.reads) for memory in self.of("output"))

    def of(self, kind: str) -> list[Memory]:
        """The arrays of a kind."""
        return [memory for memory in self.memories if memory.kind == kind]

    def note(self, memory: Memory, places: Any, what: str) -> None:
        """Count an access to each of some elements."""
        number = next(k for k, m in enumerate(self.memories) if m is memory)
        for place in np.asarray(places).reshape(-1).tolist():
            (memory.reads if what == READ else memory.writes)[place] += 1
            self.events.append((number, place, what))

    def temporary(self, values: Any, written: bool = True) -> Counting:
        """An array that the kernel makes on the way."""
        values = np.asarray(values)
        name = f"temporary {len(self.of('temporary')) + 1}"
        array = self.array(name, "temporary", values)
        if written:
            self.note(array.memory, array.places, WRITE)
        return array

    def array(self, name: str, kind: str, values: Any) -> Counting:
        """An array whose accesses are counted."""
        values = np.asarray(values)
        memory = Memory(name, kind, values)
        self.memories.append(memory)
        return Counting(self, memory, np.arange(values.size).reshape(values.shape))

    def __repr__(self) -> str:
        rows = [
            (m.name, m.kind, m.values.size, m.reads.sum(), m.writes.sum())
            for m in self.memories
        ]
        each = f"{self.per_element:g} for each element of the output"
        return f"{table(_HEADS, rows).plain}\n{self.total} accesses, {each}"


class Counting(np.lib.mixins.NDArrayOperatorsMixin):
    """An array, or a view of one, that notes every access to its elements."""

    def __init__(self, log: Accesses, memory: Memory, places: Any) -> None:
        self.log = log
        self.memory = memory
        self.places = places

    # -- what it is: asking for it touches no element ---------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """As of any array."""
        return tuple(self.places.shape)

    @property
    def size(self) -> int:
        """As of any array."""
        return int(self.places.size)

    @property
    def ndim(self) -> int:
        """As of any array."""
        return int(self.places.ndim)

    @property
    def dtype(self) -> Any:
        """As of any array."""
        return self.memory.values.dtype

    def __len__(self) -> int:
        return len(self.places)

    # -- views of the same memory -----------------------------------------------------

    @property
    def flat(self) -> Counting:
        """All elements in a row."""
        return self._view(self.places.reshape(-1))

    @property
    def T(self) -> Counting:
        """The same elements with the axes in reverse order."""
        return self._view(self.places.T)

    def ravel(self) -> Counting:
        """All elements in a row."""
        return self.flat

    def reshape(self, *shape: Any) -> Counting:
        """The same elements in another shape."""
        return self._view(self.places.reshape(*shape))

    def _view(self, places: Any) -> Counting:
        return Counting(self.log, self.memory, places)

    # -- accesses ---------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        places = self.places[key]
        if np.ndim(places):
            return self._view(places)
        self.log.note(self.memory, places, READ)
        return self.memory.values[places]

    def __setitem__(self, key: Any, value: Any) -> None:
        if value is ...:  # a line that is not finished writes nothing
            return
        places = self.places[key]
        value = np.broadcast_to(_read(value), np.shape(places))
        self.log.note(self.memory, places, WRITE)
        self.memory.values[places] = value

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.log.note(self.memory, self.places, READ)
        return self.memory.values[self.places].astype(dtype or self.dtype)

    def copy(self) -> Counting:
        """A second array with the same numbers."""
        return self.log.temporary(_read(self))

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **how: Any) -> Any:
        into = how.pop("out", None)
        found = getattr(ufunc, method)(*map(_read, args), **how)
        if into is not None:
            into[0][...] = found
            return into[0]
        return self.log.temporary(found) if np.ndim(found) else found

    def __array_function__(self, function: Any, kinds: Any, args: Any, how: Any) -> Any:
        if function.__name__ in _LIKE:
            bare = [np.empty(a.shape, a.dtype) if isinstance(a, Counting) else a
                    for a in args]  # fmt: skip
            made = function(*bare, **how)
            return self.log.temporary(made, function is not np.empty_like)
        found = function(*map(_read, args), **how)
        return self.log.temporary(found) if np.ndim(found) else found


_LIKE = ("empty_like", "zeros_like", "ones_like", "full_like")
_CREATING = ("empty", "zeros", "ones", "full", "arange")


def _read(value: Any) -> Any:
    """A value as NumPy wants it; of a counting array every element is read."""
    return np.asarray(value) if isinstance(value, Counting) else value


class _Numpy:
    """NumPy, but for arrays that are made: they are counted."""

    def __init__(self, log: Accesses) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if name not in _CREATING:
            return found
        return lambda *args, **how: self._log.temporary(
            found(*args, **how), name != "empty"
        )


# -- a kernel as plain Python ----------------------------------------------------------


def counted(kernel: Callable[..., Any], *arrays: Any, outs: int = 1) -> Accesses:
    """Run a kernel once, in Python, and count.

    arrays: what it is called with, the outputs last; numbers go in as they are.
    outs: how many of the arrays are outputs. Raises whatever the kernel raises.
    """
    log = Accesses()
    plain = _python(kernel, log, {}, {})
    given = _given(log, plain, arrays, outs)
    with np.errstate(all="ignore"):
        plain(*given)
    return log


def counted_on_threads(
    kernel: Callable[..., Any], *arrays: Any, blocks: int, threads: int
) -> Accesses:
    """Run a kernel for CUDA once for each thread, one after the other, and count.

    The kernel knows its thread from `cuda.grid(1)`, or from `cuda.blockIdx.x`,
    `cuda.blockDim.x` and `cuda.threadIdx.x`.
    """
    cuda = SimpleNamespace(
        blockDim=SimpleNamespace(x=threads), gridDim=SimpleNamespace(x=blocks)
    )
    cuda.gridsize = lambda ndim: blocks * threads
    cuda.grid = lambda ndim: cuda.blockIdx.x * threads + cuda.threadIdx.x
    log = Accesses()
    plain = _python(kernel, log, {"cuda": cuda}, {})
    given = _given(log, plain, arrays, 1)
    with np.errstate(all="ignore"):
        for thread in range(blocks * threads):
            cuda.blockIdx = SimpleNamespace(x=thread // threads)
            cuda.threadIdx = SimpleNamespace(x=thread % threads)
            plain(*given)
    return log


def _given(log: Accesses, plain: Any, arrays: Sequence[Any], outs: int) -> list[Any]:
    """The arguments of a run: arrays that count, under the names of the kernel."""
    names = list(inspect.signature(plain).parameters)
    first_out = len(arrays) - outs
    return [
        log.array(
            names[k] if k < len(names) else f"array {k}",
            "output" if k >= first_out else "input",
            value,
        )
        if np.ndim(value)
        else value
        for k, value in enumerate(arrays)
    ]


def _python(
    function: Any, log: Accesses, names: dict[str, Any], done: dict[int, Any]
) -> Any:
    """A function that runs in Python all the way down, with NumPy that counts.

    names: what some global names stand for during the run.
    """
    if isinstance(function, functools.partial):
        inner = _python(function.func, log, names, done)
        return functools.partial(inner, *function.args, **function.keywords)
    if hasattr(function, "py_func"):
        log.compiled = True
        function = function.py_func
    if not isinstance(function, FunctionType):
        return function
    if id(function) in done:
        return done[id(function)]
    world = dict(function.__globals__)
    cells = [CellType() for _ in function.__closure__ or ()]
    counting = done[id(function)] = FunctionType(
        function.__code__,
        world,
        function.__name__,
        function.__defaults__,
        tuple(cells),
    )

    def swapped(name: str, value: Any) -> Any:
        if name in names:
            return names[name]
        return _Numpy(log) if value is np else _python(value, log, names, done)

    for name in _names(function.__code__):
        if name in world:
            world[name] = swapped(name, world[name])
    free = function.__code__.co_freevars
    for name, mine, old in zip(free, cells, function.__closure__ or (), strict=True):
        mine.cell_contents = swapped(name, old.cell_contents)
    return counting


def _names(code: CodeType) -> set[str]:
    """The global names that a function uses, and those inside it."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


# -- loops that minimx wrote -----------------------------------------------------------


def counted_operator(op: Op, *arrays: Any) -> Accesses:
    """Run the loop that minimx generated for an operator, in Python, and count.

    op: a pointwise operator, or several that were fused. arrays: the inputs, flat and
    of one length. Settings of the operator are numbers, read once for each launch and
    not counted. Raises ArgumentError for other operators.
    """
    dtype = np.result_type(*arrays)
    if isinstance(op, FusedOp):
        loop, _, sources = op.written
        text = op.source
        operands = [s if o.number else arrays[int(s)]
                    for o, s in zip(loop.operands, sources, strict=True)]  # fmt: skip
        outs = len(loop.outs)
    elif isinstance(op, Pointwise):
        text = write(op.formula, [dtype] * len(op.formula.operands), dtype)
        operands, outs = [*arrays, *op.constants], 1
    else:
        raise ArgumentError(f"{op.name} has no generated loop; take a pointwise one.")
    log = Accesses()
    size = max(np.size(array) for array in arrays)
    args: list[Any] = [
        log.array(f"in {k}", "input", value) if np.ndim(value) else [dtype.type(value)]
        for k, value in enumerate(operands)
    ]
    args += [log.array("out", "output", np.zeros(size, dtype)) for _ in range(outs)]
    steps = [int(not isinstance(arg, list)) for arg in args]
    with np.errstate(all="ignore"):
        _generated(text)(args, steps, size)
    return log


def _generated(text: str) -> Callable[..., Any]:
    """The function in a generated file, with Python's meaning for its few words."""
    tree = ast.parse(text)
    world: dict[str, Any] = {}
    for node in tree.body:
        for word in node.names if isinstance(node, ast.ImportFrom) else ():
            for names in (_NAMES, vars(np), vars(math)):
                if word.name in names:
                    world.setdefault(word.name, names[word.name])
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    function.decorator_list = []
    code = ast.Module([function], [])
    exec(compile(code, "<a generated loop>", "exec"), world)
    kernel: Callable[..., Any] = world["kernel"]
    return kernel


#: `alloca` is memory on the stack: what is kept there stays in the nearest cache.
_NAMES: dict[str, Any] = {
    "operand": lambda args, k, dtype: args[k],
    "load": lambda array, i: array[i],
    "store": operator.setitem,
    "select": lambda condition, yes, no: yes if condition else no,
    "div": np.true_divide,
    "alloca": lambda dtype, count: np.zeros(count, dtype),
    "load_stack": lambda array, i: array[i],
    "store_stack": operator.setitem,
}
