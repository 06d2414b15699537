"""The program on trial: a small training with every weak spot that the lab knows.

A normalisation, a table of rows, hidden layers, a square root, a gate of exponentials,
one of several precisions. Healthy, each spot is safe. A fault makes exactly one of them
unsafe, a remedy is an edit of the program that anybody may try on any fault.

What instruments see is seen in runs of their own: the program is deterministic, so that
it may run again and again, once for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

import minimx as mx
from minimx import amp, gluon, nd
from minimx.core import autograd
from minimx.core.record import Record
from minimx.tools.finite import FiniteWatch
from minimx_widgets.failures.outcome import RunOutcome
from minimx_widgets.failures.table import take_rows

FEATURES: Final = 6
ROWS: Final = 5  # of the table


@dataclass(frozen=True)
class Facts:
    """What a seed decides: sizes, places, and where the fault strikes.

    depth: hidden layers. root, gate: after which of them these stand. at: the step in
    which bad data come. every: the loss is read in every so-manieth step. precision:
    float32, float16 (by hand) or amp.
    """

    fault: str
    depth: int
    width: int
    batch: int
    steps: int
    root: int
    gate: int
    at: int
    every: int
    rate: float
    sharp: float
    precision: str
    seed: int


@dataclass
class Outcome(RunOutcome):
    """What a run of the training showed.

    norms: per step what the gradients' norm was when they were clipped or used, the
    loss scale, and by how much the weights moved. parameters: name, grad_req, whether
    the last backward filled the gradient, whether the values ever changed.
    """

    norms: list[dict[str, float]] = field(default_factory=list)
    parameters: list[dict[str, Any]] = field(default_factory=list)
    watch: FiniteWatch | None = None


class Normalise(gluon.Block):
    """Rows of mean square 1; eps keeps empty rows where they are."""

    def __init__(self, eps: float, **settings: Any) -> None:
        super().__init__(**settings)
        self.eps = eps

    def forward(self, x: Any) -> Any:
        """Divide each row by the root of its mean square."""
        square = nd.mean(x * x, axis=1, keepdims=True)
        return nd.broadcast_div(x, nd.sqrt(square + self.eps))


class Root(gluon.Block):
    """Scaled magnitudes as the root of squares; at 0 its slope is infinite but for eps.

    Columns have a scale that is learned.
    """

    def __init__(self, width: int, eps: float, **settings: Any) -> None:
        super().__init__(**settings)
        self.eps = eps
        with self.name_scope():
            self.scale = self.params.get("scale", shape=(1, width), init="ones")

    def forward(self, x: Any) -> Any:
        """How far each number is from 0."""
        scaled = nd.broadcast_mul(x, self.scale.data())
        return nd.sqrt(scaled * scaled + self.eps)


class Gate(gluon.Block):
    """Each row times shares that add up to its length; large values get more.

    wide: exponentials are computed in float32.
    """

    def __init__(self, sharp: float, wide: bool, **settings: Any) -> None:
        super().__init__(**settings)
        self.sharp, self.wide = sharp, wide

    def forward(self, x: Any) -> Any:
        """A softmax, written by hand."""
        most = nd.max(x, axis=1, keepdims=True)
        z = nd.broadcast_div(x, nd.broadcast_maximum(most, nd.ones_like(most) * 0.01))
        if self.wide:
            z = z.astype("float32")
        powers = nd.exp(z * self.sharp)
        total = nd.sum(powers, axis=1, keepdims=True)
        share = nd.broadcast_div(powers, total).astype(x.dtype)
        return x + x * share


class Table(gluon.Block):
    """A row for each kind of sample."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(ROWS, FEATURES))

    def forward(self, x: Any, ids: Any) -> Any:
        """The samples, each with the row of its kind added."""
        return x + take_rows(self.weight.data(), ids)


