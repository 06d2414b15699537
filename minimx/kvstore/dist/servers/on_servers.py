"""Stores whose values are on servers: what a user calls.

    dist_async, dist_async_device     servers update with each push, without waiting
    dist_sync, …                      where the job has servers of their own: they add
                                      what all workers push, and update once

`p3.py` has those that send in slices.

A job without processes of its own for servers has a server in every worker, on a thread
beside the program. What a worker sends is planned in `planners.placement`. A push ends
when the server has answered, so a pull of the same key finds what the push has done.
"""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

import minimx.nd as nd
from minimx.core import autograd, engine
from minimx.core.arrays.array import NDArray
from minimx.core.device import cpu
from minimx.core.engine.var import Var
from minimx.core.errors import ArgumentError, Unavailable
from minimx.core.events import attributed
from minimx.core.knobs import knobs
from minimx.kvstore.base import KVStoreBase
from minimx.kvstore.bucketing import Gradient
from minimx.kvstore.compression import Compression
from minimx.kvstore.dist.servers.asking import Answer, ask, ask_all
from minimx.kvstore.dist.servers.known import Known, cut_rows, joined_rows, memory_of
from minimx.kvstore.dist.servers.post import Bytes, Header
from minimx.kvstore.dist.servers.server import ROWS
from minimx.kvstore.dist.servers.service import Message
from minimx.kvstore.dist.servers.states import (
    RemoteUpdater,
    settings_of,
    without_parameters,
)
from minimx.kvstore.dist.store import DistStore
from minimx.kvstore.execution import gathered, overwrite
from minimx.kvstore.local import Key, by_key
from minimx.kvstore.planners.placement import Part, place
from minimx.optimizer import Optimizer


