"""A turn in words: what was turned, what each figure was, is, and how it changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from minimx.core.knobs import knobs
from minimx_widgets.lab.turns import SETTLED, Turn
from minimx_widgets.training.meter import Facts
from minimx_widgets.units import counted, human_bytes, human_count, human_loss

#: What knobs and settings are called that learners meet first.
PLAIN = {
    "MXNET_ENGINE_TYPE": "Engine",
    "MXNET_CPU_MEM_POOL_TYPE": "Pool",
    "MXNET_GPU_MEM_POOL_TYPE": "Pool",
    "MXNET_EXEC_ENABLE_INPLACE": "In-place",
    "MXNET_BACKWARD_DO_MIRROR": "Mirror",
    "MINIMX_MIRROR": "Mirror policy",
    "dtype": "Precision",
    "scaling": "Loss scale",
    "graph": "Runs",
    "learning_rate": "Learning rate",
    "batch_size": "Batch size",
    "averaged": "Loss averaged over",
    "devices": "Devices",
    "store": "Store",
}
LESS, MORE, NEITHER = "less", "more", ""
UP, DOWN, SAME = "▲", "▼", "same"


def milliseconds(value: float) -> str:
    """Milliseconds for reading.

    >>> milliseconds(0.4567), milliseconds(12.34), milliseconds(345.6)
    ('0.46 ms', '12.3 ms', '346 ms')
    """
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} ms"


def count(value: float) -> str:
    """A count that may lie between two whole numbers, as a median of two does.

    >>> count(96.0), count(96.5), count(25000.0)
    ('96', '96.5', '25 k')
    """
    return human_count(value) if value >= 1e4 else f"{value:.1f}".removesuffix(".0")


@dataclass(frozen=True)
class Figure:
    """One of the facts: its label, its words, and whether less or more of it is better.

    source: "measured", or "planned" where nothing ran to tell it.
    """

    name: str
    label: str
    text: Callable[[float], str]
    better: str = LESS
    source: str = "measured"


FIGURES = (
    Figure("peak", "step peak", human_bytes),
    Figure("planned", "planned", human_bytes, LESS, "planned"),
    Figure("reserved", "reserved", human_bytes),
    Figure("ms", "step time", milliseconds),
    Figure("pushes", "pushes", count, NEITHER),
    Figure("driver_calls", "driver calls", count),
    Figure("loss", "loss", human_loss),
    Figure("accuracy", "accuracy", lambda value: f"{100 * value:.1f} %", MORE),
    Figure("skipped", "skipped", count),
)
#: Those of a training on several devices.
BETWEEN_DEVICES = (
    Figure("exchanged", "sent", human_bytes),
    Figure("copies", "copies", count),
    Figure("busiest", "busiest", human_bytes),
    Figure("exchange_ms", "copying", milliseconds),
    Figure("hidden", "hidden", lambda value: f"{100 * value:.0f} %", MORE),
)
# The figure that a knob is turned for; of others, the one that changed most.
MAIN = {
    "MXNET_ENGINE_TYPE": "ms",
    "MXNET_CPU_MEM_POOL_TYPE": "reserved",
    "MXNET_GPU_MEM_POOL_TYPE": "reserved",
    "MXNET_EXEC_ENABLE_INPLACE": "peak",
    "MXNET_BACKWARD_DO_MIRROR": "peak",
    "MINIMX_MIRROR": "peak",
    "dtype": "peak",
    "scaling": "skipped",
    "graph": "peak",
    "learning_rate": "loss",
    "devices": "ms",
    "store": "exchanged",
    "MXNET_KVSTORE_USETREE": "busiest",
    "MXNET_KVSTORE_TREE_ARRAY_BOUND": "busiest",
    "MXNET_KVSTORE_REDUCE_BUCKET_SIZE": "copies",
    "MXNET_ENABLE_GPU_P2P": "busiest",
}


@dataclass(frozen=True)
class Row:
    """A figure before and after a turn, in words.

    direction: ▲, ▼, "same" or "" where one side is not known. verdict: "better",
    "worse" or "". noise: how much single steps varied before. low and high: both sides
    as shares of the larger one, for a bar. weight: how large the change is, against
    what it was.
    """

    name: str
    label: str
    source: str
    before: str
    after: str
    change: str
    direction: str
    verdict: str
    noise: str
    bars: tuple[float, float]
    weight: float = 0.0

    def as_message(self) -> dict[str, Any]:
        """The row as plain JSON."""
        message = asdict(self) | {"bars": list(self.bars)}
        del message["weight"]  # may be infinite, which JSON has not
        return message

    @property
    def text(self) -> str:
        """The figure's change in a line."""
        if self.direction == SAME:
            return f"{self.label} {self.after}, same as before"
        return f"{self.label} {self.before} → {self.after} {self.change}".strip()


def rows(turn: Turn) -> list[Row]:
    """What is known of the figures on either side of a turn."""
    none = Facts()
    before, after = turn.before or none, turn.after or none
    spread = turn.spread or none
    found = []
    for figure in (*FIGURES, *BETWEEN_DEVICES):
        old, new = (getattr(facts, figure.name) for facts in (before, after))
        if old is not None or new is not None:
            found.append(row(figure, old, new, getattr(spread, figure.name) or 0.0))
    return found


