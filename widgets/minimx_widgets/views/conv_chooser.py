"""`ConvChooser`: which algorithm computes a convolution, and why no other.

One layer at a time, three directions: for each algorithm the time and the workspace,
a mark at the chosen one, and for those that must not be chosen the knob, the workspace
or the shape that excludes them. The decisions are those of
`minimx.fast.convolution.choosing` under the knobs in force; turning one shows at once.
Nothing is measured until a button asks for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import traitlets

from minimx.core.device import Device, as_device
from minimx.core.drivers import backend_of
from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError, MXNetError, OperatorError, did_you_mean
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.graph.values.specs import every_spec
from minimx.core.kernels.convolution import DATA, FORWARD, WEIGHT
from minimx.core.knobs import knobs
from minimx.core.operators.conv import Convolution
from minimx.core.ops.spec import Spec
from minimx.core.record import Record
from minimx.cuda import toolkit
from minimx.fast.convolution import tuner
from minimx.fast.convolution.choosing import OFF, decided
from minimx_widgets import esm
from minimx_widgets.base import PicturedWidget
from minimx_widgets.code.decisions import decision
from minimx_widgets.code.pieces import Code
from minimx_widgets.pictures import conv_picture
from minimx_widgets.run import Run
from minimx_widgets.tables import Table, Tables
from minimx_widgets.training.subject import Subject
from minimx_widgets.units import human_bytes, human_time

DIRECTIONS = {
    FORWARD: "forward",
    DATA: "data gradient",
    WEIGHT: "weight gradient",
}
#: The largest workspace that the slider offers, in MiB.
MOST = 1024
# Its name; that of the layer it belongs to; what goes into it.
Layer = tuple[str, str, Convolution, Spec]


class ConvChooser(PicturedWidget):
    """The convolutions of a network, with all ways to compute each.

        ConvChooser(net, data=(16, 3, 32, 32))

    net: a Symbol or a HybridBlock, with the shapes of its inputs by name. device: whose
    knobs count, and whose algorithms there are: a simulated GPU has those of the CPU
    and is tuned, a CUDA device has its own. dtype: that of what goes into all
    convolutions, as with `mx.amp`; by default what the graph says. record: a record of
    a run of this network; what is selected in its views is shown here, and the other
    way round.
    `show(name)` another layer, `allow(mib)` another workspace, `place(device)`,
    `measure()` runs all algorithms of the layer that may be chosen.
    """

    _esm = esm.module("conv_chooser")

    state = traitlets.Dict().tag(sync=True)
    run_id = traitlets.Unicode().tag(sync=True)

    _unwatch: Callable[[], None] | None = None

    def __init__(
        self,
        net: Any,
        *,
        device: Device | str = "cpu",
        dtype: Any = None,
        record: Record | Run | None = None,
        **shapes: Any,
    ) -> None:
        self.layers = _layers(Subject.of(net, shapes, "ConvChooser"), dtype)
        self.run = Run.of(record)
        self._lock = threading.Lock()
        self._layer, self._revision = 0, 0
        self._allowed: int | None = None
        self.device = as_device(device)
        self._first = self.device.device_type
        super().__init__(run_id=self.run.id)
        self.refresh()
        self._unwatch = knobs.watch(tuner.KNOBS, self._turned)
        self.on_msg(self._hear)

    # -- its state --------------------------------------------------------------------

    def _more_names(self) -> tuple[str, ...]:
        return ("layer", "allowed", "device")

    def _more(self) -> dict[str, Any]:
        more: dict[str, Any] = {"layer": self.layer} if self._layer else {}
        if self._allowed is not None:
            more["allowed"] = self._allowed
        kind = self.device.device_type
        return more | ({} if kind == self._first else {"device": kind})

    def _bring(self, more: Mapping[str, Any]) -> None:
        self.place(str(more.get("device", self._first)))
        self.allow(more.get("allowed"))
        self.show(str(more.get("layer", self.layers[0][0])))

    # -- what is shown ----------------------------------------------------------------

    @property
    def layer(self) -> str:
        """The name of the layer that is shown."""
        return self.layers[self._layer][0]

    @property
    def workspace(self) -> int:
        """The MiB of workspace that are allowed: the layer's own, unless `allow`ed."""
        own = self.layers[self._layer][2].workspace
        return own if self._allowed is None else self._allowed

    def show(self, name: str) -> None:
        """Show another layer, and mark it in the views of the run."""
        names = [layer[0] for layer in self.layers]
        if name not in names:
            near = did_you_mean(name, names)
            raise ArgumentError(f"ConvChooser: there is no convolution {name!r}.{near}")
        self._layer = names.index(name)
        self.refresh()
        record, owner = self.run.record, self.layers[self._layer][1]
        rows = record.ops()
        rows = rows[np.array(record.texts(rows["name"]), object) == Convolution.name]
        layers = record.texts(rows["layer"])
        mine = [place for place, layer in enumerate(layers) if _within(layer, owner)]
        if mine:
            self.run.select(int(rows["op"][mine[-1]]))

    def allow(self, mib: int | None) -> None:
        """Try another workspace, in MiB; None goes back to the layer's own."""
        if mib is not None and not 0 <= mib <= 1 << 20:
            raise ArgumentError(
                f"ConvChooser: {mib} MiB is no workspace. Give 0 to {1 << 20}."
            )
        self._allowed = mib
        self.refresh()

    def place(self, device: Device | str) -> None:
        """Choose as on another kind of device."""
        self.device = as_device(device)
        self.refresh()

    def measure(self) -> None:
        """Run every algorithm of the layer that may be chosen, and keep its time.

        Raises `ArgumentError` on numba's CUDA simulator: its threads are Python's.
        """
        if self._cuda and toolkit.simulated():
            raise ArgumentError(
                "ConvChooser.measure: this CUDA device is numba's simulator, whose "
                "times say nothing. Measure on a real one, or on the CPU."
            )
        for direction in DIRECTIONS:
            _, rules, at, dtype = self._question(direction)
            found = tuner.guessed(direction, at, dtype, rules)
            tuner.measured(at, dtype, found, rules)
        self.refresh()

    def _question(self, direction: str) -> tuple[Convolution, Any, Any, Any]:
        _, _, conv, data = self.layers[self._layer]
        if self._allowed is not None:
            conv = Convolution.of(**{**conv.settings, "workspace": self._allowed})
        kind = self.device.device_type
        rules, at, dtype = conv.for_device(kind).question(direction, data)
        if self._cuda and data.ndim < 5:  # volumes are computed on the host
            rules = tuner.as_on_cuda(rules)
        return conv, rules, at, dtype

    @property
    def _cuda(self) -> bool:
        """Whether the kernels are those of CUDA."""
        return backend_of(self.device) == "cuda"

    def choice(self, direction: str) -> tuner.Choice:
        """The candidates for a direction, with the times that are known."""
        _, rules, at, dtype = self._question(direction)
        return tuner.remembered(direction, at, dtype, rules)

    def chosen(self, direction: str) -> Any:
        """The candidate that is taken, or None if none is left."""
        found, rules = self.choice(direction), self._question(direction)[1]
        try:
            return decided(found if rules.measures else tuner.unmeasured(found))
        except OperatorError:
            return None

    def why(self, direction: str) -> str:
        """Why the chosen one is chosen, in a sentence."""
        found, rules = self.choice(direction), self._question(direction)[1]
        left = [one for one in found if not one.excluded]
        if not left:
            return "No algorithm is left: take one of the exclusions back."
        if rules.measures and any(one.measured is not None for one in left):
            return f"The fastest of {len(left)} that were measured ({rules.tune})."
        guess = "The model of cost" if rules.modelled else "The fixed rule"
        if rules.measures:
            return f"{guess} guesses; the first call will measure ({rules.tune})."
        if rules.tune != OFF:
            return f"{guess} stands for the stopwatch ({rules.tune})."
        return f"{guess} guesses: nothing is measured here ({rules.tune})."

    # -- to and from the browser ------------------------------------------------------

    def refresh(self) -> None:
        """Decide again, and show it."""
        with self._lock:
            self._revision += 1
            _, _, conv, data = self.layers[self._layer]
            self.state = {
                "revision": self._revision,
                "layers": [layer[0] for layer in self.layers],
                "layer": self._layer,
                "shape": _text(conv, data)
                + (", by the kernels of CUDA" if self._cuda else ""),
                "device": self.device.device_type,
                "workspace": self.workspace,
                "own": conv.workspace,
                "most": MOST,
                "directions": [self._direction(one) for one in DIRECTIONS],
            }

    def _direction(self, direction: str) -> dict[str, Any]:
        chosen = self.chosen(direction)
        star = None if chosen is None else chosen.algorithm.number
        rows = []
        for one in self.choice(direction):
            algorithm = one.algorithm
            rows.append(
                {
                    "number": algorithm.number,
                    "name": algorithm.name,
                    "notes": list(algorithm.notes),
                    "workspace": algorithm.workspace,
                    "guess": 1e9 * one.guess,
                    "measured": None if one.measured is None else 1e9 * one.measured,
                    "excluded": one.excluded,
                    "error": algorithm.error,
                    "chosen": algorithm.number == star,
                }
            )
        name = DIRECTIONS[direction]
        return {"name": name, "why": self.why(direction), "rows": rows}

    def _turned(self, name: str, new: Any, old: Any) -> None:
        self.refresh()

    def _hear(self, _widget: Any, message: dict[str, Any], _buffers: Any) -> None:
        """A page asks; measuring takes a while, so it gets a thread of its own."""
        if message.get("kind") == "measure":
            threading.Thread(target=self._answer, args=(message,), daemon=True).start()
        else:
            self._answer(message)

    def source_for(self, message: Mapping[str, Any]) -> Code:
        """The lines that choose an algorithm, and those that exclude one."""
        return decision("convolution", "chosen", "excluded")

    def _answer(self, message: dict[str, Any]) -> None:
        if message.get("kind") == "source":
            self.send(self.source_message(message))
            return
        try:
            self._do(message)
        except MXNetError as refused:
            text = self.refused(refused)
            self.send({"kind": "answer", "ok": False, "text": text})

    def _do(self, message: dict[str, Any]) -> None:
        kind = message.get("kind")
        if kind == "layer":
            self.show(str(message["name"]))
        elif kind == "workspace":
            self.allow(None if message["mib"] is None else int(message["mib"]))
        elif kind == "device":
            self.place(str(message["name"]))
        elif kind == "measure":
            self.measure()
        elif kind == "op":
            self._selected(int(message["op"]))
        elif kind == "table":
            self.send({"kind": "table", "html": self.table().html()})

    def _selected(self, op: int) -> None:
        """Another view of the run selected an operation."""
        rows = self.run.record.ops()
        found = rows[rows["op"] == op]
        if not len(found):
            return
        (layer,) = self.run.record.texts(found["layer"][:1])
        for index, (_, owner, *_) in enumerate(self.layers):
            if _within(layer, owner):
                self._layer = index
                self.refresh()
                return

    def close(self) -> None:
        """Take the view away; knobs do not reach it any more."""
        unwatch, self._unwatch = self._unwatch, None
        if unwatch is not None:
            unwatch()
        super().close()

    # -- faces ------------------------------------------------------------------------

    def __repr__(self) -> str:
        text = []
        for direction, name in DIRECTIONS.items():
            one = self.chosen(direction)
            what = "nothing left" if one is None else one.algorithm.name
            text.append(f"{name} {what}")
        kind, space = self.device.device_type, self.workspace
        kind += " (CUDA)" if self._cuda else ""
        return f"ConvChooser({self.layer} on {kind}, {space} MiB: {', '.join(text)})"

    def table(self) -> Tables:
        """Every algorithm of each direction."""
        heads = (
            *("algorithm", "number", "guess", "measured", "workspace", "notes"),
            "error bound",
            "verdict",
        )
        parts = []
        for direction in self.state["directions"]:
            rows = [
                (
                    row["name"],
                    str(row["number"]),
                    human_time(row["guess"]) if row["guess"] else "",
                    "" if row["measured"] is None else human_time(row["measured"]),
                    human_bytes(row["workspace"]),
                    " ".join(row["notes"]),
                    f"{row['error']:.3g} ×",
                    "chosen" if row["chosen"] else row["excluded"] or "allowed",
                )
                for row in direction["rows"]
            ]
            caption = f"{self.layer}, {direction['name']}. {direction['why']}"
            parts.append(Table.of(heads, rows, caption))
        return Tables(tuple(parts))

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of the three directions."""
        return conv_picture.picture(self.state, repr(self), dark=dark, width=width)


def _layers(subject: Subject, dtype: Any) -> list[Layer]:
    """The convolutions of a graph, with what goes into them."""
    specs = every_spec(subject.graph, subject.variables)

    def data(node: Node) -> Spec:
        spec = specs[node.inputs[0]]
        return spec if dtype is None else spec.with_dtype(resolve(dtype))

    found = [
        (node.name, node.layer or node.name, node.op, data(node))
        for node in subject.graph
        if isinstance(node.op, Convolution) and Entry(node) in specs
    ]
    if not found:
        raise ArgumentError("ConvChooser: the network has no convolution.")
    return found


def _within(layer: str, owner: str) -> bool:
    """Whether a path of a record, as lenet/conv0/relu0, is a layer or inside it.

    Graphs write a path with underscores.
    """
    return f"{layer.replace('/', '_')}_".startswith(f"{owner}_")


def _text(conv: Convolution, data: Spec) -> str:
    """A layer's geometry."""
    image = "×".join(map(str, data.shape[2:]))
    window = "×".join(map(str, conv.kernel))
    label = f"{data.shape[0]} × {data.shape[1]} → {conv.num_filter} channels, {image}"
    label += f", window {window}"
    if set(conv.stride) - {1}:
        label += f", stride {'×'.join(map(str, conv.stride))}"
    if conv.num_group > 1:
        label += f", {conv.num_group} groups"
    return f"{label}, {data.dtype.name}"
