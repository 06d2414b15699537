"""Messages between workers and servers: a small header, then the memory of an array.

A `Post` numbers messages, lets urgent ones overtake, and repeats lost ones; a *wire*
carries them: `MpiWire` between processes, `Loopback` within one. All calls come from
one thread, and none of them waits. Headers are JSON; nothing is unpickled here.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from minimx.core.knobs import knobs
from minimx.kvstore.dist.servers.reliable import Loss, Outbox, Reliable

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Header = dict[str, Any]

#: Messages to one receiver that MPI works on at a time: what is sent after them can
#: still be overtaken.
AT_ONCE: Final = 2
_HEADER: Final = 1
_PAYLOAD: Final = 2


class Frame(NamedTuple):
    """One message. payload: flat, uint8; None if the header says all."""

    header: Header
    payload: Bytes | None = None


class Wire(Protocol):
    """What carries messages; receivers and senders are known by number."""

    def send(self, to: int, frame: Frame) -> None:
        """Begin to send."""

    def room(self, to: int) -> bool:
        """Whether another message to a receiver should begin."""

    def received(self) -> Iterator[tuple[int, Frame]]:
        """(sender, message) for each that has come."""


class Loopback:
    """A wire within one process, which is number 0."""

    def __init__(self) -> None:
        self._frames: deque[Frame] = deque()

    def send(self, to: int, frame: Frame) -> None:
        """Hand a message over."""
        self._frames.append(frame)

    def room(self, to: int) -> bool:
        """Always."""
        return True

    def received(self) -> Iterator[tuple[int, Frame]]:
        """What was sent until now."""
        for _ in range(len(self._frames)):
            yield 0, self._frames.popleft()


class MpiWire:
    """A communicator of MPI; sends and receives do not wait."""

    def __init__(self, mpi: Any, communicator: Any) -> None:
        self._mpi, self._communicator = mpi, communicator
        # What MPI reads from or writes to is kept until it is done.
        self._sending: dict[int, list[tuple[list[Any], Any, Any]]] = defaultdict(list)
        self._receiving: list[tuple[Any, int, Frame]] = []

    def send(self, to: int, frame: Frame) -> None:
        """Begin to send."""
        size = 0 if frame.payload is None else frame.payload.size
        text = json.dumps({**frame.header, "bytes": size}).encode()
        words, byte = np.frombuffer(text, np.uint8), self._mpi.BYTE
        requests = [self._communicator.Isend([words, byte], dest=to, tag=_HEADER)]
        if size:
            request = self._communicator.Isend(
                [frame.payload, byte], dest=to, tag=_PAYLOAD
            )
            requests.append(request)
        self._sending[to].append((requests, words, frame.payload))

    def room(self, to: int) -> bool:
        """Whether MPI works on less than `AT_ONCE` messages to a receiver."""
        sending = self._sending[to]
        sending[:] = [one for one in sending if not _done(one[0])]
        return len(sending) < AT_ONCE

    def received(self) -> Iterator[tuple[int, Frame]]:
        """(sender, message) for each that has come as a whole."""
        mpi, status = self._mpi, self._mpi.Status()
        while self._communicator.Iprobe(mpi.ANY_SOURCE, _HEADER, status):
            words = np.empty(status.Get_count(mpi.BYTE), np.uint8)
            source = status.Get_source()
            self._communicator.Recv([words, mpi.BYTE], source=source, tag=_HEADER)
            header = json.loads(words.tobytes())
            size = header.pop("bytes")
            if not size:
                yield source, Frame(header)
                continue
            payload = np.empty(size, np.uint8)
            request = self._communicator.Irecv(
                [payload, mpi.BYTE], source=source, tag=_PAYLOAD
            )
            self._receiving.append((request, source, Frame(header, payload)))
        waiting, self._receiving = self._receiving, []
        for request, source, frame in waiting:
            if request.Test():
                yield source, frame
            else:
                self._receiving.append((request, source, frame))


def _done(requests: list[Any]) -> bool:
    return all(request.Test() for request in requests)


@dataclass
class Counts:
    """How many messages were sent, sent again, lost on purpose, and came twice."""

    sent: int = 0
    resent: int = 0
    lost: int = 0
    repeated: int = 0


class Post:
    """Messages of one process, by the knobs PS_… as they are now.

    seed: decides which messages PS_DROP_MSG loses. clock: in seconds. log: takes the
    lines of PS_VERBOSE.
    """

    def __init__(
        self,
        wire: Wire,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
        log: Callable[[str], object] | None = None,
    ) -> None:
        self.counts = Counts()
        self._wire, self._clock = wire, clock
        self._log = log or (lambda line: print(line, file=sys.stderr, flush=True))
        self._outbox: Outbox[Frame] = Outbox()
        self._reliable: Reliable[Frame] = Reliable()
        self._loss = Loss(seed)
        self._met: set[int] = set()

    def send(
        self, to: int, header: Header, payload: Bytes | None = None, priority: int = 0
    ) -> None:
        """Let a message wait for its turn; its payload must not change any more."""
        number = self._reliable.number(to)
        frame = Frame({**header, "n": number, "priority": priority}, payload)
        if knobs.PS_RESEND:
            frame.header["answer"] = True
            self._reliable.sent(to, number, frame, self._clock())
        self._outbox.put(to, frame, priority)

    def step(self) -> list[tuple[int, Frame]]:
        """Send and receive what can be now; the messages that have come."""
        found = [
            (source, frame)
            for source, frame in self._wire.received()
            if self._accepted(source, frame)
        ]
        if self._reliable.unanswered():
            timeout = int(knobs.PS_RESEND_TIMEOUT) / 1000
            for to, frame in self._reliable.due(self._clock(), timeout):
                self.counts.resent += 1
                self._say(2, "again to", to, frame.header)
                self._outbox.put(to, frame, frame.header["priority"])
        while self._outbox and (taken := self._outbox.take(self._wire.room)):
            to, frame = taken
            self.counts.sent += 1
            if to not in self._met:
                self._met.add(to)
                self._say(1, "first message to", to)
            self._say(2, "to", to, frame.header)
            self._wire.send(to, frame)
        return found

    def _accepted(self, source: int, frame: Frame) -> bool:
        """Whether a message is news; acknowledges it if the sender waits for that."""
        header = frame.header
        if self._loss.hits(int(knobs.PS_DROP_MSG)):
            self.counts.lost += 1
            self._say(2, "lost, from", source, header)
            return False
        self._say(2, "from", source, header)
        if "acknowledges" in header:
            self._reliable.acknowledged(source, header["acknowledges"])
            return False
        if header.get("answer"):
            self._wire.send(source, Frame({"acknowledges": header["n"]}))
        if self._reliable.fresh(source, header["n"]):
            return True
        self.counts.repeated += 1
        return False

    def _say(self, level: int, what: str, peer: int, header: Header | str = "") -> None:
        if int(knobs.PS_VERBOSE) >= level:
            self._log(f"[PS] {what} {peer} {header}".rstrip())

    @property
    def busy(self) -> bool:
        """Whether messages wait to be sent, or to be acknowledged."""
        return bool(self._outbox) or self._reliable.unanswered() > 0
