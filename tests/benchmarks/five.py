"""What the five switches of the lab change, as the lab itself measures it.

    python -m tests.benchmarks.five            # the table, as Markdown

Each is turned between two steps of a training that goes on, and turned back. Bytes and
counts are the same on every machine of one kind; milliseconds are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import minimx as mx
from minimx.core.knobs import knobs
from minimx_widgets import Lab
from minimx_widgets.units import human_bytes

STEPS = 8
Figure = tuple[str, Callable[[float], str]]
PEAK: Figure = ("peak", human_bytes)
CALLS: Figure = ("driver_calls", lambda value: f"{value:.0f} driver calls")


@dataclass(frozen=True)
class Case:
    """A switch in a network: what is turned from where to where, and what to look at.

    figure: None for the workers that ran operations.
    """

    what: str
    network: str
    old: Mapping[str, str]
    new: Mapping[str, str]
    figure: Figure | None = PEAK


ENGINE, POOL = "MXNET_ENGINE_TYPE", "MXNET_CPU_MEM_POOL_TYPE"
INPLACE, MIRROR = "MXNET_EXEC_ENABLE_INPLACE", "MXNET_BACKWARD_DO_MIRROR"
CASES = (
    Case(
        "engine: naive",
        "lenet",
        {ENGINE: "ThreadedEnginePerDevice"},
        {ENGINE: "NaiveEngine"},
        None,
    ),
    Case("pool: none", "lenet", {POOL: "Naive"}, {POOL: "Unpooled"}, CALLS),
    Case("in-place: off", "lenet", {INPLACE: "1"}, {INPLACE: "0"}),
    Case(
        "mirror: best",
        "resnet",
        {MIRROR: "0"},
        {"MINIMX_MIRROR": "best", MIRROR: "1"},
    ),
    Case("precision: float16", "resnet", {"dtype": "float32"}, {"dtype": "float16"}),
)


def steps(lab: Lab, count: int) -> None:
    """Train so many steps."""
    for _ in range(count):
        lab.step()
        lab.wait(120)
        mx.nd.waitall()


def turn(lab: Lab, values: Mapping[str, str]) -> str:
    """Turn knobs or a setting and train on; the workers of the last two steps."""
    for name, text in values.items():
        if name in vars(lab.settings):
            lab.set(name, text)
        else:
            knobs.set(**{name: text})
    steps(lab, STEPS - 1)
    before = lab.record.rows("ops")
    steps(lab, 2)
    ops = lab.record.ops()[before:]
    return ", ".join(sorted(set(lab.record.texts(ops["worker"]))))


def looked_at(lab: Lab, case: Case) -> str:
    """What a case shows before it is turned, while it is, and afterwards."""
    workers = [turn(lab, values) for values in (case.old, case.new, case.old)]
    if case.figure is None:
        return "work by " + " → ".join(workers)
    back = lab.turns.all[-1]
    there = next(t for t in reversed(lab.turns.all[:-1]) if t.steps)
    figure, words = case.figure
    found = [
        getattr(facts, figure) for facts in (there.before, there.after, back.after)
    ]
    return f"{figure} ".replace("driver_calls ", "") + " → ".join(map(words, found))


def rows() -> list[str]:
    """The lines of the table."""
    labs = {name: Lab(name) for name in ("lenet", "resnet")}
    found = []
    for case in CASES:
        lab = labs[case.network]
        steps(lab, STEPS)
        found.append(f"| {case.what} | {case.network} | {looked_at(lab, case)} |")
    for lab in labs.values():
        lab.close()
    return found


if __name__ == "__main__":
    print("| turned and turned back | network | per step: before → turned → back |")
    print("| --- | --- | --- |")
    print("\n".join(rows()))
