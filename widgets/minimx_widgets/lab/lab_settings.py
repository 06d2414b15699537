"""The settings of a lab: what the page offers, what text means, and when it acts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from minimx.context import num_gpus
from minimx.core.errors import ArgumentError
from minimx_widgets.lab.lab_controls import Field
from minimx_widgets.training.networks import NETWORKS
from minimx_widgets.training.precision import DTYPES, SCALINGS
from minimx_widgets.training.spread import MOST, NCCL, device_of, devices_of, stores
from minimx_widgets.training.training import (
    DATA,
    GRAPHS,
    OPTIMIZERS,
    Settings,
)

#: What a setting is called that holds the caller's own network or data.
GIVEN = "(given)"
#: Settings that a running training takes up at its next step; others begin afresh.
LIVE = (
    "learning_rate", "batch_size", "epochs", "graph", "dtype", "scaling", "averaged",
    "devices", "store",
)  # fmt: skip

DEVICES = (
    "How many train together, each on a piece of every batch; simulated GPUs that are "
    "missing are added (MINIMX_SIM_GPUS). It may change between two steps: weights go "
    "along, and losses are those of one device up to rounding, but for BatchNorm, "
    "whose means each device takes of its own piece. The first pieces of a batch that "
    "is not divisible have one sample more"
)
STORE = (
    "Where the gradients of several devices are summed: local on the host, device on "
    "the devices, nccl on a ring of GPUs. It may change between two steps; one device "
    "needs none"
)

Choices = tuple[tuple[str, str], ...]


def fields(given: Mapping[str, Any]) -> list[Field]:
    """What the page offers beside the five switches, one of which is the precision.

    given: the network and the data of the lab's maker.
    """

    def choices(kind: str, names: Iterable[str]) -> Choices:
        own = () if isinstance(given[kind], str) else ((GIVEN, f"your {kind}"),)
        return (*own, *same(names))

    devices = ("cpu(0)", *(f"gpu({i})" for i in range(num_gpus())))
    whats: list[tuple[str, str, str, Choices]] = [
        ("network", "Network", "What is trained", choices("network", NETWORKS)),
        ("data", "Data", "The images it learns from", choices("data", DATA)),
        ("device", "Device", "Where it is trained", same(devices)),
        ("devices", "Devices", DEVICES, same(map(str, range(1, MOST + 1)))),
        ("store", "Store", STORE, same(stores())),
        ("optimizer", "Optimizer", "How weights follow", same(OPTIMIZERS)),
        ("graph", "Runs", "Operator by operator, or as a graph", same(GRAPHS)),
        ("learning_rate", "Learning rate", "The size of a step", ()),
        ("batch_size", "Batch size", "Samples per step", ()),
        (
            "averaged",
            "Averaged over",
            "So many elements share the loss, as pixels do",
            (),
        ),
        ("epochs", "Epochs", "Times through all samples; 0: until stopped", ()),
        ("seed", "Seed", "Where random numbers begin", ()),
    ]
    return [Field(*what, rebuilds=what[0] not in LIVE) for what in whats]


def same(names: Iterable[str]) -> Choices:
    """Choices whose labels are their values."""
    return tuple((name, name) for name in names)


def text_of(settings: Settings, name: str) -> str:
    """A setting as text, which `parse` reads."""
    value = getattr(settings, name)
    if name in ("network", "data") and not isinstance(value, str):
        return GIVEN
    return f"{value:g}" if isinstance(value, float) else str(value)


def title_of(settings: Settings) -> str:
    """What is trained, such as "lenet on glyphs"."""
    network, data = (text_of(settings, kind) for kind in ("network", "data"))
    return f"{network} on {data}"


_BOUNDS: dict[str, tuple[float, float, type[int] | type[float]]] = {
    "learning_rate": (1e-8, 1e3, float),
    "batch_size": (1, 100_000, int),
    "devices": (1, MOST, int),
    "averaged": (1, 2**30, int),
    "epochs": (0, 10_000, int),
    "seed": (0, 2**31 - 1, int),
}
#: The values of settings that have few.
CHOICES: dict[str, Iterable[str]] = {
    "optimizer": OPTIMIZERS, "dtype": DTYPES, "scaling": SCALINGS, "graph": GRAPHS,
}  # fmt: skip


def parse(name: str, text: str, given: Mapping[str, Any]) -> Any:
    """A setting from text. Raises `ArgumentError` naming what is allowed."""
    text = text.strip()
    if name in given:
        return given[name] if text == GIVEN else text
    if name == "store":
        return _chosen(name, text, stores())
    if name == "device":
        device_of(text)
        return text
    if name in CHOICES:
        return _chosen(name, text, CHOICES[name])
    return _number(name, text)


def check(settings: Settings) -> None:
    """Whether settings go together; GPUs that are missing are added.

    Raises `ArgumentError` for more devices than there can be, or than a batch has
    samples, and for a store that cannot add there.
    """
    first, *others = devices_of(settings.device, settings.devices)
    if others and settings.store == NCCL and first.device_type != "gpu":
        raise ArgumentError(
            f"store={NCCL} with devices={settings.devices} on {first}: it adds on "
            "GPUs. Choose device=gpu(0), or the store local or device."
        )
    if settings.batch_size < settings.devices:
        raise ArgumentError(
            f"batch_size={settings.batch_size} with devices={settings.devices}: each "
            "device needs a sample of every batch. Choose larger batches, or fewer "
            "devices."
        )


def _chosen(name: str, text: str, allowed: Iterable[str]) -> str:
    if text not in allowed:
        raise ArgumentError(f"{name}={text!r}: choose {', '.join(allowed)}.")
    return text


def _number(name: str, text: str) -> float | int:
    if name not in _BOUNDS:
        known = ", ".join(vars(Settings()))
        raise ArgumentError(f"Lab.set: there is no setting {name!r}; it has {known}.")
    low, high, kind = _BOUNDS[name]
    value: float | int | None
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not low <= value <= high:
        what = "a whole number" if kind is int else "a number"
        raise ArgumentError(f"{name}={text!r}: give {what} from {low:g} to {high:g}.")
    return value
