"""The knobs of reading data move what they say they move."""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import partial
from multiprocessing import get_context
from typing import Any

import pytest

from minimx.core import engine
from minimx.core.device import cpu
from minimx.core.knobs import knobs
from minimx.gluon.data import DataLoader, SimpleDataset
from minimx.image import codec
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]


def _threads(pipe: Any) -> None:
    cv2 = codec.opencv()
    assert cv2 is not None
    pipe.send(cv2.getNumThreads())


def threads_of_a_worker(start: str) -> int:
    """How many threads OpenCV has in a process of its own."""
    context: Any = get_context(start)
    ours, theirs = context.Pipe()
    child = context.Process(target=_threads, args=(theirs,))
    child.start()
    theirs.close()
    found = ours.recv()
    child.join()
    ours.close()
    return int(found)


@proves("MXNET_MP_OPENCV_NUM_THREADS")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_opencvs_threads_in_a_worker_process() -> None:
    assert codec.opencv() is not None
    for start in ("fork", "spawn"):
        observe = partial(threads_of_a_worker, start)
        assert turned(observe, MXNET_MP_OPENCV_NUM_THREADS=3) == (1, 3)


@proves("MXNET_MP_WORKER_NTHREADS")
def test_operators_at_once_in_a_worker_of_a_loader() -> None:
    def most_at_once(_: int) -> int:
        meeting, met = threading.Barrier(4), []

        def operator() -> None:
            try:
                meeting.wait(0.5)
            except threading.BrokenBarrierError:
                met.append(meeting)

        for _ in range(4):
            engine.push(operator, cpu(0), (), (engine.Var(),), "meet")
        engine.wait_all()
        return 4 - len(met)

    def observe() -> int:
        (batch,) = DataLoader(
            SimpleDataset([0]).transform(most_at_once), 1, num_workers=1
        )
        return int(batch.asscalar())

    # Four operators meet only where four run at once.
    assert turned(observe, MXNET_MP_WORKER_NTHREADS=4) == (0, 4)


def _asked_by_the_user(item: int) -> int:
    import cv2

    return int(cv2.getNumThreads())


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(("given", "threads"), [(0, 1), (3, 3)])
def test_opencvs_threads_where_the_user_imports_it(given: int, threads: int) -> None:
    data = SimpleDataset([0, 1]).transform(_asked_by_the_user)
    with knobs(MXNET_MP_OPENCV_NUM_THREADS=given):
        loader = DataLoader(data, 1, num_workers=1)
        assert [int(x.asscalar()) for x in loader] == [threads] * 2


def test_a_fresh_process_has_the_limit_before_opencv_is_imported() -> None:
    code = (
        "import sys; from minimx.gluon.data import worker; "
        "assert 'cv2' not in sys.modules; worker._limit_opencv(0); "
        "import cv2; print(cv2.getNumThreads())"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
