"""What the network sees: test images, its answers, its mistakes, its first filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from minimx.gluon import Block
from minimx_widgets import esm
from minimx_widgets.base import STYLE, PicturedWidget
from minimx_widgets.tables import Table, Tables
from minimx_widgets.training.layer_health import KINDS, Health
from minimx_widgets.training.predictions import BROKEN, Look, Probe, Seen
from minimx_widgets.units import counted

#: How much is shown: the strip of images alone, or mistakes, filters and layers too.
PARTS = ("strip", "all")


class DataView(PicturedWidget):
    """Test images with what a network says of them, as a `Probe` saw it last.

    source: a probe that the training asks to look, or a network, which is looked at
        once; then `data` has `test_x` and `test_y`, as `training.training.Data` does.
    device: where the network is; the first device of its first parameter.
    names: of the classes, in order; their numbers otherwise.

    It takes no part in the selection of a run: images of the test set, classes, weights
    and layers are no operations of a record, and no batches that were trained on.
    """

    _esm = esm.module("data_view")
    _css = STYLE + (esm.STATIC / "data_view.css").read_text(encoding="utf-8")

    parts = traitlets.Enum(PARTS, "strip").tag(sync=True, kept=True)
    #: The newest look, as the page draws it: facts, and the bytes of all pictures.
    frozen: traitlets.List[Any] = traitlets.List().tag(sync=True)

    def __init__(
        self,
        source: Probe | Block,
        data: Any = None,
        *,
        device: Any = None,
        names: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        self.probe = Probe() if isinstance(source, Block) else source
        self._names = tuple(map(str, names))
        self._looked_at = False  # by a browser
        super().__init__(**settings)
        self.on_msg(self._hear)
        self._unwatch = self.probe.watch(self._show, lambda: self._looked_at)
        if isinstance(source, Block):
            self.probe.look(source, data, device or _device_of(source))
        elif self.probe.latest is not None:
            self._show(self.probe.latest)

    @property
    def look(self) -> Look | None:
        """What was seen last."""
        return self.probe.latest

    def close(self) -> None:
        """Take the view away; its probe is no longer asked for it."""
        self._unwatch()
        super().close()

    # -- to and from the browser ------------------------------------------------------

    def _show(self, look: Look) -> None:
        """One message with one buffer; in the thread that looked."""
        self.frozen = list(message(look, self.name))

    def _hear(self, _widget: Any, message: dict[str, Any], _buffers: Any) -> None:
        kind = message.get("kind")
        if kind == "hello":
            self._looked_at = True
        elif kind == "table":
            self.send({"kind": "table", "html": self.table().html()})

    # -- words ------------------------------------------------------------------------

    def name(self, number: int | None) -> str:
        """A class in words; of an answer that is not finite, "NaN"."""
        if number is None:
            return "?"
        if number == BROKEN:
            return "NaN"
        return self._names[number] if number < len(self._names) else str(number)

    def __repr__(self) -> str:
        look = self.look
        if look is None:
            return "DataView(nothing seen yet)"
        if not look.asked:
            images = counted(len(look.strip), "image")
            return f"DataView({images}, {look.problem or 'no look yet'})"
        parts = [f"step {look.step}", f"{look.right} of {look.asked} right"]
        if look.most_confused is not None:
            label, guess, times = look.most_confused
            text = f"{self.name(label)} taken for {self.name(guess)}"
            parts.append(f"{text} {counted(times, 'time')}")
        if look.broken:
            parts.append(f"{look.broken} answers not finite")
        parts += [f"{one.layer} {one.kind} {one.word}" for one in look.sick[:3]]
        return f"DataView({', '.join(parts)})"

    def describe(self, one: Seen) -> str:
        """An image and the answer to it, as sentences."""
        text = f"Image {one.number} of the test set is a {self.name(one.label)}."
        if one.guess is None:
            return f"{text} The network was not asked yet."
        if one.guess == BROKEN:
            return f"{text} The answer holds NaN or ∞, so it says nothing: wrong."
        label = ", then ".join(
            f"{self.name(number)} with {_percent(chance)}"
            for number, chance in one.chances
        )
        verdict = "Right." if one.right else "Wrong."
        return f"{text} The network says {label}. {verdict}"

    def table(self) -> Tables:
        """The images, which class is taken for which, and the layers."""
        look = self.look
        if look is None:
            return Tables((Table.of(("image", "label"), [], "Nothing seen yet"),))
        return Tables((self._answers(look), self._mistakes(look), _layers(look)))

    def _answers(self, look: Look) -> Table:
        rows = [
            (str(one.number), self.name(one.label), self.name(one.guess),
             _percent(one.chances[0][1]) if one.chances else "",
             "" if one.guess is None else "✓" if one.right else "✗")
            for one in (*look.strip, *look.wrong)
        ]  # fmt: skip
        heads = ("image", "label", "network says", "probability", "right")
        text = f"After step {look.step:,}: {look.right} of {look.asked} right"
        return Table.of(heads, rows, text)

    def _mistakes(self, look: Look) -> Table:
        off = look.confusion.copy()
        np.fill_diagonal(off, 0)
        order = np.argsort(-off, axis=None, kind="stable")[: np.count_nonzero(off)]
        rows = [
            (self.name(look.classes[row]), self.name(look.classes[column]),
             str(off[row, column]), str(look.totals[row]))
            for row, column in zip(*np.unravel_index(order, off.shape), strict=True)
        ]  # fmt: skip
        heads = ("label", "taken for", "times", "of")
        return Table.of(heads, rows, "Mistakes in the sample")

    # -- pictures ---------------------------------------------------------------------

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of all parts."""
        from minimx_widgets.pictures.data_picture import draw

        return draw(self, dark=dark, width=width)


