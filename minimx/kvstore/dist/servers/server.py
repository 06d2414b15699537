"""A server of parameters: it keeps values, adds what workers push, and updates.

A worker's request is a header and the memory of an array; `reply` sends the answer. In
a synchronous store a push is answered when all workers have pushed: the server adds the
gradients in the order of the workers, so that the sum is the same to the bit in each
run, and updates once. In an asynchronous one each push updates at once. As in MXNet's
`kvstore_dist_server.h`; what this module knows nothing of is MPI.
"""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

import minimx.nd as nd
from minimx.core import autograd, events
from minimx.core.arrays.array import NDArray
from minimx.core.dtypes import FLOAT16, FLOAT32, resolve
from minimx.core.errors import ArgumentError, MXNetError, ShapeError
from minimx.core.events import attributed
from minimx.kvstore.dist.order import named
from minimx.kvstore.dist.servers.post import Bytes, Header
from minimx.optimizer import Updater, get_updater

#: After so many seconds of waiting for pushes, the workers that miss are named.
SLOW = 10.0
ROWS = "row_sparse"

log = logging.getLogger(__name__)


class Request(NamedTuple):
    """What a worker asks for. begin: when it came, in nanoseconds of the clock."""

    worker: int
    header: Header
    payload: Bytes | None
    begin: int


Reply = Callable[[Request, Header, Bytes | None], None]