class Network(gluon.Block):
    """Normalisation, table, hidden layers with root and gate among them, head."""

    def __init__(self, facts: Facts, fixes: Sequence[str], healthy: bool) -> None:
        super().__init__(prefix="net_")
        fault = "" if healthy else facts.fault
        self.cut = fault == "stale" and "attach" not in fixes
        eps = 0.0 if fault == "empty" and "eps" not in fixes else 1e-8
        slope = 0.0 if fault == "slope" and "eps" not in fixes else 1e-2
        wide = not (fault == "cast" and "cast" not in fixes)
        self.cut_before = facts.root
        self.parts: list[gluon.Block] = []
        with self.name_scope():
            self.normalise = Normalise(eps, prefix="normalise_")
            self.table = Table(prefix="table_")
            for k in range(facts.depth):
                dense = gluon.nn.Dense(
                    facts.width, activation="relu", prefix=f"hidden{k}_"
                )
                self._add(dense)
                if k == facts.root:
                    self._add(Root(facts.width, slope, prefix=f"root{k}_"))
                if k == facts.gate:
                    self._add(Gate(facts.sharp, wide, prefix=f"gate{k}_"))
            self._add(gluon.nn.Dense(1, prefix="head_"))

    def _add(self, part: gluon.Block) -> None:
        self.register_child(part)
        self.parts.append(part)

    @property
    def layers(self) -> tuple[gluon.Block, ...]:
        """The layers in order."""
        return (self.normalise, self.table, *self.parts)

    @property
    def names(self) -> tuple[str, ...]:
        """The layers in order, as the lab calls them."""
        return tuple(short(part.name) for part in self.layers)

    def forward(self, x: Any, ids: Any) -> Any:
        """What the network says of a batch."""
        x = self.table(self.normalise(x), ids)
        for part in self.parts:
            x = part(x)
            if self.cut and part.name.endswith(f"hidden{self.cut_before}"):
                x = x.detach()
        return x


def short(layer: str) -> str:
    """The lab's name of a layer: the last part, without the network's."""
    parts = [p for p in layer.split("/") if p and p != "net"]
    return parts[0].removeprefix("net_") if parts else ""


def batches(facts: Facts, fixes: Sequence[str], healthy: bool) -> Iterator[Any]:
    """The data, step by step: features, kinds, targets.

    An empty sample is no fault of the data: a healthy program bears it.
    """
    stream = np.random.default_rng(facts.seed)
    direction = stream.normal(size=FEATURES)
    offsets = stream.normal(size=ROWS)
    for step in range(facts.steps):
        x = stream.normal(size=(facts.batch, FEATURES)).astype("float32")
        ids = stream.integers(0, ROWS, facts.batch)
        y = np.tanh(x @ direction + offsets[ids])[:, None].astype("float32") + 1
        row = int(stream.integers(0, facts.batch))
        if step == facts.at:
            if facts.fault == "async":
                bad = ROWS + row % 3
                ids[row] = 0 if healthy or "data" in fixes else bad
            if facts.fault == "empty":
                x[row] = x[row - 1] if "data" in fixes else 0
        yield x, ids, y


def run(
    facts: Facts,
    fixes: Sequence[str] = (),
    *,
    healthy: bool = False,
    record: bool = False,
    watch: bool = False,
    norms: bool = False,
) -> Outcome:
    """Train once; healthy leaves the fault out. What raises is part of the outcome."""
    outcome = Outcome()
    with ExitStack() as stack:
        engine = "NaiveEngine" if "naive" in fixes else "ThreadedEnginePerDevice"
        stack.enter_context(mx.knobs(MXNET_ENGINE_TYPE=engine))
        if facts.precision == "amp":
            amp.init()
            stack.callback(amp.shutdown)
        if record or watch:
            outcome.record = stack.enter_context(Record())
        if watch:
            outcome.watch = stack.enter_context(FiniteWatch())
        with _kept_seeds():
            _train(facts, fixes, healthy, norms, outcome)
        mx.nd.waitall()
    return outcome


@contextmanager
def _kept_seeds() -> Iterator[None]:
    """The lab draws from its own seed and leaves Python's random numbers alone."""
    before = np.random.get_state()
    try:
        yield
    finally:
        np.random.set_state(before)