class ServerStore(DistStore):
    """Values by key, on servers.

    kind: the name it is created by.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self._service = self._job.serve()
        self._number = next(self._service.stores)
        # A finalizer may run anywhere; servers hear of it with the next keys.
        weakref.finalize(self, self._service.dropped.append, self._number)
        self._servers = len(self._job.roles.servers)
        self._sync = "_async" not in kind
        self._stored: dict[Key, Any]  # what is known of each key
        self._packing: Compression | None = None
        self._settings: dict[str, Any] = {}  # of the optimizer, as servers have them

    # -- values -----------------------------------------------------------------------

    def init(self, key: Any, value: Any) -> None:
        """Store rank 0's first value of a key; returns when all workers have come.

        Raises `JobError` if keys, shapes or dtypes differ between workers.
        """
        fresh = by_key(key, value)
        self._check_keys(fresh)
        texts, messages = [], self._messages_of_dropped()
        for one, values in fresh.items():
            if one in self._stored or len(values) > 1:
                raise ArgumentError(
                    f"the key {one!r} of the store is begun twice. Push to a key that "
                    "has a value, or make another store."
                )
            known = self._stored[one] = self._known(one, values[0])
            texts.append(f"{one!r} {known.shape} {known.dtype} {known.stype}")
            if self.rank == 0:
                with autograd.pause():
                    messages += self._first(one, known, values[0].copyto(cpu()))
        ask(self._job, messages, f"init of {', '.join(texts)}")
        self._job.agree(f"init of {', '.join(texts)}")

    def _messages_of_dropped(self) -> list[Message]:
        """Let servers forget stores that this worker has no more."""
        dropped, found = self._service.dropped, []
        while dropped:
            header = {"do": "drop", "store": dropped.popleft()}
            found += [Message(server, header) for server in range(self._servers)]
        return found

    def _known(self, key: Key, value: NDArray) -> Known:
        shape, dtype = value.shape, np.dtype(value.dtype)
        parts = self._parts(key, value.stype, shape)
        return Known(shape, dtype, value.stype, parts, Var())

    def _parts(self, key: Key, stype: str, shape: tuple[int, ...]) -> tuple[Part, ...]:
        """Which server keeps what: elements of a dense array, rows of a sparse one."""
        number = key if isinstance(key, int) else len(self._stored)
        size, bound = int(np.prod(shape)), int(knobs.MXNET_KVSTORE_BIGARRAY_BOUND)
        if stype != ROWS:
            return place(number, size, self._servers, bound)
        return place(number, shape[0], self._servers, 0 if size >= bound else 1 << 62)

    def _first(self, key: Key, known: Known, value: NDArray) -> list[Message]:
        header = {"do": "init", "dtype": str(known.dtype)}
        messages = []
        if known.stype == ROWS:
            cut = cut_rows(known, value)
        else:
            memory = memory_of(value.asnumpy())
            cut = [({}, memory[known.bytes_of(part)]) for part in known.parts]
        for part, (more, payload) in zip(known.parts, cut, strict=True):
            shape = list(known.shape_of(part))
            about = {**header, **more, "shape": shape}
            messages.append(self._message(key, part, about, payload))
        return messages

    def _receive(self, key: Key, values: list[NDArray], priority: int) -> None:
        self._send_settings()
        with engine.urgent(priority), attributed(category="communication"):
            total = gathered(self._reduced(key, values), cpu())
            self._push(key, total, priority)

    def _push(self, key: Key, total: NDArray, priority: int) -> None:
        known: Known = self._stored[key]
        cut: Sequence[tuple[Header, Any]]
        if total.stype != "default":
            cut = cut_rows(known, total)
            if knobs.MXNET_KVSTORE_DIST_ROW_SPARSE_VERBOSE:
                for part, (more, _) in zip(known.parts, cut, strict=True):
                    print(
                        f"push of {key!r}: {more['rows']} rows to server {part.server}"
                    )
            self._push_parts(key, cut, [], "KVStoreDistPushRows", priority)
        elif self._packing is not None:
            flat, packing = total.reshape((-1,)), self._packing
            packed = [
                packing.pack(key, part.start, flat[part.start : part.stop])
                for part in known.parts
            ]
            about = {"packed": packing.kind, "threshold": packing.threshold}
            cut = [(about, array) for array in packed]
            reads = [array.chunk for array in packed]
            self._push_parts(key, cut, reads, "KVStoreDistPushPacked", priority)
        else:
            cut = [({}, (total, known.bytes_of(part))) for part in known.parts]
            self._push_parts(key, cut, [total.chunk], "KVStoreDistPush", priority)

    def _push_parts(
        self,
        key: Key,
        cut: Sequence[tuple[Header, Any]],
        reads: Sequence[Var],
        name: str,
        priority: int,
    ) -> None:
        """Push what each part is sent; it is read when `reads` are ready."""
        known: Known = self._stored[key]
        header = {"do": "push", "sync": self._sync}

        def begin() -> list[Message]:
            return [
                self._message(key, part, {**header, **more}, _bytes(content))
                for part, (more, content) in zip(known.parts, cut, strict=True)
            ]

        text = f"push of {key!r}"
        self._job.exchange(
            begin, _nothing, text, name, [*reads], [known.var], priority, str(key)
        )

    def pull(
        self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Copy the value of each key into all of its `out`, in their dtypes.

        ignore_sparse: leave sparse arrays among them as they are; they want
            `row_sparse_pull`.
        """
        work = by_key(key, out)
        for one, outs in work.items():
            self._check_shapes(one, outs)
        with autograd.pause(), engine.urgent(priority):
            for one, outs in work.items():
                dense = [target for target in outs if target.stype == "default"]
                if dense:
                    value = self._pulled(one, priority)
                    for target in dense:
                        overwrite(target, value)
                if len(dense) < len(outs) and not ignore_sparse:
                    rows = nd.arange(0, outs[0].shape[0], dtype=np.int64)
                    self.row_sparse_pull(
                        one, [x for x in outs if x.stype == ROWS], priority, rows
                    )

    def _pulled(self, key: Key, priority: int) -> NDArray:
        """The value of a key, dense, on the host; it comes when servers answer."""
        known: Known = self._stored[key]
        value = nd.empty(known.shape, ctx=cpu(), dtype=known.dtype)
        width = 1 if known.stype != ROWS else int(np.prod(known.shape[1:]))

        def begin() -> list[Message]:
            return [self._message(key, part, {"do": "pull"}) for part in known.parts]

        def came(number: int, _: Header, payload: Bytes | None) -> None:
            if payload is not None:
                part = known.parts[number]
                size = known.dtype.itemsize * width
                at = slice(part.start * size, part.stop * size)
                memory_of(value.view())[at] = payload

        self._job.exchange(
            begin,
            came,
            f"pull of {key!r}",
            "KVStoreDistPull",
            [known.var],
            [value.chunk],
            priority,
            str(key),
        )
        return value

    def pushpull_many(self, gradients: Sequence[Gradient]) -> None:
        """`pushpull` each back into itself, one by one."""
        KVStoreBase.pushpull_many(self, gradients)

    def row_sparse_pull(
        self, key: Any, out: Any = None, priority: int = 0, row_ids: Any = None
    ) -> None:
        """Copy the rows named by `row_ids` into row_sparse arrays.

        row_ids: one array of row numbers, in any order and repeated or not, for all of
            `out`, or a list with one for each. Returns when the rows have come.
        """
        outs, wanted = by_key(key, out), by_key(key, row_ids)
        with autograd.pause():
            for one, targets in outs.items():
                self._check_shapes(one, targets)
                kinds = {self._stored[one].stype, *(t.stype for t in targets)}
                if kinds != {ROWS}:
                    raise ArgumentError(
                        f"row_sparse_pull of {one!r}: the stored array and `out` must "
                        f"be stored as row_sparse; here are {sorted(kinds)}. Use pull."
                    )
                named = wanted[one] * (len(targets) if len(wanted[one]) == 1 else 1)
                for target, rows in zip(targets, named, strict=True):
                    numbers = np.unique(rows.asnumpy().astype(np.int64))
                    found = self._pulled_rows(one, numbers, priority)
                    overwrite(target, found.astype(target.dtype))

    def _pulled_rows(self, key: Key, numbers: Any, priority: int) -> NDArray:
        """The rows of a sparse key by their numbers, which rise."""
        known: Known = self._stored[key]
        messages = []
        for part in known.parts:
            begin, end = np.searchsorted(numbers, [part.start, part.stop])
            asked = memory_of(numbers[begin:end] - part.start)
            header = {"do": "rows", "rows": int(end - begin)}
            messages.append(self._message(key, part, header, asked))
        text = f"row_sparse_pull of {key!r}"
        answers = ask(self._job, messages, text, [known.var], str(key), priority)
        return joined_rows(known, answers)

    # -- requests ---------------------------------------------------------------------

    def _message(
        self, key: Key, part: Part, header: Header, payload: Bytes | None = None
    ) -> Message:
        name = f"{key!r} from {part.start}" if part.start else repr(key)
        about = {**header, "store": self._number, "key": name, "index": key}
        return Message(part.server, about, payload)

    def ask_all(
        self, header: Header, payloads: Sequence[Bytes] | None = None
    ) -> list[Answer]:
        """The answer of each server to a request, once all pushes are answered."""
        before = [known.var for known in self._stored.values()]
        about = {**header, "store": self._number}
        return ask_all(self._job, about, payloads, before)

    # -- optimizer --------------------------------------------------------------------

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Update the values on the servers by an optimizer; rank 0 sends it to them.

        What is changed later, such as its learning rate, follows with the next push of
        rank 0. Raises `JobError` if the workers give different optimizers or settings.
        """
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(
                "set_optimizer takes an Optimizer, such as "
                f"mx.optimizer.create('sgd'), not a {type(optimizer).__name__}."
            )
        settings = settings_of(optimizer)
        if self.rank == 0:
            content = pickle.dumps(without_parameters(optimizer))
            payload = np.frombuffer(content, np.uint8)
            self.ask_all({"do": "optimizer"}, [payload] * self._servers)
        self._settings = settings
        self._updater = RemoteUpdater(self, optimizer)
        self._job.agree(f"set_optimizer {type(optimizer).__name__} {settings}")

    def _send_settings(self) -> None:
        """Let servers know what has changed in the optimizer; rank 0's counts."""
        if self._updater is None or self.rank != 0:
            return
        now = settings_of(self._updater.optimizer)
        if now != self._settings:
            changed = dict(now.items() - self._settings.items())
            self._settings = now
            self.ask_all({"do": "settings", "settings": changed})

    def _set_updater(self, updater: Any) -> None:
        """Refused: a function of this process cannot be run by servers."""
        raise Unavailable(
            f"the store {self._name!r} updates on servers, which do not have functions "
            "of this program. Write a subclass of mx.optimizer.Optimizer, and give it "
            "to set_optimizer."
        )

    set_updater = _set_updater

    def _remembering(self) -> Any:
        if self._updater is None:
            raise ArgumentError(
                "the store runs no optimizer, so there are no states. Call "
                "set_optimizer first."
            )
        return self._updater

    def set_gradient_compression(self, compression_params: dict[str, Any]) -> None:
        """Send gradients to the servers in one or two bits; values come back whole.

        compression_params: see `Compression`.
        """
        self._packing = Compression(compression_params)


def _bytes(content: Any) -> Bytes:
    """What is sent: bytes, a packed array, or some bytes of an array."""
    if isinstance(content, np.ndarray):
        return content
    if isinstance(content, NDArray):
        return memory_of(content.view())
    array, at = content
    found: Bytes = memory_of(array.view())[at]
    return found


def _nothing(*_: object) -> None:
    """What becomes of an answer that says nothing."""
