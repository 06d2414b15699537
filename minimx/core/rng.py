"""Random numbers: a few independent streams per device.

A stream belongs to its device as memory does: operators that draw from it change it, so
the engine orders them by the stream's `var`, and the numbers do not depend on threads.

How many streams a device has is for `MXNET_CPU_PARALLEL_RAND_COPY` and
`MXNET_GPU_PARALLEL_RAND_COPY` to say; operators take them in turn, in the order of the
program. Operators that got different streams may run at the same time. On a GPU,
dropout has streams of its own (`MXNET_GPU_CUDNN_DROPOUT_STATE_COPY`). Another number of
streams gives other numbers for the same seed.

As in MXNet the seed is fixed unless the program chooses one, so two runs of a program
see the same numbers.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import numpy as np

from minimx.core.device import Device
from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs

DEFAULT_SEED = 0


#: What a stream is for, and which of those with the same use it is.
Copy = tuple[str, int]
FIRST: Copy = ("", 0)


class Stream:
    """Random numbers of one device.

    `generator` is what kernels draw from. `var` is a place for the engine's variable;
    this module does not know what that is. `seeded_with` is the seed in force.
    """

    __slots__ = ("copy", "device", "generator", "seeded_with", "var")

    generator: np.random.Generator

    def __init__(self, device: Device, value: int, copy: Copy = FIRST) -> None:
        self.device = device
        self.copy = copy
        self.var: Any = None
        self.reseed(value)

    @property
    def key(self) -> Stream:
        """What the engine may tie its variable to: the stream itself."""
        return self

    def reseed(self, value: int) -> None:
        """Start again from a seed.

        Draws at the same moment must be kept out by the engine: push this as an
        operation that writes `var`.
        """
        value = _checked(value)
        # Philox counts instead of mixing a state, so streams with different keys never
        # meet; the device is part of the key, and so is which of its streams this is.
        use, number = self.copy
        place = [self.device.device_typeid, self.device.device_id]
        if self.copy != FIRST:
            place += [number, len(use)]
        entropy = np.random.SeedSequence((value, *place))
        self.generator = np.random.Generator(np.random.Philox(entropy))
        self.seeded_with = value

    def __repr__(self) -> str:
        return f"Stream({self.device}, seed {self.seeded_with})"


_streams: dict[tuple[Device, Copy], Stream] = {}
_turns: dict[tuple[Device, str], Iterator[Stream]] = {}
_seeds: dict[Device, int] = {}
_everywhere = DEFAULT_SEED
_children = 0  # the seeds for other processes since the program seeded
_lock = threading.RLock()


def stream(device: Device, copy: Copy = FIRST) -> Stream:
    """The first stream of a device, or another one, made at first use.

    >>> from minimx.core.device import cpu
    >>> stream(cpu()) is stream(cpu())
    True
    """
    found = _streams.get((device, copy))
    if found is None:
        with _lock:
            found = _streams.get((device, copy))
            if found is None:
                value = _seeds.get(device, _everywhere)
                found = _streams[device, copy] = Stream(device, value, copy)
    return found


def next_stream(device: Device, operator: str = "") -> Stream:
    """The stream whose turn it is; to be asked for by the thread that calls operators.

    operator: the name of the one that draws.
    """
    if _here.again:
        return _here.again.popleft()
    gpu = device.device_type == "gpu"
    use = "dropout" if gpu and operator == "Dropout" else ""
    own = _here.own
    turns = _turns if own is None else own.turns
    turn = turns.get((device, use))
    if turn is None:
        copies = [(use, number) for number in range(knobs.get(_COPIES[gpu, use]))]
        if own is None:
            turn = cycle([stream(device, copy) for copy in copies])
        else:
            value = own.seeds.get(device, own.seed)
            turn = cycle([Stream(device, value, copy) for copy in copies])
        turns[device, use] = turn
    return next(turn)


#: Which knob counts the streams: on a GPU or not, and for what.
_COPIES: dict[tuple[bool, str], Any] = {
    (False, ""): "MXNET_CPU_PARALLEL_RAND_COPY",
    (True, ""): "MXNET_GPU_PARALLEL_RAND_COPY",
    (True, "dropout"): "MXNET_GPU_CUDNN_DROPOUT_STATE_COPY",
}


class _Own:
    """All generators of one thread: Python's, NumPy's, and a seed for our streams."""

    def __init__(self, pythons: int, numpys: int, ours: int) -> None:
        self.python = random.Random(pythons)
        self.numpy = np.random.RandomState(numpys)
        self.seed = ours
        self.seeds: dict[Device, int] = {}
        self.turns: dict[tuple[Device, str], Iterator[Stream]] = {}

    def reseed(self, value: int, device: Device | None) -> None:
        """Begin again from a seed, on one device or on all."""
        if device is None:
            self.seed = value
            self.seeds.clear()
        else:
            self.seeds[device] = value
        for known in [key for key in self.turns if device in (None, key[0])]:
            del self.turns[known]


class _Here(threading.local):
    """Streams that this thread's draws take before all others."""

    def __init__(self) -> None:
        self.again: deque[Stream] = deque()
        self.own: _Own | None = None


