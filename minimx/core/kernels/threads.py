"""How many threads a kernel may use, and how numba is made to use them.

Three facts explain this module. Two Python threads may be in parallel kernels at once
(the engine's workers are), which only OpenMP and TBB survive; a thread that spins while
it waits for work steals the processor from one that has work; and after `fork` OpenMP
must not be touched.

    @jit()                  compiled, cached on disk, releases the GIL
    @jit(parallel=True)     the same in parts, on `count()` threads: see `Parallel`
    @jit(inner=True)        a part of kernels, which Python cannot call

`OMP_NUM_THREADS` is live: the next kernel sees a new number.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from minimx.core.extensions import provided
from minimx.core.knobs import knobs

# The OpenMP runtime reads this once, when it is loaded. A waiting thread sleeps.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

_LAYERS = ["omp", "tbb", "workqueue"]
#: Below this many elements a kernel keeps the GIL, and no threads are asked for.
SMALL = 8192


class _State:
    """What holds for the whole process."""

    def __init__(self) -> None:
        self.forked = False
        self.guard: AbstractContextManager[Any] = nullcontext()


_state = _State()
_thread = threading.local()
#: The threads that run a `Parallel` kernel now.
_running: set[int] = set()


# -- how many --------------------------------------------------------------------------


def count() -> int:
    """The number of threads a kernel may use, 1 after a fork.

    OMP_NUM_THREADS; while it is not set, no more than MXNET_OMP_MAX_THREADS.
    """
    if _state.forked:
        return 1
    wanted = getattr(_thread, "wanted", None)
    if wanted is not None:
        return int(wanted)
    wanted, limit = knobs.get("OMP_NUM_THREADS"), knobs.get("MXNET_OMP_MAX_THREADS")
    if limit and not knobs.is_set("OMP_NUM_THREADS"):
        return min(int(wanted), int(limit))
    return int(wanted)


def parts(size: int) -> int:
    """Into how many parts work on `size` elements is cut: 1 means serially."""
    return count() if size >= knobs.get("MXNET_CPU_PARALLEL_SIZE") else 1


def transforming() -> int:
    """The threads of Winograd's and Fourier's convolutions: no more than NNPACK's."""
    return min(count(), int(knobs.get("MXNET_CPU_NNPACK_NTHREADS")))


def _after_fork() -> None:
    """A thread that is gone may have been compiling: its locks would never open."""
    _state.forked = True
    compilers: Any = sys.modules.get("numba.core.compiler_lock")
    if compilers is not None:
        libraries: Any = sys.modules["llvmlite.binding.ffi"]
        for lock in (compilers.global_compiler_lock, libraries.lib._lock):
            lock._lock = threading.RLock()
    globals()["_decorating"] = threading.RLock()


@contextmanager
def using(number: int) -> Iterator[None]:
    """Let this thread's kernels run on so many threads inside the `with` block."""
    before = getattr(_thread, "wanted", None)
    _thread.wanted = number
    try:
        yield
    finally:
        _thread.wanted = before


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# -- numba -----------------------------------------------------------------------------


@cache
def numba() -> Any:
    """The library; imported here and by kernel files only, as that takes a while.

    Whole: threads that import parts of it may see half of it. A second process that
    compiles has to import it as well, so that one begins first.
    """
    provided("second compiler").begin()
    import numba

    return numba


@cache
def _limit() -> int:
    """The most threads that numba can run, which is fixed when it is imported.

    One for each core, unless NUMBA_NUM_THREADS says otherwise.
    """
    return int(numba().np.ufunc.parallel.NUM_THREADS)


@cache
def pin() -> str:
    """Choose numba's threading layer, once; its name. OpenMP where it loads."""
    numba().config.THREADING_LAYER_PRIORITY = _LAYERS
    numba().get_num_threads()  # starts the layer
    if (layer := str(numba().threading_layer())) == "workqueue":
        _state.guard = threading.Lock()
    return layer


def cache_dir() -> Path:
    """The folder of generated and compiled kernels: the knob MINIMX_CACHE."""
    return _writable(Path(knobs.get("MINIMX_CACHE")).expanduser())