def blank() -> list[Row]:
    """Every figure of one device, none of them known."""
    return [row(figure, None, None, 0.0) for figure in FIGURES]


def row(
    figure: Figure, old: float | None, new: float | None, noise: float
) -> Row:  # fmt: skip
    """A figure on two sides. noise: a difference no larger than this is none."""
    change, direction, weight = "", "", 0.0
    if old is not None and new is not None:
        change, direction, weight = compared(figure.name, old, new, noise)
    verdict = ""
    if direction in (UP, DOWN) and figure.better:
        good = (direction == UP) == (figure.better == MORE)
        verdict = "better" if good else "worse"
    if new is not None and not math.isfinite(new):
        verdict = "worse"
    return Row(
        figure.name,
        figure.label,
        figure.source,
        _text(figure, old),
        _text(figure, new),
        change,
        direction,
        verdict,
        f"single steps before: ± {figure.text(noise)}" if noise else "",
        _bars(old, new),
        weight,
    )


def _text(figure: Figure, value: float | None) -> str:
    if value is None:
        return "–"
    return figure.text(value) if math.isfinite(value) else str(value)


def _bars(old: float | None, new: float | None) -> tuple[float, float]:
    sides = [
        abs(value) if value is not None and math.isfinite(value) else 0.0
        for value in (old, new)
    ]
    most = max(*sides) or 1.0
    return sides[0] / most, sides[1] / most


def compared(
    name: str, old: float, new: float, noise: float
) -> tuple[str, str, float]:  # fmt: skip
    """How a figure changed: in words, its direction, and how much against before.

    A change no larger than what single steps varied by is none.

    >>> compared("peak", 1000.0, 790.0, 0.0)
    ('▼ 21 %', '▼', 0.21)
    >>> compared("ms", 20.0, 20.4, 1.5)
    ('same', 'same', 0.0)
    >>> compared("skipped", 2.0, 10.0, 0.0)
    ('▲ 8', '▲', 4.0)
    """
    if not (math.isfinite(old) and math.isfinite(new)):
        same = old == new or (math.isnan(old) and math.isnan(new))
        return (SAME, SAME, 0.0) if same else ("", UP, math.inf)
    delta = new - old
    if abs(delta) <= noise:
        return SAME, SAME, 0.0
    arrow = UP if delta > 0 else DOWN
    share = abs(delta) / abs(old) if old else math.inf
    if name in ("accuracy", "test", "hidden"):
        points = 100 * abs(delta)
        return f"{arrow} {points:.{0 if points >= 10 else 1}f} pp", arrow, share
    if name == "skipped" or not old:
        known = (*FIGURES, *BETWEEN_DEVICES)
        figure = next(figure for figure in known if figure.name == name)
        return f"{arrow} {figure.text(abs(delta))}", arrow, share
    return f"{arrow} {_share(share)}", arrow, share


def _share(share: float) -> str:
    """A share of one in per cent; a multiple where it is more than ten times."""
    if share >= 10:
        return f"× {share + 1:.0f}"
    if share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.{1 if share < 0.1 else 0}f} %"


def main(turn: Turn) -> Row | None:
    """The figure that tells most of a turn; None before anything is measured."""
    known = {row.name: row for row in rows(turn) if row.direction}
    wanted = known.get(MAIN.get(turn.name, ""))
    if wanted is not None and wanted.direction != SAME:
        return wanted
    moved = [row for row in known.values() if row.direction != SAME]
    # Loss and accuracy move in any training, whatever is turned.
    moved = [row for row in moved if row.name not in ("loss", "accuracy")] or moved
    if wanted is None and moved:
        return max(moved, key=lambda row: row.weight)
    return wanted or next(iter(known.values()), None)


def title(turn: Turn) -> str:
    """What was turned, from what to what.

    >>> title(Turn(1, "MXNET_EXEC_ENABLE_INPLACE", "1", "0", 412))
    'In-place on → off'
    """
    old, new = (value_text(turn.name, value) for value in (turn.old, turn.new))
    return f"{plain(turn.name)} {old} → {new}"


def plain(name: str) -> str:
    """What a knob or a setting is called in a sentence."""
    return PLAIN.get(name, name)


def value_text(name: str, text: str) -> str:
    """A value for reading: truth values are on and off."""
    if name in knobs.declared and knobs.declared[name].type == "bool":
        return "on" if text == "1" else "off"
    return text or "(empty)"


def progress(turn: Turn, *, newest: bool = True) -> str:
    """How far the measurement of a turn is. newest: whether it still goes on."""
    if turn.settled and turn.before is None:
        return "no step before it to compare with"
    if turn.settled:
        return f"measured: median of {counted(turn.steps, 'step')} after it"
    if not newest:
        if not turn.steps:
            return "not measured: the next turn came too soon"
        return f"only {counted(turn.steps, 'step')} before the next turn"
    if not turn.steps:
        return "measured from the second step after it on"
    return f"measuring… {turn.steps} of {SETTLED} steps"
