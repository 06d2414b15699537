"""Functions with gradients that a user writes himself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.autograd.modes import pause, state
from minimx.autograd.tape import Node
from minimx.errors import GradientError
from minimx.ops.registry import Op, Site, Value


class _FunctionOp(Op):
    """The operator that stands on the tape for a user's `Function`."""

    name = "Function"
    variadic = True

    def __init__(self, function: Function, outputs: int) -> None:
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "visible", outputs)

    def grad(self, at: Site, dout: Any, *saved: Value) -> Sequence[Value | None]:
        function: Function = self.function  # type: ignore[attr-defined]
        douts = dout if isinstance(dout, tuple) else (dout,)
        with pause(train_mode=state.training):
            results = function.backward(*douts)
        if not isinstance(results, (list, tuple)):
            results = (results,)
        if len(results) != len(at.ins):
            raise GradientError(
                f"{type(function).__name__}.backward returned {len(results)} "
                f"gradients for {len(at.ins)} inputs. Return one for each."
            )
        return list(results)


class Function:
    """A function with its own gradient: write `forward` and `backward` on arrays.

    `forward(*inputs)` returns an array or a tuple of arrays; `backward(*douts)` returns
    one gradient for each input. `save_for_backward` keeps what the second needs in
    `saved_tensors`, so that one instance serves one call.
    """

    _saved: tuple[Value, ...] = ()
    _used = False

    def save_for_backward(self, *values: Value) -> None:
        """Keep arrays for `backward`."""
        self._saved = values

    @property
    def saved_tensors(self) -> tuple[Value, ...]:
        """What `save_for_backward` kept."""
        return self._saved

    def forward(self, *inputs: Value) -> Any:
        """Compute the outputs."""
        raise NotImplementedError(f"{type(self).__name__} has no forward().")

    def backward(self, *douts: Value) -> Any:
        """Compute the gradients of the inputs."""
        raise NotImplementedError(f"{type(self).__name__} has no backward().")

    def __call__(self, *inputs: Value) -> Any:
        """Run `forward` unrecorded, and put the whole function on the tape as one."""
        if self._used:
            raise GradientError(
                f"this {type(self).__name__} was called before; what it saved then is "
                f"still needed. Make another one: {type(self).__name__}()(…)."
            )
        self._used = state.recording
        with pause(train_mode=state.training):
            result = self.forward(*inputs)
        single = not isinstance(result, (list, tuple))
        outs = [result] if single else list(result)
        if state.recording:
            entries = [value._entry for value in inputs]
            if any(entry is not None for entry in entries):
                # An output may be an input handed through: it needs its own entry.
                outs = [out._alias() for out in outs]
                op = _FunctionOp(self, len(outs))
                ins = tuple(value.spec for value in inputs)
                node = Node(op, entries, ins, tuple(o.spec for o in outs), [], 0)
                for index, out in enumerate(outs):
                    out._entry = (node, index)
        return outs[0] if single else outs
