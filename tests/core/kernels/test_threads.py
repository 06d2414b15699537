from __future__ import annotations

import faulthandler
import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from minimx.core.kernels import find, pointwise, threads
from minimx.core.kernels.formula import Formula
from minimx.core.knobs import knobs
from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec

SIZE = 300_000
FORMULA = Formula("x * 2 + 1", ("x",))


def kernel_of(size: int, dtype: Any = np.float32) -> Any:
    dtype = np.dtype(dtype)
    return pointwise.kernel(FORMULA, [(size,)], [dtype], (size,), dtype)


def test_the_knobs_decide_how_many_threads() -> None:
    with knobs(OMP_NUM_THREADS=3, MXNET_CPU_PARALLEL_SIZE=1000):
        assert threads.count() == 3
        assert threads.parts(999) == 1
        assert threads.parts(1000) == 3
    with knobs(OMP_NUM_THREADS=1):
        assert threads.parts(10**9) == 1


@threads.jit(inner=True)
def part(x: Any) -> Any:
    return x + 1


@threads.jit()
def whole(x: Any) -> Any:
    return 2 * part(x)


def test_parts_of_kernels_are_for_kernels_only() -> None:
    assert whole(3.0) == 8.0
    with pytest.raises(TypeError, match="part was compiled as a part of kernels"):
        part(3.0)
    assert part.py_func(3.0) == 4.0


@pytest.mark.parametrize("number", [1, 2, 5])
def test_any_number_of_threads_gives_the_same_bits(number: int) -> None:
    x = np.random.default_rng(0).standard_normal((3, SIZE)).astype(np.float32)
    out, total = np.empty_like(x), np.empty(3, np.float32)
    formula = Formula("exp(x) / (1 + x * x)", ("x",))
    expected = None
    for count in (1, number):
        with knobs(OMP_NUM_THREADS=count):
            kernel = pointwise.kernel(formula, [x.shape], [x.dtype], x.shape, x.dtype)
            kernel(x, out)
            find("reduce.reduction")("sum", x.shape, (1,), x.dtype)(out, total)
        if expected is None:
            expected = out.copy(), total.copy()
    assert expected is not None
    np.testing.assert_array_equal(out, expected[0])
    np.testing.assert_array_equal(total, expected[1])


def test_several_threads_may_be_in_parallel_kernels_at_once() -> None:
    with knobs(OMP_NUM_THREADS=2):
        kernel = kernel_of(SIZE)
        wrong = []

        def work(value: int) -> None:
            x = np.full(SIZE, value, np.float32)
            out = np.empty_like(x)
            for _ in range(50):
                kernel(x, out)
                if not (out == 2 * value + 1).all():
                    wrong.append(value)

        workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert not wrong


def _in_a_child(queue: Any, dtype: Any) -> None:
    faulthandler.dump_traceback_later(50, exit=True)
    x = np.ones(SIZE, dtype)
    kernel_of(SIZE, dtype)(x, x)
    queue.put((threads.count(), float(x.sum())))


def _run_in_a_child(dtype: Any) -> tuple[int, float]:
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_in_a_child, args=(queue, dtype))
    child.start()
    child.join(timeout=60)
    assert child.exitcode == 0
    return queue.get()  # type: ignore[no-any-return]


forking = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="no fork here"
)


def test_a_short_kernel_takes_its_share_while_others_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel: threads.Parallel = threads.jit(parallel=True)(_nothing)
    started, go_on = threading.Event(), threading.Event()

    def run(parts: int, wait: bool) -> int:
        if wait:
            started.set()
            go_on.wait(60)
        return parts

    monkeypatch.setattr(kernel, "run", run)
    monkeypatch.setattr(threads, "_limit", lambda: 64)
    with knobs(OMP_NUM_THREADS=6):
        assert kernel.beside(False) == 6
        other = threading.Thread(target=kernel.threaded, args=(True,))
        other.start()
        assert started.wait(60)
        assert (kernel.beside(False), kernel.threaded(False)) == (3, 6)
        with threads.using(1):
            assert kernel.beside(False) == 1
        go_on.set()
        other.join()
        assert kernel.beside(False) == 6


def test_a_kernel_that_failed_takes_no_share() -> None:
    kernel: threads.Parallel = threads.jit(parallel=True)(_nothing)
    for _ in range(3):
        with pytest.raises(TypeError):
            kernel.threaded("no", "such", "arguments", None)
    assert not threads._running