@cache
def _writable(folder: Path) -> Path:
    """The folder, or for this process a temporary one if nothing can be kept there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        warnings.warn(
            f"MINIMX_CACHE={str(folder)!r} cannot be written to ({error}); this "
            "program compiles its kernels anew. Set the knob to a folder of yours.",
            stacklevel=2,
        )
        temporary = tempfile.mkdtemp(prefix="minimx-")
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return Path(temporary)


_decorating = threading.RLock()


def compiled(decorate: Callable[[], Any]) -> Any:
    """Run a numba decorator so that its `cache=True` keeps code in `cache_dir()`.

    Processes may compile at the same time: see `fast/code_files.py`.
    """
    with _decorating, provided("code files").kept_in(cache_dir()):
        return decorate()


class Parallel:
    """A kernel that is cut to parts, one for each thread. It is compiled once.

        @jit(parallel=True)
        def double(part, x, out):           Python leaves `part` out: double(x, out)
            for i in dealt(x.size, part):
                out[i] = 2 * x[i]

    Every part runs what stands outside of such loops, so that may write nothing.

    threaded   `count()` parts, or as many as `sharing` allows
    serial     one part, on the calling thread, without the GIL
    small      the same, keeping the GIL
    """

    def __init__(
        self, function: Callable[..., Any], options: dict[str, Any], steps: bool
    ) -> None:
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.py_func = function
        from minimx.core.kernels.compiled_parts import entry

        pin()  # the compiled code calls the layer, which has to run by then
        made = entry(function, jit(inner=True, **options)(function), steps)
        self.run = jit(**options | {"nogil": steps})(made)
        self.serial, self.small = partial(self.run, 1), partial(self.run, 0)

    def __call__(self, *args: Any) -> Any:
        """Run on threads if an array has MXNET_CPU_PARALLEL_SIZE elements or more."""
        size = max([arg.size for arg in args if isinstance(arg, np.ndarray)])
        return self.threaded(*args) if parts(size) > 1 else self.serial(*args)

    def threaded(self, *args: Any) -> Any:
        """Run on as many threads as this process may use now."""
        return self.sharing(count(), *args)

    def beside(self, *args: Any) -> Any:
        """Run on this process's threads, divided by the kernels that run now.

        For short kernels: a second thread costs as much as it gives while another core
        is busy. A long one may start beside a short one, and has the cores soon after.
        """
        return self.sharing(count() // (1 + len(_running)), *args)

    def sharing(self, most: int, *args: Any) -> Any:
        """Run on at most `most` threads, for a caller that runs beside others.

        args: those of the kernel. `count()` limits them as well.
        """
        me = threading.get_ident()
        with _state.guard:
            _running.add(me)
            try:
                return self.run(max(1, min(count(), most, _limit())), *args)
            finally:
                _running.discard(me)


class Inner:
    """A function for kernels only: numba sees it compiled, Python cannot call it."""

    def __init__(self, dispatcher: Any) -> None:
        self.__name__ = dispatcher.__name__
        self.__doc__ = dispatcher.__doc__
        self.py_func = dispatcher.py_func
        self._compiled = dispatcher  # its type does not keep it alive
        self._numba_type_ = dispatcher._numba_type_

    def __call__(self, *args: Any) -> Any:
        """Only compiled code has a way in: raises TypeError."""
        raise TypeError(
            f"{self.__name__} was compiled as a part of kernels (`inner=True`), which "
            "saves the code that Python would come in by. Call a kernel that uses it, "
            "or take `inner=True` off."
        )


def jit(
    *, parallel: bool = False, inner: bool = False, steps: bool = False, **options: Any
) -> Callable[[Any], Any]:
    """Compile a kernel: cached on disk, division as in NumPy, without the GIL.

    With `parallel` the result is a `Parallel`, with `inner` an `Inner`, else numba's
    own dispatcher. steps: of a parallel kernel whose parts have to wait for each
    other. Its second argument is a step; Python gives how many there are.
    """
    options = {"nogil": True, "cache": True, "error_model": "numpy", **options}
    # The entry points for C and for Python hold the code once more: a fifth of the time
    # that a kernel with many parts takes to compile.
    options["no_cfunc_wrapper"] = True

    def decorate(function: Any) -> Any:
        if parallel:
            return Parallel(function, options, steps)
        within = dict(options)
        if inner:  # its code is kept as a part of that of kernels
            within |= {"no_cpython_wrapper": True, "cache": False}
        if "fastmath" not in options:  # else bits depend on how it is optimised
            within["pipeline_class"] = provided("compiling").COMPILERS[inner]
        made = compiled(lambda: numba().njit(**within)(function))
        return Inner(made) if inner else made

    return decorate
