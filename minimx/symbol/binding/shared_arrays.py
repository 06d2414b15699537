"""Arrays that a new executor may use instead of allocating its own.

So executors of several graphs hold the same parameters, gradients and states, and take
turns in the arrays for data: buckets of sentences do, each of which is a graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import zeros
from minimx.core.device import Device
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import DEFAULT
from minimx.executor import Executor


class SharedArrays:
    """Finds arrays by name and spec, or makes them.

    executor: whose arguments of these names (default: all), their gradients, and states
    are shared. buffer: arrays for all other arguments, which the new ones join.
    """

    def __init__(
        self,
        executor: Executor | None,
        names: Sequence[str] | None,
        buffer: dict[str, NDArray] | None,
    ) -> None:
        shared = executor is not None
        self._arguments = executor.arg_dict if executor is not None else {}
        self._gradients = executor.grad_dict if executor is not None else {}
        self._states = executor.aux_dict if executor is not None else {}
        self._names = {*(names or (self._arguments if shared else ()))}
        self._buffer = buffer

    def argument(self, name: str, spec: Spec, at: Device) -> NDArray:
        """An argument; one for data may be the front of a larger array."""
        if name in self._names:
            return _shared_or_new(self._arguments, name, spec, at)
        if self._buffer is None:
            return _new(spec, at)
        old = self._buffer.get(name)
        if old is not None and old.context is at:
            if old.spec is spec:
                return old
            if _fits_in(old.spec, spec):
                return type(old)(old.chunk, spec, old.offset)
        made = self._buffer[name] = _new(spec, at)
        return made

    def gradient(self, name: str, spec: Spec, at: Device) -> NDArray:
        """The gradient of an argument."""
        given = self._gradients if name in self._names else {}
        return _shared_or_new(given, name, spec, at)

    def state(self, name: str, spec: Spec, at: Device) -> NDArray:
        """An auxiliary state."""
        return _shared_or_new(self._states, name, spec, at)


def _shared_or_new(
    given: Mapping[str, NDArray | None], name: str, spec: Spec, at: Device
) -> NDArray:
    old = given.get(name)
    fits = old is not None and old.spec is spec and old.context is at
    return old if old is not None and fits else _new(spec, at)


def _fits_in(old: Spec, spec: Spec) -> bool:
    dense = old.eager is None and spec.eager is None
    return dense and old.dtype == spec.dtype and old.nbytes >= spec.nbytes


def _new(spec: Spec, at: Device) -> NDArray:
    stype = getattr(spec, "stype", DEFAULT)
    made: NDArray = zeros(spec.shape, at, spec.dtype, stype)
    return made