def _nothing(part: Any, out: Any) -> None:
    """A kernel that is not compiled here."""


@forking
def test_a_forked_child_computes_alone() -> None:
    """OpenMP ends a process that uses it on both sides of a fork."""
    x = np.ones(SIZE, np.float32)
    with knobs(OMP_NUM_THREADS=2):
        kernel_of(SIZE)(x, x)
        assert _run_in_a_child(np.float32) == (1, 3.0 * SIZE)


@forking
def test_a_child_compiles_though_another_thread_was_compiling() -> None:
    from llvmlite.binding import ffi
    from numba.core.compiler_lock import global_compiler_lock

    locked, forked = threading.Event(), threading.Event()

    def compile_for_long() -> None:
        with global_compiler_lock, ffi.lib._lock:
            locked.set()
            forked.wait(timeout=70)

    compiling = threading.Thread(target=compile_for_long)
    compiling.start()
    assert locked.wait(timeout=10)
    try:
        assert _run_in_a_child(np.int16) == (1, 3.0 * SIZE)  # a new signature
    finally:
        forked.set()
        compiling.join()


def test_plans_are_made_anew_when_the_knobs_turn() -> None:
    spec = Spec.of((2000,), np.dtype(np.float32))
    op = lookup("relu").of()
    before = op.plan((spec,))
    with knobs(MXNET_CPU_PARALLEL_SIZE=1000, OMP_NUM_THREADS=2):
        assert op.plan((spec,)) is not before


def test_numba_keeps_its_own_cache_folder_for_others() -> None:
    from numba import config

    before = vars(config)["CACHE_DIR"]
    kernel_of(11)
    assert vars(config)["CACHE_DIR"] == before


def test_the_threading_layer_survives_two_threads() -> None:
    assert threads.pin() in ("omp", "tbb", "workqueue")


def test_without_a_folder_of_its_own_a_program_still_runs(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with knobs(MINIMX_CACHE=str(blocked / "cache")):
        with pytest.warns(UserWarning, match="MINIMX_CACHE.*cannot be written to"):
            folder = threads.cache_dir()
        assert folder == threads.cache_dir()
        assert folder.is_dir()


def test_a_program_may_ask_for_more_threads_than_numba_has() -> None:
    program = (
        "import minimx as mx; x = mx.nd.ones((512, 512));"
        "print(mx.nd.dot(x, x).sum().asscalar(), mx.nd.exp(0 * x).sum().asscalar())"
    )
    more = str((os.cpu_count() or 1) + 1)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "OMP_NUM_THREADS": more, "MXNET_CPU_PARALLEL_SIZE": "1000"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["1.3421773e+08", "262144.0"], done.stderr


#: What is true in a program that has loaded nothing else, and not only after the rest.
AT_ONCE = {
    "workers bind their threads before they have run a kernel": """
        import minimx as mx
        from minimx.core import engine
        mx.knobs.set(KMP_AFFINITY="compact")
        engine.current.push(lambda: None, mx.cpu(), [], [engine.Var()], "nothing")
        mx.nd.waitall()
        print(mx.nd.ones((3,)).sum().asscalar() == 3)
    """,
    "the first kernel of a program runs on threads": """
        import numpy as np
        from minimx.fast.cpu.team import ask
        masks, failed = np.zeros((2, 128), np.uint8), np.ones(2, np.int64)
        ask.threaded(masks, failed)
        print(failed.tolist() == [0, 0] and (masks.sum(axis=1) > 0).all())
    """,
    "threads are taken by operators that were planned without": """
        import minimx as mx
        from minimx.core.kernels import native
        x, seen = mx.nd.ones((1 << 20,)), []
        run = native.rows.run
        native.rows.run = lambda parts, *args: seen.append(parts) or run(parts, *args)
        for number in (1, 2):
            mx.knobs.set(OMP_NUM_THREADS=number, MXNET_CPU_PARALLEL_SIZE=1000)
            mx.nd.exp(x).wait_to_read()
        print(seen == [2])
    """,
}


@pytest.mark.parametrize("what", AT_ONCE)
def test_what_holds_in_a_fresh_program(what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", dedent(AT_ONCE[what])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr
