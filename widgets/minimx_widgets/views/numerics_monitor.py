"""How large the numbers of a network are, by layer, and what a type makes of them.

What is drawn are the looks of `mx.numerics.watch`. Another type or another loss scale
is a matter of moving histograms (`Histogram.shifted`): nothing is trained again for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import traitlets

from minimx.core.dtypes import LAYOUTS
from minimx.core.errors import ArgumentError
from minimx.core.record.tables import TENSOR_KINDS, WHOLE
from minimx.numerics import ZONES, Histogram, Look, looks, merged
from minimx_widgets import esm
from minimx_widgets.base import View
from minimx_widgets.packing import Array, Columns
from minimx_widgets.run import News
from minimx_widgets.tables import Table, Tables
from minimx_widgets.units import human_share

IN_USE = "in use"
TYPES = (IN_USE, "float16", "bfloat16", "float32")
UNITS = ("layers", "tensors")
RECORDED = 99  # as a scale: none is tried
LOWEST_SCALE, HIGHEST_SCALE = -12, 24
SETTINGS = ("kind", "dtype", "unit", "scale", "at")


@dataclass(frozen=True, eq=False)
class Row:
    """One line of the picture: a layer, or one of its arrays.

    dtype: whose zones are drawn. recorded, shown: the histogram as it was, and as it
    would be under the scale that is tried. norm: without any scale.
    """

    label: str
    layer: str
    names: tuple[str, ...]
    dtype: str
    recorded: Histogram
    shown: Histogram
    norm: float

    @property
    def shares(self) -> dict[str, float]:
        """The share of each zone among the numbers that are not zero."""
        return self.shown.shares(self.dtype)


class NumericsMonitor(View):
    """Histograms by power of two of weights, activations and gradients, by layer.

        view = NumericsMonitor(record)
        view.what_if(dtype="float16", scale=2**12)

    kind: "weight", "activation" or "gradient". dtype: whose zones are drawn: that in
    which each layer computes ("in use"), or a type to try. unit: "layers", or all their
    "tensors", on each device where they differ. scale: the power of two of a loss scale
    to try, 99 for the recorded one. at: the step, -1 for the newest.
    """

    _esm = esm.module("numerics_monitor")
    rate = 5.0

    kind = traitlets.Enum(TENSOR_KINDS, "gradient").tag(sync=True, kept=True)
    dtype = traitlets.Enum(TYPES, IN_USE).tag(sync=True, kept=True)
    unit = traitlets.Enum(UNITS, "layers").tag(sync=True, kept=True)
    scale = traitlets.Int(RECORDED).tag(sync=True, kept=True)
    at = traitlets.Int(-1, min=-1).tag(sync=True, kept=True)
    height = traitlets.Int(24).tag(sync=True)  # of a row
    #: The layer of the operation that is marked in the run, "" for none.
    marked = traitlets.Unicode("").tag(sync=True)

    def __init__(self, record: Any = None, **settings: Any) -> None:
        self._hearing = False
        super().__init__(record, **settings)

    @traitlets.validate("scale")
    def _valid_scale(self, proposal: Any) -> int:
        value = int(proposal["value"])
        if value != RECORDED and not LOWEST_SCALE <= value <= HIGHEST_SCALE:
            raise ArgumentError(
                f"NumericsMonitor: scale={value}; it is a power of two, from "
                f"{LOWEST_SCALE} to {HIGHEST_SCALE}; {RECORDED} means what is recorded."
            )
        return value

    @traitlets.observe(*SETTINGS)
    def _shows_other(self, change: Any) -> None:
        if not self._hearing:
            self.tell({"kind": "answer", "settings": {change["name"]: change["new"]}})

    def what_if(self, dtype: str | None = None, scale: float | None = None) -> None:
        """Show the zones of another type, and the gradients under another loss scale.

        None stands for what is in use, and for the recorded scale. A scale must be a
        power of two. Nothing is computed again, and no run is changed.
        """
        if dtype is not None and dtype not in TYPES:
            known = ", ".join(TYPES[1:])
            raise ArgumentError(f"what_if: dtype={dtype!r}; there are {known}.")
        power = RECORDED
        if scale is not None:
            mantissa, exponent = math.frexp(scale)
            if mantissa != 0.5:
                raise ArgumentError(
                    f"what_if: scale={scale}; loss scales are powers of two, such as "
                    f"{2.0 ** round(math.log2(scale)) if scale > 0 else 1024:g}."
                )
            power = exponent - 1
        self.scale = power
        self.dtype = dtype or IN_USE

    # -- what is shown ----------------------------------------------------------------

    @property
    def steps(self) -> list[int]:
        """The steps in which arrays of this kind were looked at."""
        rows, texts = self.record.tensors(), self.record.strings
        if self.kind not in texts:
            return []
        found = rows["step"][rows["kind"] == texts.index(self.kind)]
        return [int(step) for step in np.unique(found)]

    @property
    def step(self) -> int:
        """The step of the picture: the newest that is not behind `at`."""
        steps = self.steps
        if self.at < 0 or not steps:
            return steps[-1] if steps else 0
        return max((step for step in steps if step <= self.at), default=steps[0])

    def rows(self) -> list[Row]:
        """The lines of the picture."""
        found = looks(self.record, self.kind, self.step)
        whole = self.unit == "layers"
        groups: dict[tuple[str, ...], list[Look]] = {}
        for one in found:
            key = (one.layer,) if whole else (one.layer, one.name)
            groups.setdefault(key, []).append(one)
        return [self._row(group) for group in groups.values()]

    def _row(self, group: list[Look]) -> Row:
        first = group[0]
        label = first.layer.partition("/")[2] or first.layer
        if self.unit == "tensors" and self.kind == "activation":
            # Of which device, if there are several; the label fits few letters.
            label += first.name.removeprefix("output").removeprefix(" of")
        elif self.unit == "tensors":
            label += "." + first.name.rpartition("_")[2]
        return Row(
            label=label,
            layer=first.layer,
            names=tuple(one.name for one in group),
            dtype=first.used if self.dtype == IN_USE else self.dtype,
            recorded=merged(one.histogram for one in group),
            shown=merged(one.histogram.shifted(self._shift(one)) for one in group),
            norm=math.hypot(*(one.histogram.norm / one.scale for one in group)),
        )

    def _shift(self, look: Look) -> int:
        """By how many places the scale that is tried moves a histogram."""
        if self.scale == RECORDED or look.kind != "gradient":
            return 0
        return self.scale - round(math.log2(look.scale))

    def shares(self) -> dict[str, float]:
        """The share of each zone among all numbers of the picture that are not zero."""
        found = [(row.shown.nonzero, row.shares) for row in self.rows()]
        whole = sum(many for many, _ in found) or 1
        return {
            zone: sum(many * shares[zone] for many, shares in found) / whole
            for zone in ZONES
        }

    def highest_scale(self, dtype: str = "float16") -> int | None:
        """The largest scale at which no gradient of this step overflows.

        As a power of two; None where that is unknown, since some overflowed already.
        """
        found = looks(self.record, "gradient", self.step)
        if any(one.histogram.infinite + one.histogram.nan for one in found):
            return None
        spaces = [
            round(math.log2(one.scale)) + space
            for one in found
            if (space := one.histogram.room(dtype)) is not None
        ]
        return min(spaces, default=None)

    def norms(self) -> tuple[Array, Array]:
        """The steps in which gradients were looked at, and the length of all together.

        The loss scale is divided out; NaN and infinite numbers are left out.
        """
        rows, texts = self.record.tensors(), self.record.strings
        if "gradient" not in texts:
            return np.zeros(0, int), np.zeros(0)
        rows = rows[rows["kind"] == texts.index("gradient")]
        steps, places = np.unique(rows["step"], return_inverse=True)
        squares = np.bincount(places, weights=rows["squares"] / rows["scale"] ** 2)
        return steps, np.sqrt(squares)

    # -- faces ------------------------------------------------------------------------

    def __repr__(self) -> str:
        rows = self.rows()
        parts = [f"{self.kind}s", f"step {self.step}", f"{len(rows)} {self.unit}"]
        if rows:
            shares, dtypes = self.shares(), {row.dtype for row in rows}
            parts.append("/".join(sorted(dtypes)))
            parts.append(f"lost={human_share(shares['zero'])}")
            parts.append(f"overflow={human_share(shares['overflow'])}")
        scaling = self.record.scalings()
        if len(scaling):
            parts.append(f"skipped={int(scaling['skipped'].sum())}")
        return f"NumericsMonitor({', '.join(parts)})"

    def table(self) -> Tables:
        """What becomes of each row's numbers, and the steps that were skipped."""
        lines = []
        for row in self.rows():
            span = row.shown.span
            lines.append(
                (row.label, row.dtype, f"{row.shown.size:,}",
                 "" if span is None else f"2^{span[0]} … 2^{span[1]}",
                 *(human_share(share) for share in row.shares.values()),
                 f"{row.shown.zeros:,}", f"{row.shown.infinite + row.shown.nan:,}",
                 f"{row.norm:.3g}")
            )  # fmt: skip
        heads = (
            *("layer", "type", "numbers", "from … to", "become zero", "subnormal"),
            *("normal", "overflow", "are zero", "∞ or NaN", "norm"),
        )
        text = f"{self.kind.capitalize()}s in step {self.step:,}"
        if self.scale != RECORDED and self.kind == "gradient":
            text += f", under a loss scale of 2^{self.scale}"
        scaling, texts = self.record.scalings(), self.record.strings
        skipped = [
            (f"{row['step']:,}", f"{row['scale']:g}", texts[row["tensor"]],
             texts[row["layer"]], str(row["many"]))
            for row in scaling[scaling["skipped"]]
        ]  # fmt: skip
        of = ("step", "loss scale", "overflowed first", "layer", "arrays")
        parts = [Table.of(heads, lines, text)]
        if len(scaling):
            title = f"Skipped: {len(skipped)} of {len(scaling)} steps"
            parts.append(Table.of(of, skipped, title))
        return Tables(tuple(parts))

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of one step, and of scale and norm over all steps."""
        from minimx_widgets.pictures.numerics_picture import draw

        return draw(self, dark=dark, width=width)

    # -- to and from the browser ------------------------------------------------------

    def columns(self, news: News) -> Columns:
        """Looks, their counts, and scaled steps; texts by their numbers."""
        found: dict[str, dict[str, Array]] = {}
        for table in ("tensors", "exponents", "scaling"):
            rows = news.batch[table]
            found[table] = {
                name: rows[name].astype(_packed(rows.dtype[name].name))
                for name in rows.dtype.names or ()
                if name != "t"
            }
        return found

    def extras(self, news: Sequence[News]) -> dict[str, Any]:
        """Where the zones of each type begin."""
        return {
            "layouts": {
                name: [LAYOUTS[name].lowest - 1, LAYOUTS[name].normal,
                       LAYOUTS[name].highest]
                for name in LAYOUTS
            }
        }  # fmt: skip

    def chosen(self) -> None:
        """An operation was marked in the run: its layer is marked here."""
        super().chosen()
        ops = self.record.ops()
        found = ops["layer"][ops["op"] == self.run.selected]
        self.marked = self.record.texts(found)[0] if len(found) else ""

    def newest(self, layer: str) -> int:
        """The newest operation of a layer, of its backward pass for gradients.

        0 where none was recorded, or its row is gone.
        """
        ops, texts = self.record.ops(), self.record.strings
        wanted = texts.index("backward") if "backward" in texts else -1
        names = [k for k, text in enumerate(texts) if within(text, layer)]
        parts = self.record.table("parts")  # of operations that were joined
        works = parts["work"][np.isin(parts["layer"], names)]
        mine = np.isin(ops["layer"], names) | np.isin(ops["work"], works)
        mine &= (ops["phase"] == wanted) == (self.kind == "gradient")
        return int(ops["op"][mine][-1]) if mine.any() else 0

    def _hear(self, widget: Any, message: dict[str, Any], buffers: Any) -> None:
        if message.get("kind") == "layer":
            layer = str(message["layer"])
            self.run.feed.post(lambda: self.run.select(self.newest(layer)))
            return
        if message.get("kind") != "show":
            super()._hear(widget, message, buffers)
            return
        self._hearing = True
        try:
            if "shown" in message:  # "kind" is that of the message
                self.kind = message["shown"]
            for name in SETTINGS[1:]:
                if name in message:
                    setattr(self, name, message[name])
        finally:
            self._hearing = False


def within(layer: str, other: str) -> bool:
    """Whether a layer is another one or a part of it.

    >>> within("net/conv0", "net/conv0"), within("net/conv01", "net/conv0")
    (True, False)
    """
    return layer == other or layer.startswith(f"{other}/")


def _packed(kind: str) -> str:
    """The type in which a column goes to the browser."""
    return {WHOLE: "f8", "float64": "f8", "int32": "u4", "bool": "u1"}[kind]
