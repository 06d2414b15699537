"""Workers' requests to servers, and servers' answers, between the threads of a process.

An `Exchange` is an operation of the engine that ends when all its answers have come. It
begins and ends on the thread of MPI. A server of this process works on a thread of its
own, because it waits for the engine, which must never keep MPI waiting.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from minimx.core import errors as known_errors
from minimx.core import events
from minimx.kvstore.dist.operations import Outside, fail
from minimx.kvstore.dist.roles import Roles
from minimx.kvstore.dist.servers.post import Bytes, Header, Post
from minimx.kvstore.dist.servers.server import SLOW, Request, Server
from minimx.kvstore.dist.start import JobError, launched

log = logging.getLogger(__name__)


class Message(NamedTuple):
    """A request to a server, by the number of the server."""

    server: int
    header: Header
    payload: Bytes | None = None


class Exchange(Outside):
    """An operation that asks servers, and ends when all have answered.

    begin: gives the requests, when the operation's vars are ready. came: called with
    the place of a request among these and its answer. text: what it does.
    """

    __slots__ = ("begin", "came", "key", "left", "phase", "since", "text")

    begin: Callable[[], Sequence[Message]]
    came: Callable[[int, Header, Bytes | None], object]
    key: str
    left: int
    phase: str
    since: float
    text: str


class Asked(NamedTuple):
    """A request on its way: of which operation, its place there, when it was sent."""

    exchange: Exchange
    place: int
    message: Message
    begin: int


class Service:
    """What a process has to do with servers: it asks them, and may be one or several.

    process: its rank among all of the job. finish: gives an operation's vars back.
    """

    def __init__(
        self,
        post: Post,
        roles: Roles,
        process: int,
        finish: Callable[[Exchange], None],
    ) -> None:
        self.post, self._roles, self._process = post, roles, process
        self._finish = finish
        self._numbers = count()
        self.stores = count()  # made here; as many on all workers when a key is begun
        self.dropped: deque[int] = deque()  # stores that no rank here has any more
        self._asked: dict[int, Asked] = {}
        self._slow_named: set[int] = set()
        self._requests: SimpleQueue[Any] = SimpleQueue()  # None: the end
        self._answers: SimpleQueue[tuple[int, Header, Bytes | None, int]] = (
            SimpleQueue()
        )
        workers = len(roles.workers)
        works = process in roles.workers
        here = roles.workers.index(process) if works else None
        self._servers = {
            number: Server(number, workers, self._reply, here)
            for number, host in enumerate(roles.servers)
            if host == process
        }
        self.last_active = time.monotonic()
        self.deadlock = (
            ""  # why workers of servers here wait for each other, if they do
        )

    # -- the worker's side, on the thread of MPI ---------------------------------------

    def begin(self, exchange: Exchange) -> None:
        """Send the requests of an operation whose vars are ready."""
        messages = exchange.begin()
        exchange.left, exchange.since = len(messages), time.monotonic()
        if not messages:
            self._finish(exchange)
        for place, message in enumerate(messages):
            number = next(self._numbers)
            asked = Asked(exchange, place, message, events.clock())
            self._asked[number] = asked
            header = {**message.header, "to": message.server, "id": number}
            host = self._roles.servers[message.server]
            self.post.send(host, header, message.payload, exchange.priority)

    def _answered(self, header: Header, payload: Bytes | None) -> None:
        asked = self._asked.pop(header["of"])
        exchange = asked.exchange
        if "error" in header:
            fail(exchange, _error(header))
        else:
            self._record(asked, payload)
            exchange.came(asked.place, header, payload)
        exchange.left -= 1
        if exchange.left == 0:
            self._finish(exchange)

    def _record(self, asked: Asked, payload: Bytes | None) -> None:
        listener, exchange = events.recorder, asked.exchange
        if listener is None or not exchange.key:
            return
        me = self._roles.title(self._process)
        it = f"server {asked.message.server}"
        for sent, src, dst in ((asked.message.payload, me, it), (payload, it, me)):
            if sent is not None:
                listener.communication(
                    asked.begin,
                    events.clock(),
                    exchange.key,
                    src,
                    dst,
                    sent.size,
                    exchange.phase,
                )

    def fail(self, failure: JobError) -> None:
        """Let everything that waits for an answer fail."""
        for exchange in {
            id(a.exchange): a.exchange for a in self._asked.values()
        }.values():
            fail(exchange, failure)
            self._finish(exchange)
        self._asked.clear()

    @property
    def waits(self) -> bool:
        """Whether answers are missing."""
        return bool(self._asked)

    def name_the_slow(self) -> None:
        """Say which requests have waited for `SLOW` seconds, once each."""
        now = time.monotonic()
        for number, asked in self._asked.items():
            if now - asked.exchange.since > SLOW and number not in self._slow_named:
                self._slow_named.add(number)
                log.warning(
                    "%s: no answer from server %d for %d s; %s.",
                    asked.exchange.text,
                    asked.message.server,
                    SLOW,
                    self.post.counts,
                )

    # -- both sides --------------------------------------------------------------------

    def step(self) -> None:
        """Send and receive what can be now."""
        try:
            while True:
                self.post.send(*self._answers.get_nowait())
        except Empty:
            pass
        for source, frame in self.post.step():
            self.last_active = time.monotonic()
            header = frame.header
            if "of" in header:
                self._answered(header, frame.payload)
                continue
            worker = self._roles.workers.index(source)
            request = Request(worker, header, frame.payload, events.clock())
            self._requests.put(request)

    # -- the server's side, on a thread of its own -------------------------------------

    def serve(self) -> None:
        """Work on requests until `stop`."""
        while True:
            try:
                request = self._requests.get(timeout=1.0)
            except Empty:
                for server in self._servers.values():
                    server.look()
                continue
            if request is None:
                return
            if isinstance(request, Request):
                self._servers[request.header["to"]].handle(request)
            else:
                worker, why, left = request
                for server in self._servers.values():
                    if left:
                        server.leave(worker, why)
                    else:
                        self.deadlock = server.deadlock(worker, why) or self.deadlock

    def begin_to_serve(self) -> None:
        """Start the thread of the servers of this process, if it has some."""
        if self._servers:
            threading.Thread(target=self.serve, name="server", daemon=True).start()

    def left(self, worker: int, why: str) -> None:
        """A worker will ask for nothing more."""
        self._requests.put((worker, why, True))

    def waiting(self, worker: int, why: str) -> None:
        """A worker waits for the others, and asks for nothing until they come."""
        self._requests.put((worker, why, False))

    def stop(self) -> None:
        """End `serve`."""
        self._requests.put(None)

    def _reply(self, request: Request, header: Header, payload: Bytes | None) -> None:
        to = self._roles.workers[request.worker]
        header = {**header, "of": request.header["id"]}
        self._answers.put((to, header, payload, request.header["priority"]))


def _error(header: Header) -> Exception:
    """What a server says is wrong, as an error of the same kind where it is ours."""
    kind = getattr(known_errors, header["kind"], known_errors.MXNetError)
    if not (isinstance(kind, type) and issubclass(kind, known_errors.MXNetError)):
        kind = known_errors.MXNetError
    found: Exception = kind(header["error"])
    return found


def serve_if_launched() -> None:
    """Serve until all workers have ended, then exit; nothing in other processes.

    As in MXNet, the program is the same for all, and `import minimx` calls this where
    DMLC_ROLE says that the process only serves.

    The exit code is 0, or 1 if a worker has failed.
    """
    if not launched():
        return
    # This runs while `minimx` is being imported; other threads, which import parts of
    # it when they need them, would wait for the end of that.
    sys.modules["minimx"].__spec__._initializing = False  # type: ignore[union-attr]
    from minimx.kvstore.dist.job import job  # which needs this module

    job().serve().serve()
    sys.exit(0)
