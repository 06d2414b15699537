"""The engine: the operations of a recorded step, scheduled again on other workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minimx.core.engine.lanes import Sizes
from minimx.core.knobs import knobs
from minimx.experiments.machine import Machine
from minimx.experiments.operations import Operations, Overheads
from minimx.experiments.schedule import Engine, simulated

ENGINE, WORKERS = "MXNET_ENGINE_TYPE", "MXNET_CPU_WORKER_NTHREADS"


def answer(data: Mapping[str, Any], turned: Mapping[str, Any]) -> dict[str, Any]:
    """Figures of the schedule, and when which operation ran on which worker.

    data: the operations of a record, and its knobs. turned: the engine, and the number
    of its workers.
    """
    checked = {name: knobs.declared[name].check(turned[name]) for name in turned}
    values = {**data["knobs"], **checked}
    operations = read(data)
    engine = Engine(values[ENGINE], Sizes(cpu_workers=values[WORKERS]))
    found = simulated(operations, engine, Machine.of({}), operations.ns)
    _, _, start, end, worker, names, pushes, _ = found
    makespan = max(end)
    rows: dict[int, list[Any]] = {}
    for place, number in enumerate(worker):
        if number >= 0:
            moment = [operations.name[place], start[place], end[place]]
            rows.setdefault(number, []).append(moment)
    busy = sum(last - first for row in rows.values() for _, first, last in row)
    share = round(100 * busy / (makespan * len(rows)))
    return {
        "figures": {
            "makespan": [makespan, f"{makespan / 1e6:.3f} ms"],
            "busy": [busy, f"{busy / 1e6:.3f} ms"],
            "workers": [len(rows), f"{len(rows)}"],
            "share": [share, f"{share} %"],
            "pushes": [pushes, f"{pushes}"],
        },
        "lanes": [[names[number], rows[number]] for number in sorted(rows)],
        "longest": data["longest"],
    }


def read(data: Mapping[str, Any]) -> Operations:
    """The operations, as far as a schedule reads them; they have no record here."""
    columns = ("name", "phase", "device", "worker", "kind", "priority", "ns", "gap")
    nothing: Any = None
    return Operations(
        **{column: data[column] for column in (*columns, "waits", "inside")},
        op=[*range(1, len(data["name"]) + 1)],
        before=[tuple(each) for each in data["before"]],
        overheads=Overheads(*data["overheads"]),
        record=nothing,
        rows=nothing,
        layer=[],
        copies={},
        pushed=nothing,
        start=nothing,
        end=nothing,
        lost=0,
        outside=0,
        guessed=False,
    )
