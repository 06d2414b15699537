"""`mx.profiler`: where time and memory went, as the runtime itself records it.

    mx.profiler.set_config(profile_all=True, aggregate_stats=True)
    mx.profiler.set_state("run")
    ...                                       # train
    mx.nd.waitall()
    mx.profiler.set_state("stop")
    print(mx.profiler.dumps())                # a table
    mx.profiler.dump()                        # profile.json, for ui.perfetto.dev

The profiler is a `Record` of its own beside whichever else listens. Reading order:
`settings.py`, `session.py` (the mechanism), `trace.py` and `aggregate.py` (pure:
records in, texts out), `objects.py` (what a program measures itself), `check.py` (the
rules of a trace).
"""

from __future__ import annotations

from typing import Any

from minimx.core.errors import ProfilerError
from minimx.core.record import Record
from minimx.profiler.check import check_trace
from minimx.profiler.imported import load
from minimx.profiler.objects import Counter, Domain, Event, Frame, Marker, Task, scope
from minimx.profiler.session import ProfilerWarning, profiler
from minimx.profiler.settings import checked
from minimx.profiler.totals import Overview, overview_of, roof_of

__all__ = [
    "Counter", "Domain", "Event", "Frame", "Marker", "Overview", "ProfilerWarning",
    "Task", "check_trace", "dump", "dump_profile", "dumps", "load", "overview", "pause",
    "profiler_set_config", "profiler_set_state", "resume", "scope", "set_config",
    "set_kvstore_handle", "set_state",
]  # fmt: skip


def set_config(**kwargs: Any) -> None:
    """Choose what is profiled and where it goes; see `minimx.profiler.settings`.

    profile_all, profile_symbolic, profile_imperative, profile_memory, profile_api,
    filename, continuous_dump, dump_period, aggregate_stats,
    gpu_memory_profile_filename_prefix, profile_process; profile_dependencies is ours.

    An existing file of that name is deleted. Raises `ProfilerError` for another name.
    """
    if _here("set_config", kwargs.pop("profile_process", "worker"), **kwargs):
        profiler.set_config(checked(**kwargs))


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Start (`run`) or stop profiling (`stop`); the records are kept for `dump`.

    Either ends a pause. A stop without a run warns (`ProfilerWarning`). Raises
    `ProfilerError` for another state. profile_process: `server` for the servers of a
    distributed job, which is `ProfilerError` where there are none.
    """
    if _here("set_state", profile_process, state=state):
        profiler.set_state(state)


def pause(profile_process: str = "worker") -> None:
    """Record nothing from here on, until `resume`; the state stays `run`.

    profile_process: as of `set_state`.
    """
    if _here("pause", profile_process):
        profiler.pause(True)


def resume(profile_process: str = "worker") -> None:
    """Record again after `pause`; profile_process: as of `set_state`."""
    if _here("resume", profile_process):
        profiler.pause(False)


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write the trace; with `finished` the profile ends, and the next run is another.

    Raises `ProfilerError` if the file cannot be written; nothing is lost by that.
    profile_process: as of `set_state`; server i writes `rank<i>_` before the name.
    """
    if _here("dump", profile_process, finished=finished):
        profiler.dump(finished)


def dumps(
    reset: bool = False,
    format: str = "table",
    sort_by: str = "total",
    ascending: bool = False,
) -> str:
    """What took how long, by category and name.

    reset: forget it afterwards. format: `table` or `json`. sort_by: `total`, `avg`,
    `min`, `max` or `count`, the largest first unless `ascending`.
    """
    return profiler.dumps(reset, format, sort_by, ascending)


def overview(record: Record | None = None, measure: bool = True) -> Overview:
    """Where time and memory of a run went; print it for the tables.

    record: of the run; without it what the profiler has recorded since its last dump.
    measure: find out how fast this machine is, once, which takes some seconds. Without
    it operators are held against a roof only if it was measured before.

    >>> from minimx import nd
    >>> from minimx.core.record import Record
    >>> with Record(calls=True) as record:
    ...     nd.dot(nd.ones((8, 8)), nd.ones((8, 8))).wait_to_read()
    >>> found = overview(record, measure=False)
    >>> [(each.name, each.calls, each.flops) for each in found.operators if each.flops]
    [('dot', 1, 1024)]
    >>> all(sum(lane.ns) == found.span for lane in found.lanes)
    True

    Raises `ProfilerError` if there is neither.
    """
    if record is None:
        if profiler.profile is None:
            raise ProfilerError(
                "profiler.overview: the profiler has recorded nothing since its last "
                "dump. Give a record, or call set_state('run') first."
            )
        record = profiler.profile.record
    return overview_of(record, roof_of(record, measure))


def _here(what: str, profile_process: str, **values: Any) -> bool:
    """Whether a call is for this process; one for the servers is sent to them."""
    if profile_process not in ("worker", "server"):
        raise ProfilerError(
            f"profile_process={profile_process!r}; there are 'worker' and 'server'."
        )
    if profile_process == "worker":
        return True
    from minimx.kvstore.dist.servers.asking import profile_servers

    profile_servers(what, values)
    return False


def set_kvstore_handle(handle: Any) -> None:
    """Accepted, so that programs run: only servers would need it."""


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Spell `set_config` as MXNet 0.x did; mode: `symbolic`, `imperative`, `all`, ….

    Raises `ProfilerError` for another mode.
    """
    modes = ("symbolic", "imperative", "api", "memory")
    if mode not in (*modes, "all"):
        raise ProfilerError(f"mode={mode!r}; there are {', '.join(modes)} and all.")
    wanted = {f"profile_{each}": mode in (each, "all") for each in modes}
    set_config(filename=filename, **wanted)


def profiler_set_state(state: str = "stop") -> None:
    """Spell `set_state` as MXNet 0.x did."""
    set_state(state)


def dump_profile() -> None:
    """Spell `dump` as MXNet 0.x did."""
    dump(True)
