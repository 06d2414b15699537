"""What runs in a lab, as a knob sees it, and rules that say when a knob can act."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from minimx.core import storage
from minimx.core.knobs import knobs
from minimx.fast.onednn import library as dnnl
from minimx.kvstore.policy import updates_on_store
from minimx_widgets.training.precision import scaler_for


@dataclass(frozen=True)
class Situation:
    """What runs: how, where, in which type, under which knobs.

    way: "imperative", "hybridized" or "static". device: "cpu" or "gpu". dtype: in what
    layers compute. devices: how many train together; store: where their gradients are
    summed. largest: elements of the largest weight, 0 while that is not known. scaled:
    whether the loss is scaled, so that steps may be skipped. training: whether
    something runs at all. operators: names of the operators in the network's graph;
    empty while that is not known. values: the knobs. onednn, cuda: whether the library,
    a real device, is there. free: per cent of the device's memory. threads_given:
    whether OMP_NUM_THREADS was set.
    """

    way: str = "hybridized"
    device: str = "cpu"
    dtype: str = "float32"
    devices: int = 1
    store: str = "device"
    largest: int = 0
    scaled: bool = False
    optimizer: str = "adam"
    training: bool = False
    operators: frozenset[str] = frozenset()
    values: Mapping[str, Any] = field(default_factory=dict)
    onednn: bool = False
    cuda: bool = False
    free: float = 100.0
    threads_given: bool = False

    def __getitem__(self, name: str) -> Any:
        """The value of a knob."""
        found = self.values.get(name)
        return knobs.get(name) if found is None else found

    @property
    def gpu(self) -> bool:
        """Whether the training is on a GPU, simulated or not."""
        return self.device == "gpu"

    @property
    def updates_in_store(self) -> bool:
        """Whether the optimizer runs where the gradients are summed."""
        knob = bool(self["MXNET_UPDATE_ON_KVSTORE"])
        return not self.scaled and updates_on_store(self.store, self.largest, knob)

    @property
    def graphs(self) -> bool:
        """Whether the network runs as a graph."""
        return self.way != "imperative"

    def has(self, *names: str) -> bool:
        """Whether the network has an operator with one of the words in its name.

        True while its operators are not known.
        """
        return not self.operators or any(
            word in name for name in self.operators for word in names
        )

    @classmethod
    def of(cls, settings: Any, fit: Any) -> Situation:
        """That of a lab's settings and its training, None without one."""
        return cls(
            way=settings.graph,
            device=settings.device.partition("(")[0],
            dtype=settings.dtype,
            devices=settings.devices,
            store=settings.store,
            largest=0 if fit is None else fit.spread.largest,
            scaled=scaler_for(settings.dtype, settings.scaling) is not None,
            optimizer=settings.optimizer,
            training=fit is not None,
            operators=frozenset() if fit is None else fit.binding.operators,
            values=knobs.snapshot(),
            onednn=dnnl.loaded() is not None,
            threads_given=knobs.is_set("OMP_NUM_THREADS"),
            cuda=fit is not None and fit.device.backend == "cuda",
            free=100.0 if fit is None else _free(fit.device),
        )


def _free(device: Any) -> float:
    stats = storage.stats(device)
    return 100.0 * (1 - stats.device_used / stats.device_total)


@dataclass(frozen=True)
class Rule:
    """Knobs by name (a `*` ends a beginning), when they act, and why else not."""

    names: str
    acts: Callable[[Situation], bool]
    otherwise: str

    def covers(self, name: str) -> bool:
        """Whether the rule is about a knob."""
        return any(
            name.startswith(each[:-1]) if each.endswith("*") else name == each
            for each in self.names.split()
        )


def never(_: Situation) -> bool:
    """The condition of what a lab does not have."""
    return False
