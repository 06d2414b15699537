"""One node of the job: a network on a simulated GPU, and its optimizer.

The weak spots of a node: a layer that is elsewhere, a loop that becomes many operators,
first weights, and what a checkpoint holds.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

import minimx as mx
from minimx import gluon, nd
from minimx_widgets.failures.jobs.facts import JobFacts

FEATURES: Final = 16
NODES: Final = 2


class Shift(gluon.HybridBlock):
    """A bias that is added in so many equal parts: in a loop, or at once."""

    def __init__(self, width: int, times: int, at_once: bool, **settings: Any) -> None:
        super().__init__(**settings)
        self.times, self.at_once = times, at_once
        with self.name_scope():
            self.bias = self.params.get("bias", shape=(1, width))

    def hybrid_forward(self, F: Any, x: Any, bias: Any) -> Any:
        """The same numbers in both ways, but for rounding."""
        if self.at_once:
            return F.broadcast_add(x, bias)
        part = bias / self.times
        for _ in range(self.times):
            x = F.broadcast_add(x, part)
        return x


class Network(gluon.Block):
    """Dense layers with a shift among them and a head; each computes on a device."""

    def __init__(self, facts: JobFacts, at_once: bool) -> None:
        super().__init__(prefix="net_")
        self.parts: list[gluon.HybridBlock] = []
        with self.name_scope():
            for k in range(facts.layers):
                inputs = facts.width if k else FEATURES
                self._add(
                    gluon.nn.Dense(
                        facts.width,
                        in_units=inputs,
                        activation="tanh",
                        prefix=f"dense{k}_",
                    )
                )
                if k == facts.place:
                    self._add(Shift(facts.width, facts.times, at_once, prefix="shift_"))
            self._add(gluon.nn.Dense(1, in_units=facts.width, prefix="head_"))
        self.places: list[Any] = []

    def _add(self, part: gluon.HybridBlock) -> None:
        self.register_child(part)
        self.parts.append(part)

    def forward(self, x: Any) -> Any:
        """What the network says of a batch, on the device of its last layer."""
        for part, place in zip(self.parts, self.places, strict=True):
            x = part(x.as_in_context(place))
        return x


def layer_name(part: gluon.HybridBlock) -> str:
    """The lab's name of a layer: that in its network, without an underscore."""
    return part.name.removeprefix("net_").rstrip("_")


class Node:
    """A network, the optimizer of its weights, and the GPU that it computes on."""

    def __init__(
        self, facts: JobFacts, fixes: Sequence[str], healthy: bool, rank: int, seed: int
    ) -> None:
        fault = "" if healthy else facts.fault
        self.gpu, self.rank = mx.gpu(rank), rank
        at_once = fault != "loop" or "once" in fixes
        self.net = Network(facts, at_once)
        elsewhere = fault == "device" and "pin" not in fixes
        static = "static" in fixes
        draws = np.random.default_rng(seed)
        for part in self.net.parts:
            away = elsewhere and layer_name(part) == f"dense{facts.place}"
            place = mx.cpu(rank) if away else self.gpu
            self.net.places.append(place)
            part.initialize(mx.init.Zero(), ctx=place)
            for parameter in part.collect_params().values():
                parameter.set_data(_first(parameter.shape, draws))
            part.hybridize(static_alloc=static, static_shape=static)
        rate = facts.rate * (0.5 if "slower" in fixes else 1)
        self.update = mx.optimizer.get_updater(
            mx.optimizer.SGD(learning_rate=rate, momentum=0.9)
        )

    @property
    def parameters(self) -> list[Any]:
        """All parameters, in their order."""
        return list(self.net.collect_params().values())

    def values(self) -> list[Any]:
        """All weights as NumPy arrays."""
        return [parameter.data().asnumpy() for parameter in self.parameters]

    def step(self) -> None:
        """Change the weights by the gradients."""
        for key, parameter in enumerate(self.parameters):
            self.update(key, parameter.grad(), parameter.data())

    def save(self, folder: str, whole: bool) -> None:
        """Write a checkpoint. whole: with the optimizer's state."""
        self.net.save_parameters(f"{folder}/{self.rank}.params")
        if whole:
            Path(folder, f"{self.rank}.states").write_bytes(self.update.get_states())

    def load(self, folder: str) -> None:
        """Go on from a checkpoint, as far as it has what is needed."""
        self.net.load_parameters(f"{folder}/{self.rank}.params")
        states = Path(folder, f"{self.rank}.states")
        if states.exists():
            self.update.set_states(states.read_bytes())

    def operators(self) -> dict[str, dict[str, int]]:
        """How often each operator is in the exported graph, by layer."""
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            for part in self.net.parts:
                part.export(f"{folder}/part")
                graph = json.loads(Path(folder, "part-symbol.json").read_text("utf-8"))
                names = [node["op"] for node in graph["nodes"] if node["op"] != "null"]
                found[layer_name(part)] = dict(Counter(names))
        return found


def _first(shape: tuple[int, ...], draws: np.random.Generator) -> Any:
    """First weights: small ones, and biases that are nearly zero."""
    scale = 0.01 if shape[0] == 1 or len(shape) == 1 else 1 / np.sqrt(shape[1])
    return nd.array(draws.normal(0, scale, shape).astype("float32"))