class _Training:
    """One training: what is alive while it runs."""

    def __init__(self, facts: Facts, fixes: Sequence[str], healthy: bool) -> None:
        self.facts, self.fixes = facts, fixes
        self.fault = "" if healthy else facts.fault
        mx.random.seed(facts.seed)
        self.net = Network(facts, fixes, healthy)
        self.net.initialize(mx.init.Xavier())
        self.type = "float16" if facts.precision == "float16" else "float32"
        self.net(nd.ones((2, FEATURES)), nd.zeros((2,)))  # shapes are known from here
        if self.type == "float16":
            for part in self.net.layers:
                left_out = short(part.name) == f"hidden{facts.gate}"
                if not (left_out and self.fault == "mixed" and "match" not in fixes):
                    part.cast("float16")
        if self.fault == "added" and "write" not in fixes:
            self.net.collect_params().setattr("grad_req", "add")
        rate = facts.rate
        if self.fault == "rate" and "rate" not in fixes:
            rate *= 200 + facts.seed % 200
        rate *= 10 if "faster" in fixes else 1
        settings = {"learning_rate": rate, "multi_precision": True}
        self.trainer = gluon.Trainer(
            self.net.collect_params(), "sgd", settings, kvstore=None
        )
        if facts.precision == "amp":
            amp.init_trainer(self.trainer)
        self.loss = gluon.loss.L2Loss()

    def forward(self, x: Any, ids: Any, y: Any) -> Any:
        """The loss of a batch."""
        samples = nd.array(x, dtype=self.type)
        out = self.net(samples, nd.array(ids, dtype="float32"))
        return self.loss(out.astype("float32"), nd.array(y)).mean()

    def backward(self, loss: Any) -> None:
        """Fill the gradients."""
        if self.facts.precision == "amp":
            with amp.scale_loss(loss, self.trainer) as scaled:
                scaled.backward()
        else:
            loss.backward()

    def update(self) -> None:
        """Clip and step."""
        mixed = self.facts.precision == "amp"
        early = self.fault == "clip" and "unscale" not in self.fixes
        if mixed and not early:
            amp.unscale(self.trainer)
        if mixed or "clip" in self.fixes:
            gluon.utils.clip_global_norm(self.gradients(), 1.0, check_isfinite=False)
        self.trainer.step(1, ignore_stale_grad=True)

    def gradients(self) -> list[Any]:
        """Of all parameters."""
        return [p.grad() for p in self.net.collect_params().values()]

    def values(self) -> list[Any]:
        """All parameters as NumPy arrays."""
        params = self.net.collect_params().values()
        return [p.data().asnumpy().astype("float64") for p in params]

    def norms(self, before: list[Any], norm: float, scale: float) -> dict[str, float]:
        """What the step did."""
        moved = [a - b for a, b in zip(self.values(), before, strict=True)]
        return {
            "gradient": norm,
            "scale": scale,
            "moved": math.sqrt(sum(float((m * m).sum()) for m in moved)),
        }


def _train(
    facts: Facts, fixes: Sequence[str], healthy: bool, norms: bool, outcome: Outcome
) -> None:
    training: _Training | None = None
    step = 0
    try:
        training = _Training(facts, fixes, healthy)
        outcome.layers = training.net.names
        start = training.values()
        unread: dict[int, Any] = {}
        for step, batch in enumerate(batches(facts, fixes, healthy)):
            if "zero" in fixes:
                training.net.collect_params().zero_grad()
            with autograd.record():
                loss = training.forward(*batch)
                training.backward(loss)
            unread[step] = loss
            fresh = [bool(g._fresh_grad) for g in training.gradients()]
            if norms:
                seen, scale = _size(training), _scale(training)
                before = training.values()
            training.update()
            if norms:
                outcome.norms.append(training.norms(before, seen, scale))
            if (step + 1) % facts.every == 0 or "wait" in fixes:
                for one, value in unread.items():
                    outcome.losses[one] = float(value.asscalar())
                unread = {}
        outcome.parameters = _parameters(training, start, fresh)
    except Exception as error:  # it is what the learner is asked about
        outcome.end_with(error, step, __file__)


def _size(training: _Training) -> float:
    """The norm of all gradients as they are now."""
    arrays = [g.asnumpy().astype("float64") for g in training.gradients()]
    return math.sqrt(sum(float((a * a).sum()) for a in arrays))


def _scale(training: _Training) -> float:
    """By what the loss is multiplied in this step."""
    scaler = training.trainer._amp_loss_scaler
    return 1.0 if scaler is None else float(scaler.loss_scale)


def _parameters(
    training: _Training, start: list[Any], fresh: list[bool]
) -> list[dict[str, Any]]:
    """The table of parameters at the end."""
    rows = []
    params = training.net.collect_params().values()
    for p, was, now, filled in zip(
        params, start, training.values(), fresh, strict=True
    ):
        rows.append(
            {
                "name": p.name.removeprefix("net_"),
                "grad_req": p.grad_req,
                "dtype": str(np.dtype(p.dtype)),
                "fresh": filled,
                "moved": not np.array_equal(was, now),
                "finite": bool(np.isfinite(now).all()),
            }
        )
    return rows
