"""Functions with gradients that a user writes in Python.

    class Sigmoid(autograd.Function):
        def forward(self, x):
            y = 1 / (1 + nd.exp(-x))
            self.save_for_backward(y)
            return y

        def backward(self, dy):
            (y,) = self.saved_tensors
            return dy * y * (1 - y)

    y = Sigmoid()(x)

The whole call is one node on the tape. As `mx.autograd.Function` of MXNet 1.9.1, and
much like PyTorch's.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from minimx.core.autograd.modes import pause, state
from minimx.core.autograd.tape import Leaf, TapeNode
from minimx.core.errors import GradientError
from minimx.core.ops.registry import GradContext, Op, Value


class _Once(Op):
    """The operator on the tape of a gradient that Python code computed unrecorded.

    Its own gradient is an error. Without it a second derivative would silently lack the
    part that goes through here.
    """

    name = "backward of a function"
    variadic = True

    def __init__(self, whose: str, count: int) -> None:
        object.__setattr__(self, "whose", whose)
        object.__setattr__(self, "visible", count)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """There is none."""
        raise GradientError(
            f"{self.whose} has a first derivative and no second: its "  # type: ignore[attr-defined]
            "backward() is Python code that is not recorded. Write the function with "
            "operators, or leave it out of what is differentiated twice."
        )


def once_differentiable(
    whose: str, gradients: Sequence[Value | None]
) -> list[Value | None]:
    """The gradients, such that differentiating them again raises GradientError.

    whose: the name of the function, for the error. gradients: one for each input, None
    where there is none; they are returned as other arrays over the same memory.
    """
    found = [None if g is None else g._alias() for g in gradients]
    made = [g for g in found if g is not None]
    if state.recording and made:
        # An entry of its own: it has no gradient, but it leads the walk here.
        nowhere = (Leaf(None, "null"), 0)
        specs = tuple(g.spec for g in made)
        node = TapeNode(_Once(whose, len(made)), [nowhere], specs[:1], specs, [], 0)
        for index, gradient in enumerate(made):
            gradient._entry = (node, index)
    return found


class _Saved:
    """What a function keeps for `backward`: the tape's, which lets go of it at once."""

    __slots__ = ("__weakref__", "kept", "values")

    def __init__(self, values: tuple[Value, ...]) -> None:
        self.values = values
        # Users save what they like, not only arrays.
        self.kept = [x.chunk.keep() if hasattr(x, "chunk") else None for x in values]

    def _neutral(self) -> _Saved:
        return self

    def blocks(self) -> list[Any]:
        """The memory of the arrays."""
        return [kept.chunk for kept in self.kept if kept is not None]


class _FunctionOp(Op):
    """The operator on the tape of a user's `Function`."""

    name = "Function"
    variadic = True

    def __init__(self, function: Function, outputs: int) -> None:
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "visible", outputs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
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
        for result, spec in zip(results, at.ins, strict=True):
            if result is not None and result.shape != spec.shape:
                raise GradientError(
                    f"{type(function).__name__}.backward returned a gradient of shape "
                    f"{result.shape} for an input of shape {spec.shape}."
                )
        return once_differentiable(type(function).__name__, results)


class Function:
    """A function with its own gradient: write `forward` and `backward` on arrays.

    `forward(*inputs)` returns an array or a tuple of arrays; `backward(*douts)` takes
    the gradient of each output and returns one gradient for each input, of its shape or
    None. `save_for_backward` keeps what the second needs in `saved_tensors`, so that
    one instance serves one recorded call. Raises GradientError for a second call, and
    for gradients of another number or shape.
    """

    _mine: _Saved | None = None
    _saved: weakref.ref[_Saved] | None = None
    _used = False

    def save_for_backward(self, *values: Value) -> None:
        """Keep arrays for `backward`."""
        self._mine = _Saved(values)
        self._saved = weakref.ref(self._mine)

    @property
    def saved_tensors(self) -> tuple[Value, ...]:
        """What `save_for_backward` kept, until the tape was walked back."""
        saved = None if self._saved is None else self._saved()
        if saved is None:
            return ()
        pairs = zip(saved.values, saved.kept, strict=True)
        return tuple(
            [x if not k or x.chunk is k.chunk else x._at(k.chunk) for x, k in pairs]
        )

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
                # From here on only the tape keeps them.
                mine, self._mine = self._mine, None
                kept: list[Any] = [(mine, -1 - len(outs), None)] if mine else []
                node = TapeNode(op, entries, ins, tuple(o.spec for o in outs), kept, 0)
                for index, out in enumerate(outs):
                    out._entry = (node, index)
        return outs[0] if single else outs
