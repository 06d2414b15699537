"""What a worker process of a loader does: make the batches that it is asked for.

A second thread listens for orders, so that the loader never waits until it has sent
one; that thread also ends the process as soon as there is no loader any more.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, NamedTuple

from minimx.core import events, np_semantics
from minimx.core.errors import DataError
from minimx.core.knobs import knobs
from minimx.gluon.data import channel, seeding

#: How often, in seconds, a worker looks whether its parent is still there.
LOOK_EVERY = 2.0


class Order(NamedTuple):
    """One batch to make: `number` counts from 0 in each pass.

    entropy: what its random numbers follow from.
    """

    number: int
    indices: Sequence[int]
    entropy: seeding.Entropy
    np_shape: bool
    np_array: bool


class Failure(NamedTuple):
    """What a worker sends instead of a batch: the exception, and where it arose."""

    error: BaseException
    traceback: str


def run(pipe: Connection, make: Callable[[Sequence[int]], Any], parent: int) -> None:
    """Answer orders until the pipe ends. parent: the number of the loader's process."""
    # Ctrl-C reaches all processes of a terminal; what it ends is for the loader to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    events.recorder = None  # the record is the parent's
    knobs.set(
        MXNET_CPU_WORKER_NTHREADS=knobs.get("MXNET_MP_WORKER_NTHREADS"),
        OMP_NUM_THREADS=1,
    )
    _limit_opencv(int(knobs.get("MXNET_MP_OPENCV_NUM_THREADS")))
    orders: SimpleQueue[Order] = SimpleQueue()
    listener = threading.Thread(
        target=_listen, args=(pipe, orders, parent), name="orders", daemon=True
    )
    listener.start()
    while True:
        order = orders.get()
        answer: Any
        try:
            seeding.seed(order.entropy, order.number)
            with np_semantics.Scope(order.np_shape, order.np_array):
                answer = make(order.indices)
        except BaseException as error:
            answer = _failure(error)
        try:
            channel.send(pipe, (order.number, answer))
        except OSError:
            return  # the parent process is gone
        except Exception as error:
            channel.send(pipe, (order.number, _failure(error)))


def _limit_opencv(count: int) -> None:
    """Give OpenCV so many threads, wherever it is imported; 0: the worker's own."""
    os.environ["OPENCV_FOR_THREADS_NUM"] = str(max(count, 1))  # read at its import
    cv2: Any = sys.modules.get("cv2")
    if cv2 is not None:
        cv2.setNumThreads(count)


def _listen(pipe: Connection, orders: SimpleQueue[Order], parent: int) -> None:
    try:
        while True:
            while not pipe.poll(LOOK_EVERY):
                if os.getppid() != parent:
                    os._exit(1)
            orders.put(pipe.recv())
    except (EOFError, OSError):
        os._exit(0)


def _failure(error: BaseException) -> Failure:
    """An exception as it can be sent: itself if pickling keeps it, else in words."""
    text = "".join(traceback.format_exception(error)).rstrip()
    try:
        kept = pickle.loads(pickle.dumps(error))
    except Exception:
        kept = None
    if not isinstance(error, Exception) or type(kept) is not type(error):
        error = DataError(
            f"DataLoader: a worker met {type(error).__name__}: {error}. The note below "
            "shows where."
        )
    return Failure(error.with_traceback(None), text)
