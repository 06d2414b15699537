"""The devices that a training is spread over, and the store in which gradients meet.

Each batch is cut into one piece for each device, which all have the same weights. The
gradients of the pieces are summed in a store: the same sum as on one device, up to the
rounding of another order. What a layer keeps beside its weights, such as the running
means of BatchNorm, every device keeps of its own pieces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import minimx as mx
from minimx.core.drivers.cuda import cuda
from minimx.core.errors import ArgumentError, MXNetError
from minimx.core.events import attributed
from minimx.core.knobs import knobs

#: At most so many devices train together.
MOST = 8
#: Where gradients are summed: on the host, on the devices, by NCCL.
LOCAL, ON_DEVICES, NCCL = "local", "device", "nccl"
GPUS = "MINIMX_SIM_GPUS"


def stores() -> tuple[str, ...]:
    """The stores that can be made here."""
    try:
        mx.kv.create(NCCL)
    except MXNetError:
        return LOCAL, ON_DEVICES
    return LOCAL, ON_DEVICES, NCCL


def device_of(text: str) -> Any:
    """The device that `text` names, such as "gpu(0)". Raises `ArgumentError`."""
    kind, _, rest = text.partition("(")
    if kind not in ("cpu", "gpu") or not rest.removesuffix(")").isdigit():
        raise ArgumentError(f"Lab: device={text!r}: write cpu(0) or gpu(0).")
    return mx.Device(kind, int(rest.removesuffix(")")))


def devices_of(text: str, count: int) -> list[Any]:
    """So many devices from the one that `text` names on, such as gpu(0) to gpu(3).

    Simulated GPUs that are missing are added, by the knob MINIMX_SIM_GPUS: those that
    there are keep their arrays, and numbers do not change. Raises `ArgumentError` for
    more GPUs than can be.
    """
    first = device_of(text)
    devices = [mx.Device(first.device_type, first.device_id + i) for i in range(count)]
    last = devices[-1]
    if last.device_type != "gpu" or last.device_id < mx.num_gpus():
        return devices
    real, most = cuda().count(), knobs.declared[GPUS].high
    if real and count > 1:
        raise ArgumentError(
            f"devices={count} from {text} on: this machine has {real} CUDA GPU(s), and "
            "simulated ones do not train beside them. Choose fewer, or set "
            "MINIMX_CUDA=0 before anything is on a GPU."
        )
    if count > 1 and most is not None and last.device_id < most:
        knobs.set(**{GPUS: last.device_id + 1})
        return devices
    if count > 1:
        raise ArgumentError(
            f"devices={count} from {text} on would need {last}; {GPUS} adds at most "
            f"{most:g} GPUs. Begin at gpu(0), or choose fewer."
        )
    return devices  # its first use says that there is no such GPU


def memory_of(devices: Sequence[Any]) -> list[str]:
    """Whose memory the devices have, as records say it: all `cpu(i)` have one."""
    return list(
        dict.fromkeys(
            "cpu(0)" if device.device_type == "cpu" else str(device)
            for device in devices
        )
    )


class Spread:
    """The devices and the store of one training, which may change between two steps.

    net: on the first device. trainer: of its parameters.
    """

    def __init__(self, net: Any, trainer: Any, first: str) -> None:
        self._net, self._trainer, self._first = net, trainer, first
        self.devices = [device_of(first)]
        self.store = ""
        self._in_store: bool | None = None
        self._anew = False

    @property
    def largest(self) -> int:
        """How many elements the largest weight has."""
        return max(int(math.prod(p.shape)) for p in self._values())

    def store_anew(self) -> None:
        """Choose the store again at the next step, by the knobs as they are then."""
        self._anew = True

    def change(self, count: int, store: str, *, skips: bool) -> bool:
        """Train on so many devices with a store from the next step on.

        skips: whether steps may be skipped, which an optimizer in a store cannot do.
        Weights and the optimizer's states go along. Returns whether the devices are
        others. Raises an error of the family `MXNetError` if one of them has no room;
        then nothing has changed.
        """
        devices = devices_of(self._first, count)
        moved = devices != self.devices
        if moved:
            self._require_room([d for d in devices if d not in self.devices])
            with attributed(phase="update", category="parameter"):
                self._net.reset_ctx(devices)
            self.devices = devices
        in_store = False if skips else None
        if self._anew or (store, in_store) != (self.store, self._in_store):
            self._trainer.change_store(store, in_store)
            self.store, self._in_store, self._anew = store, in_store, False
        return moved

    def _require_room(self, fresh: Sequence[Any]) -> None:
        """Raise if weights and gradients do not fit on devices that join."""
        weights = [p.data(self.devices[0]) for p in self._values()]
        for device in fresh:
            try:
                copies = [w.copyto(device) for w in weights for _ in range(2)]
                mx.nd.waitall()
            except MXNetError as full:
                raise ArgumentError(
                    f"{device} cannot join: {full} Training goes on with "
                    f"{len(self.devices)}."
                ) from full
            del copies

    def _values(self) -> list[Any]:
        return list(self._net.collect_params().values())

    def split(self, x: Any, y: Any) -> list[tuple[Any, Any]]:
        """Images and labels, one piece for each device.

        Where the batch is not divisible the first pieces have one sample more. There
        are at least as many samples as devices.
        """
        with attributed(phase="data", category="data"):
            if len(self.devices) > 1:
                x, y = mx.nd.array(x), mx.nd.array(y)
            load = mx.gluon.utils.split_and_load
            return list(
                zip(
                    load(x, self.devices, even_split=False),
                    load(y, self.devices, even_split=False),
                    strict=True,
                )
            )

    def taken(self, wanted: int, left: int) -> int:
        """How many of the samples that are left the next batch takes.

        The last ones of an epoch, if they are fewer than the devices, come along.

        wanted: the size of a batch.
        """
        return left if left - wanted < len(self.devices) else wanted
