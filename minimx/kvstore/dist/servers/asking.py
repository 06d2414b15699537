"""Requests to servers whose answers are waited for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.core import engine
from minimx.core.engine.var import Var
from minimx.core.errors import ProfilerError
from minimx.kvstore.dist import job as jobs
from minimx.kvstore.dist.servers.post import Bytes, Header
from minimx.kvstore.dist.servers.service import Message

Answer = tuple[Header, Bytes | None]


def ask(
    job: jobs.Job,
    messages: Sequence[Message],
    text: str,
    reads: Sequence[Var] = (),
    key: str = "",
    priority: int = 0,
) -> list[Answer]:
    """The answers to some requests, in their order.

    text: what is asked. reads: what has to be ready before. key: as which the bytes are
    recorded. Raises what a server raised.
    """
    var = Var()
    found: dict[int, Answer] = {}

    def came(number: int, header: Header, payload: Bytes | None) -> None:
        found[number] = header, payload

    job.exchange(
        lambda: messages, came, text, "KVStoreDistAsk", [*reads], [var], priority, key
    )
    engine.wait_to_read(var)
    return [found[number] for number in range(len(messages))]


def ask_all(
    job: jobs.Job,
    header: Header,
    payloads: Sequence[Bytes] | None = None,
    reads: Sequence[Var] = (),
) -> list[Answer]:
    """The answer of each server to a request, such as `states`; see `ask`."""
    count = len(job.roles.servers)
    given: Sequence[Bytes | None] = payloads or [None] * count
    messages = [Message(k, header, given[k]) for k in range(count)]
    return ask(job, messages, str(header["do"]), reads)


def profile_servers(what: str, values: dict[str, Any]) -> None:
    """Call a function of the profiler in all processes that only serve.

    As in MXNet rank 0 sends it, and other workers do nothing. Raises `ProfilerError`
    if there are no such processes.
    """
    job = jobs.current()
    if job is None or not job.roles.dedicated:
        raise ProfilerError(
            "profile_process='server': this program has no servers of their own. Start "
            "it with: minimx launch -n 2 -s 1 train.py, and make its store first."
        )
    job.serve()
    if job.rank == 0:
        ask_all(job, {"do": "profile", "store": 0, "what": what, "values": values})