@dataclass
class Part:
    """What the server has of one key.

    shape: of the part; dtype: in which it travels, while `value` may be wider.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    value: NDArray
    pushed: dict[int, Request] = field(default_factory=dict)  # by worker
    since: float = 0.0
    slow_named: bool = False


@dataclass
class Space:
    """What belongs to one store of the program."""

    parts: dict[str, Part] = field(default_factory=dict)
    updater: Updater | None = None
    wide: bool = False  # whether float16 is kept and updated as float32
    dropped: set[int] = field(default_factory=set)  # the workers that have it no more


class Server:
    """The values and optimizers of all stores, as far as they are this server's.

    number: which server it is. workers: how many there are. reply: called with a
    request, the header and the payload of its answer. here: the worker in the same
    process, which records what it sends and gets itself.
    """

    def __init__(
        self,
        number: int,
        workers: int,
        reply: Reply,
        here: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._number, self._workers, self._here = number, workers, here
        self._reply, self._clock = reply, clock
        self._spaces: dict[int, Space] = {}
        self._left: dict[int, str] = {}
        self._tasks = {
            "init": self._init,
            "push": self._push,
            "pull": self._pull,
            "rows": self._rows,
            "optimizer": self._optimizer,
            "settings": self._settings,
            "states": self._states,
            "set_states": self._set_states,
            "profile": self._profile,
            "drop": self._drop,
        }

    def handle(self, request: Request) -> None:
        """Do what a worker asks for; what goes wrong is answered, not raised."""
        try:
            with autograd.pause():
                self._tasks[request.header["do"]](request)
        except Exception as error:
            self._refuse(request, error)

    def leave(self, worker: int, why: str) -> None:
        """A worker asks for nothing more."""
        self._left[worker] = why
        for space in self._spaces.values():
            for part in space.parts.values():
                self._check_complete(part)

    def deadlock(self, worker: int, what: str) -> str:
        """Why workers wait for each other, if some do: a message, or nothing.

        worker: one that waits for all others in `what`, and pushes nothing until then.
        A push that has waited for it for `SLOW` seconds would wait for ever.
        """
        for space in self._spaces.values():
            for key, part in space.parts.items():
                waited = self._clock() - part.since
                if part.pushed and worker not in part.pushed and waited > SLOW:
                    return (
                        f"the ranks do not do the same: rank {worker}: {what}; "
                        f"{named(sorted(part.pushed))}: push of {key}. Each waits for "
                        "the other. Run the same program on all."
                    )
        return ""

    def look(self) -> None:
        """Name the workers that all others wait for."""
        for space in self._spaces.values():
            for key, part in space.parts.items():
                waited = self._clock() - part.since
                if part.pushed and waited > SLOW and not part.slow_named:
                    part.slow_named = True
                    log.warning(
                        "server %d: all have waited for %s to push %s for %d s.",
                        self._number,
                        named(self._missing(part)),
                        key,
                        waited,
                    )

    # -- values -----------------------------------------------------------------------

    def _init(self, request: Request) -> None:
        header = request.header
        shape, dtype = tuple(header["shape"]), resolve(header["dtype"])
        space = self._space(request)
        value = _array(header, request.payload, shape, dtype)
        part = space.parts[header["key"]] = Part(shape, dtype, value)
        self._fit_width(space, part)
        self._answer(request)

    def _push(self, request: Request) -> None:
        space, part = self._space(request), self._part(request)
        if not request.header["sync"]:
            self._take(space, request, part, [request])
            self._answer_pushed(request, part)
            return
        if request.worker in part.pushed:
            raise ArgumentError(
                f"rank {request.worker} pushes {request.header['key']} twice in one "
                "round."
            )
        if not part.pushed:
            part.since, part.slow_named = self._clock(), False
        part.pushed[request.worker] = request
        if len(part.pushed) < self._workers:
            self._check_complete(part)
            return
        requests = [part.pushed[worker] for worker in sorted(part.pushed)]
        part.pushed = {}
        try:
            self._take(space, request, part, requests)
        except Exception as error:
            for one in requests:
                self._refuse(one, error)
            return
        for one in requests:
            self._answer_pushed(one, part)

    def _take(
        self, space: Space, request: Request, part: Part, requests: Sequence[Request]
    ) -> None:
        """Update with a sum of gradients, or keep the sum."""
        gradients = [
            _array(one.header, one.payload, part.shape, part.dtype) for one in requests
        ]
        if part.value.dtype != part.dtype:
            gradients = [one.astype(part.value.dtype) for one in gradients]
        total = gradients[0]
        for one in gradients[1:]:
            total = total + one
        if space.updater is None:
            if not request.header["sync"]:
                raise ArgumentError(
                    "an asynchronous store updates with each push, so it needs an "
                    "optimizer. Call set_optimizer before the first push."
                )
            part.value = total
            return
        with attributed(phase="update"):
            space.updater(request.header["index"], total, part.value)
        part.value.wait_to_read()

    def _answer_pushed(self, request: Request, part: Part) -> None:
        """Answer a push; with the value, if the worker asked for both at once."""
        payload = self._sent(part) if request.header.get("back") else None
        self._answer(request, payload)

    def _pull(self, request: Request) -> None:
        self._answer(request, self._sent(self._part(request)))

    def _sent(self, part: Part) -> Bytes:
        """A copy of the value of a part, as it travels; all rows of a sparse one."""
        value = part.value
        dense = value.tostype("default") if value.stype != "default" else value
        found = dense.asnumpy().astype(part.dtype, copy=False)
        return _flat(found)

    def _rows(self, request: Request) -> None:
        """Answer with the rows that a worker names, each once and in order."""
        part = self._part(request)
        assert request.payload is not None or not request.header["rows"]
        numbers = (
            np.empty(0, np.int64)
            if request.payload is None
            else request.payload.view(np.int64)
        )
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < part.shape[0]:
            raise ShapeError(
                f"{request.header['key']} has {part.shape[0]} rows here; row "
                f"{numbers.max()} was asked for."
            )
        kept = nd.sparse.retain(part.value, nd.array(numbers, dtype=np.int64))
        found = kept.indices.asnumpy().astype(np.int64)
        rows = kept.data.asnumpy().astype(part.dtype, copy=False)
        payload = np.concatenate([_flat(found), _flat(rows)])
        self._answer(request, payload, rows=int(found.size))

    def _drop(self, request: Request) -> None:
        """A worker has dropped the store; after the last one its values go."""
        space = self._space(request)
        space.dropped.add(request.worker)
        if len(space.dropped) == self._workers:
            del self._spaces[request.header["store"]]
        self._answer(request)

    def _missing(self, part: Part) -> list[int]:
        return [k for k in range(self._workers) if k not in part.pushed]

    def _check_complete(self, part: Part) -> None:
        """Refuse pushes that wait for a worker that has left."""
        gone = [worker for worker in self._missing(part) if worker in self._left]
        if not (part.pushed and gone):
            return
        requests, part.pushed = list(part.pushed.values()), {}
        for one in requests:
            problem = MXNetError(
                f"rank {gone[0]} {self._left[gone[0]]} and takes no part in: push of "
                f"{one.header['key']}."
            )
            self._refuse(one, problem)

    def _fit_width(self, space: Space, part: Part) -> None:
        if space.wide and part.dtype == FLOAT16:
            part.value = part.value.astype(FLOAT32)

    # -- the optimizer ----------------------------------------------------------------

    def _optimizer(self, request: Request) -> None:
        """Update from now on; the optimizer comes from a process of the same job."""
        assert request.payload is not None
        try:
            optimizer = pickle.loads(request.payload.tobytes())
        except (AttributeError, ImportError) as reason:
            raise ArgumentError(
                f"the optimizer's class is not known to the server ({reason}). Put it "
                "into a module that can be imported, not into the program itself."
            ) from reason
        space = self._space(request)
        space.updater = get_updater(optimizer)
        space.wide = bool(optimizer.multi_precision)
        for part in space.parts.values():
            self._fit_width(space, part)
        self._answer(request)

    def _settings(self, request: Request) -> None:
        """Change numbers of the optimizer, such as its learning rate."""
        optimizer = self._updater(request).optimizer
        for name, value in request.header["settings"].items():
            setattr(optimizer, name, value)
        self._answer(request)

    def _states(self, request: Request) -> None:
        content = self._updater(request).get_states(request.header["dump_optimizer"])
        self._answer(request, np.frombuffer(content, np.uint8))

    def _set_states(self, request: Request) -> None:
        assert request.payload is not None
        self._updater(request).set_states(request.payload.tobytes())
        self._answer(request)

    def _updater(self, request: Request) -> Updater:
        updater = self._space(request).updater
        if updater is None:
            raise ArgumentError(
                "the store runs no optimizer. Call set_optimizer first."
            )
        return updater

    def _profile(self, request: Request) -> None:
        """Profile this process; its files are named as MXNet's servers name them."""
        profiler = import_module("minimx.profiler")
        values = dict(request.header["values"])
        if "filename" in values:
            values["filename"] = _own_file(values["filename"], self._number)
        getattr(profiler, request.header["what"])(**values)
        self._answer(request)

    # -- answers ----------------------------------------------------------------------

    def _space(self, request: Request) -> Space:
        return self._spaces.setdefault(request.header["store"], Space())

    def _part(self, request: Request) -> Part:
        key = request.header["key"]
        part = self._space(request).parts.get(key)
        if part is None:
            raise ArgumentError(f"server {self._number} has no value for {key}.")
        return part

    def _answer(
        self, request: Request, payload: Bytes | None = None, **more: Any
    ) -> None:
        self._record(request, payload)
        self._reply(request, more, payload)

    def _refuse(self, request: Request, error: Exception) -> None:
        text = f"server {self._number}: {error}"
        self._reply(request, {"error": text, "kind": type(error).__name__}, None)

    def _record(self, request: Request, payload: Bytes | None) -> None:
        listener = events.recorder
        if listener is None or "key" not in request.header:
            return
        if request.worker == self._here:
            return
        me, it = f"server {self._number}", f"rank {request.worker}"
        key = str(request.header["index"])
        for sent, src, dst in ((request.payload, it, me), (payload, me, it)):
            if sent is not None:
                listener.communication(
                    request.begin, events.clock(), key, src, dst, sent.size, "update"
                )


