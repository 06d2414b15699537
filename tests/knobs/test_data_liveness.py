"""The knobs of reading data move what they say they move."""

from __future__ import annotations

from functools import partial
from multiprocessing import get_context
from typing import Any

import pytest

from minimx.image import codec
from tests.knobs.proofs import defaults, proves, turned

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