_here = _Here()


@contextmanager
def own(pythons: int, numpys: int, ours: int) -> Iterator[None]:
    """Let this thread draw from generators of its own, made from three seeds.

    They give what `random.seed(pythons)`, `np.random.seed(numpys)` and `seed(ours)`
    would make the program's give. Inside, `seed` seeds these and no others. What does
    not draw by `python` and `numpys` below, and not from our streams, still draws from
    what all threads share.
    """
    before = _here.own
    _here.own = _Own(pythons, numpys, ours)
    try:
        yield
    finally:
        _here.own = before


class _Threads:
    """The module `random`, or `numpy.random`; in a thread with its own, those."""

    def __init__(self, name: str, shared: Any) -> None:
        self._name, self._shared = name, shared

    def __getattr__(self, function: str) -> Any:
        return getattr(getattr(_here.own, self._name, self._shared), function)


python: Any = _Threads("python", random)
numpys: Any = _Threads("numpy", np.random)


@contextmanager
def replaying(device: Device, states: Iterable[Any]) -> Iterator[None]:
    """Let the draws inside the block give what earlier ones gave.

    states: of the generators before each of these draws, in order:
    `generator.bit_generator.state`.
    """
    before = _here.again
    _here.again = deque()
    for state in states:
        stream = Stream(device, DEFAULT_SEED)
        stream.generator.bit_generator.state = state
        _here.again.append(stream)
    try:
        yield
    finally:
        _here.again = before


def _forget_turns(*_: object) -> None:
    """Begin with the first stream again; the streams go on where they are."""
    _turns.clear()


knobs.watch(tuple(_COPIES.values()), _forget_turns)


def set_seed(value: Any, device: Device | str = "all") -> list[Stream]:
    """Choose the seed of one device, or of all; returns the streams to reseed.

    Streams that do not exist yet will start from it. Those that do are returned, for
    the caller to reseed in its own order: see `Stream.reseed`. The first stream is the
    next one in turn. Raises `ArgumentError` for a seed that is not a whole number
    from 0.
    """
    global _everywhere, _children
    value = _checked(value)
    if isinstance(device, str) and device != "all":
        raise ArgumentError(f"seed: device={device!r} is neither a device nor 'all'.")
    if _here.own is not None:
        _here.own.reseed(value, None if isinstance(device, str) else device)
        return []
    with _lock:
        _turns.clear()
        _children = 0
        if not isinstance(device, str):
            _seeds[device] = value
            return [found for key, found in _streams.items() if key[0] == device]
        _everywhere = value
        _seeds.clear()
        return list(_streams.values())


def child_seed() -> int:
    """A seed for another process: it follows from the seed in force on the CPU.

    Every call gives another one, until the program seeds anew. Nothing is drawn from
    any stream.

    >>> seed(7)
    >>> first, second = child_seed(), child_seed()
    >>> seed(7)
    >>> first == child_seed() != second
    True
    """
    global _children
    with _lock:
        _children += 1
        value = _seeds.get(Device("cpu", 0), _everywhere)
        sequence = np.random.SeedSequence((value, _children), spawn_key=(1,))
    return int(sequence.generate_state(1)[0])


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