def _array(
    header: Header,
    payload: Bytes | None,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
) -> NDArray:
    """The array that a message carries: dense, packed, or some rows."""
    given = np.empty(0, np.uint8) if payload is None else payload
    if "packed" in header:
        from minimx.kvstore import packing  # imports numba

        out = np.empty(shape, np.float32)
        unpack = getattr(packing, "unpack" + header["packed"][0])
        unpack(given, np.float32(header["threshold"]), out.reshape(-1))
        return nd.array(out, dtype=np.float32)
    if "rows" in header:
        count = header["rows"]
        numbers = given[: 8 * count].view(np.int64)
        rows = given[8 * count :].view(dtype).reshape(count, *shape[1:])
        if not count:
            none: NDArray = nd.sparse.zeros(ROWS, shape, dtype=dtype)
            return none
        found: NDArray = nd.sparse.row_sparse_array((rows, numbers), shape, dtype=dtype)
        return found
    values = given.view(dtype)
    if values.size != int(np.prod(shape)):
        raise ShapeError(
            f"{header['key']} has {int(np.prod(shape))} elements here; {values.size} "
            "were pushed."
        )
    return nd.array(values.reshape(shape), dtype=dtype)


def _flat(array: np.ndarray[Any, Any]) -> Bytes:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _own_file(name: str, number: int) -> str:
    """The file of a server; MXNet's worker gives it a name, the server its number.

    >>> _own_file("out/profile.json", 1)
    'out/rank1_profile.json'
    """
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}rank{number}_{last}"
