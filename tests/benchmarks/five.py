"""What the five switches of the lab change, as the lab itself measures it.

    python -m tests.benchmarks.five            # the table, as Markdown

Each is turned between two steps of a training that goes on, and turned back. Bytes and
counts are the same on every machine of one kind; milliseconds are not.
"""

from __future__ import annotations

from collections.abc import Callable

import minimx as mx
from minimx.knobs import knobs
from minimx_widgets import Lab
from minimx_widgets.turns import Turn
from minimx_widgets.units import human_bytes

STEPS = 8
Figure = tuple[str, Callable[[float], str]]
PEAK: Figure = ("peak", human_bytes)
RESERVED: Figure = ("reserved", human_bytes)
MILLISECONDS: Figure = ("ms", lambda value: f"{value:.0f} ms")
CALLS: Figure = ("driver_calls", lambda value: f"{value:.0f} driver calls")

#: Network, what is turned, its old and new values, and the figures to show.
TURNS: tuple[tuple[str, str, dict[str, str], dict[str, str], tuple[Figure, ...]], ...]
TURNS = (
    (
        "lenet", "engine: naive",
        {"MXNET_ENGINE_TYPE": "ThreadedEnginePerDevice"},
        {"MXNET_ENGINE_TYPE": "NaiveEngine"}, (PEAK,),
    ),
    (
        "lenet", "pool: none",
        {"MXNET_CPU_MEM_POOL_TYPE": "Naive"},
        {"MXNET_CPU_MEM_POOL_TYPE": "Unpooled"}, (CALLS, RESERVED),
    ),
    (
        "lenet", "in-place: off",
        {"MXNET_EXEC_ENABLE_INPLACE": "1"},
        {"MXNET_EXEC_ENABLE_INPLACE": "0"}, (PEAK,),
    ),
    (
        "resnet", "mirror: best",
        {"MXNET_BACKWARD_DO_MIRROR": "0"},
        {"MINIMX_MIRROR": "best", "MXNET_BACKWARD_DO_MIRROR": "1"}, (PEAK,),
    ),
    ("resnet", "precision: float16", {"dtype": "float32"}, {"dtype": "float16"}, (PEAK,)),
)  # fmt: skip


def steps(lab: Lab, count: int) -> None:
    """Train so many steps."""
    for _ in range(count):
        lab.step()
        lab.wait(120)
        mx.nd.waitall()


def turn(lab: Lab, values: dict[str, str]) -> Turn:
    """Turn knobs or a setting, train on, and return what that changed."""
    for name, text in values.items():
        if name in vars(lab.settings):
            lab.set(name, text)
        else:
            knobs.set(**{name: text})
    steps(lab, STEPS + 1)
    turned = lab.turns.last
    assert turned is not None
    return turned


def rows() -> list[str]:
    """The lines of the table."""
    found, labs = [], {name: Lab(name) for name in ("lenet", "resnet")}
    for network, what, old, new, figures in TURNS:
        lab = labs[network]
        steps(lab, STEPS + 1)
        there, back = turn(lab, new), turn(lab, old)
        cells = []
        for figure, words in figures:
            each = (there.before, there.after, back.after)
            values = [getattr(facts, figure) for facts in each]
            cells.append(" → ".join(words(value) for value in values))
        found.append(f"| {what} | {network} | {'; '.join(cells)} |")
    for lab in labs.values():
        lab.close()
    return found


if __name__ == "__main__":
    print("| turned and turned back | network | per step: before → turned → back |")
    print("| --- | --- | --- |")
    print("\n".join(rows()))