def message(look: Look, name: Any) -> tuple[dict[str, Any], list[bytes]]:
    """The facts of a look as plain JSON, and the bytes of its pictures in one buffer.

    First come the images of the strip, then the wrong ones, then the tiles.
    """
    images = [one.pixels for one in (*look.strip, *look.wrong)]
    filters = look.filters
    facts = {
        "step": look.step,
        "right": look.right,
        "asked": look.asked,
        "took": look.took,
        "problem": look.problem,
        "shape": list(images[0].shape),
        "strip": [_seen(one, name) for one in look.strip],
        "wrong": [_seen(one, name) for one in look.wrong],
        "classes": [name(number) for number in look.classes],
        "of": look.all_classes,
        "totals": list(look.totals),
        "broken": look.broken,
        "confusion": look.confusion.tolist(),
        "health": [
            [one.layer, one.kind, one.word, one.sentence] for one in look.health
        ],
        "filters": None
        if filters is None
        else {
            "name": filters.name,
            "kind": filters.kind,
            "many": filters.many,
            "largest": filters.largest,
            "shape": list(filters.tiles.shape),
        },
    }
    pixels = b"".join(image.tobytes() for image in images)
    return facts, [pixels + (b"" if filters is None else filters.tiles.tobytes())]


def _seen(one: Seen, name: Any) -> dict[str, Any]:
    return {
        "number": one.number,
        "label": name(one.label),
        "guess": name(one.guess),
        "asked": one.guess is not None,
        "right": one.right,
        "broken": one.guess == BROKEN,
        "chances": [[name(number), chance] for number, chance in one.chances],
    }


def by_layer(look: Look) -> dict[str, dict[str, Health]]:
    """The health of each kind by layer."""
    found: dict[str, dict[str, Health]] = {}
    for one in look.health:
        found.setdefault(one.layer, {})[one.kind] = one
    return found


def _layers(look: Look) -> Table:
    rows = [
        (layer, *(_word(kinds.get(kind)) for kind in KINDS))
        for layer, kinds in by_layer(look).items()
    ]
    return Table.of(("layer", *KINDS), rows, "Numbers that say nothing")


def _word(health: Health | None) -> str:
    return "" if health is None else health.word or "ok"


def _percent(chance: float) -> str:
    return f"{100 * chance:.0f} %"


def _device_of(net: Block) -> Any:
    """Where the network's first parameter is."""
    return next(iter(net.collect_params().values())).list_ctx()[0]
