"""A sum over simulated GPUs: the real store runs it, and the record says what moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minimx import kvstore, nd
from minimx.core import engine
from minimx.core.device import gpu
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.kvstore.execution import broadcast, reduce
from minimx.kvstore.planners.ring import on_ring

#: Links between simulated GPUs: one switch of PCI Express, or NVLinks as in a DGX-1.
LAYOUTS = ("pcie", "mesh")


@dataclass(frozen=True)
class Traffic:
    """What a sum moved.

    bytes_into: by place, `host` or a device. bytes_over: by (source, target). copies:
    how many. us: microseconds on the virtual clock. record: of it all.
    """

    bytes_into: Mapping[str, int]
    bytes_over: Mapping[tuple[str, str], int]
    copies: int
    us: float
    record: Record

    @property
    def busiest(self) -> int:
        """The bytes that came into the place that got most."""
        return max(self.bytes_into.values(), default=0)

    @property
    def place(self) -> str:
        """The place that got most."""
        return max(self.bytes_into, key=lambda one: self.bytes_into[one])

    def __repr__(self) -> str:
        return (
            f"Traffic({self.copies} copies; most came into {self.place}: "
            f"{self.busiest:,} bytes)"
        )


def traffic_of(record: Record) -> Traffic:
    """What a record says about copies between places."""
    table, ops = record.comm(), record.ops()
    into: Counter[str] = Counter()
    over: Counter[tuple[str, str]] = Counter()
    rows = zip(
        record.texts(table["src"]),
        record.texts(table["dst"]),
        table["nbytes"].tolist(),
        strict=True,
    )
    for source, target, nbytes in rows:
        into[target] += nbytes
        over[source, target] += nbytes
    span = int(ops["t_end"].max() - ops["t_start"].min()) if len(ops) else 0
    return Traffic(dict(into), dict(over), len(table), span / 1e3, record)


def summed(
    store: str,
    gpus: int,
    shape: tuple[int, int] = (64, 16),
    layout: str = "pcie",
    **changes: Any,
) -> Traffic:
    """Push and pull one gradient of ones on so many simulated GPUs.

    store: local, device, tree (device with MXNET_KVSTORE_USETREE) or ring, the plan of
    NCCL's stores, which `execution` runs here as it runs all plans. changes: knobs.
    Raises `ArithmeticError` if the sum is wrong anywhere.
    """
    if store == "tree":
        changes = {"MXNET_KVSTORE_USETREE": 1, **changes}
    with knobs(
        MINIMX_SIM_GPUS=gpus,
        MINIMX_SIM_LINKS=layout,
        MINIMX_CLOCK="virtual",
        MXNET_ENGINE_TYPE=None,
        **changes,
    ):
        values = [nd.ones(shape, ctx=gpu(k)) for k in range(gpus)]
        engine.wait_all()
        with Record() as record:
            _share("device" if store == "tree" else store, values)
            engine.wait_all()
        wrong = [one.context for one in values if (one.asnumpy() != gpus).any()]
        values.clear()
    if wrong:
        raise ArithmeticError(f"the sum over {gpus} devices is wrong on {wrong}.")
    return traffic_of(record)


def _share(store: str, values: list[Any]) -> None:
    if store == "ring":
        plan = on_ring(range(len(values)), values[0].shape[0])
        broadcast(plan, reduce(plan, values), values)
        return
    made = kvstore.create(store)
    made.init("w", nd.zeros(values[0].shape))
    made.pushpull("w", values)
    engine.wait_all()
