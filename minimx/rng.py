"""Random numbers: one independent stream per device.

A stream belongs to its device as memory does: operators that draw from it change it, so
the engine orders them by the stream's `var`, and the numbers do not depend on threads.

As in MXNet the seed is fixed unless the program chooses one, so two runs of a program
see the same numbers.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from minimx.device import Device
from minimx.errors import ArgumentError

DEFAULT_SEED = 0


class Stream:
    """The random numbers of one device.

    `generator` is what kernels draw from. `var` is a place for the engine's variable;
    this room does not know what that is. `seeded_with` is the seed in force.
    """

    __slots__ = ("device", "generator", "seeded_with", "var")

    generator: np.random.Generator

    def __init__(self, device: Device, value: int) -> None:
        self.device = device
        self.var: Any = None
        self.reseed(value)

    @property
    def key(self) -> Stream:
        """What the engine may tie its variable to: the stream itself."""
        return self

    def reseed(self, value: int) -> None:
        """Start again from a seed.

        Whoever draws at the same moment must be kept out by the engine: push this as an
        operation that writes `var`.
        """
        value = _checked(value)
        # Philox counts instead of mixing a state, so streams with different keys never
        # meet; the device is part of the key.
        place = (self.device.device_typeid, self.device.device_id)
        entropy = np.random.SeedSequence((value, *place))
        self.generator = np.random.Generator(np.random.Philox(entropy))
        self.seeded_with = value

    def __repr__(self) -> str:
        return f"Stream({self.device}, seed {self.seeded_with})"


_streams: dict[Device, Stream] = {}
_seeds: dict[Device, int] = {}
_everywhere = DEFAULT_SEED
_lock = threading.Lock()


def stream(device: Device) -> Stream:
    """The stream of a device, made at first use.

    >>> from minimx.device import cpu
    >>> stream(cpu()) is stream(cpu())
    True
    """
    found = _streams.get(device)
    if found is None:
        with _lock:
            found = _streams.get(device)
            if found is None:
                value = _seeds.get(device, _everywhere)
                found = _streams[device] = Stream(device, value)
    return found


def set_seed(value: Any, device: Device | str = "all") -> list[Stream]:
    """Choose the seed of one device, or of all; returns the streams to reseed.

    Streams that do not exist yet will start from it. Those that do are returned, for
    the caller to reseed in its own order: see `Stream.reseed`. Raises `ArgumentError`
    for a seed that is not a whole number from 0.
    """
    global _everywhere
    value = _checked(value)
    if isinstance(device, str) and device != "all":
        raise ArgumentError(f"seed: device={device!r} is neither a device nor 'all'.")
    with _lock:
        if not isinstance(device, str):
            _seeds[device] = value
            return [_streams[device]] if device in _streams else []
        _everywhere = value
        _seeds.clear()
        return list(_streams.values())


def seed(value: Any, device: Device | str = "all") -> None:
    """Start the random numbers of one device, or of all, again from a seed, now.

    Operations still waiting in the engine would draw from the new stream; callers that
    have an engine use `set_seed` and push the reseeding.
    """
    for affected in set_seed(value, device):
        affected.reseed(value)


def current_seed(device: Device | None = None) -> int:
    """The seed in force on a device, or the one for devices without their own."""
    if device is None:
        return _everywhere
    return _seeds.get(device, _everywhere)


def _checked(value: Any) -> int:
    """A seed that generators take; a negative one counts down from 2 ** 32, as in C."""
    try:
        number = int(value.__index__())
    except (AttributeError, TypeError):
        raise ArgumentError(
            f"seed: {value!r} cannot be a seed. Choose a whole number."
        ) from None
    return number % (1 << 32) if number < 0 else number
