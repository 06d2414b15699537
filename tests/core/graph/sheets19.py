"""Operators whose gradients read what MXNet 1.9.1's read, and so plan as there.

minimx's own keep less: its tanh needs only its output, its FullyConnected computes each
gradient by itself. And every gradient node of MXNet waits for the node whose gradient
it is, if only to run after it; so what is mirrored is computed again to the last node
of a stretch, whose result nobody reads. These sheets are for planning, not for running.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.ops.registry import GradContext, Op, bind
from minimx.core.ops.spec import Spec


class Sheet(Op):
    """An operator that is only planned."""

    def infer(self, *specs: Spec) -> Any:
        return specs[0]


class BackwardFullyConnected(Sheet):
    """All three gradients at once; that of data may be written over data."""

    name = "_backward_FullyConnected"
    inputs = ("dout", "data", "weight", "after")
    ignores = ("after",)
    visible = 3
    inplace: Any = {"out": "data"}

    def infer(self, *specs: Spec) -> Any:
        return specs[1], specs[2], Spec.of(specs[2].shape[:1], specs[0].dtype)


class FullyConnected(Sheet):
    """Keeps data and weight."""

    name = "FullyConnected"
    inputs = ("data", "weight", "bias")
    saves = ("data", "weight", "out")

    def infer(self, *specs: Spec) -> Any:
        data, weight, _ = specs
        return Spec.of((data.shape[0], weight.shape[0]), data.dtype)

    def grad(self, at: GradContext, dout: Any, *saved: Any) -> Sequence[Any]:
        return bind(made(BackwardFullyConnected), dout, *saved)  # type: ignore[no-any-return]


class BackwardTanh(Sheet):
    """Takes the output and the input; may be written over the gradient."""

    name = "_backward_Activation"
    inputs = ("dout", "out", "data")
    inplace: Any = {"out": "dout"}


class Tanh(Sheet):
    """Keeps output and input, though the output would do."""

    name = "Activation"
    saves = ("out", "data")
    inplace: Any = {"out": "data"}

    def grad(self, at: GradContext, dout: Any, *saved: Any) -> Sequence[Any]:
        return (bind(made(BackwardTanh), dout, *saved),)


class BackwardSin(Sheet):
    """May be written over either input."""

    name = "_backward_sin"
    inputs = ("dout", "data", "after")
    ignores = ("after",)
    inplace: Any = {"out": ("dout", "data")}


class Sin(Sheet):
    """Keeps its input."""

    name = "sin"
    saves = ("data", "out")
    inplace: Any = {"out": "data"}

    def grad(self, at: GradContext, dout: Any, *saved: Any) -> Sequence[Any]:
        return (bind(made(BackwardSin), dout, *saved),)


class BackwardSum(Sheet):
    """The gradient of a number, everywhere."""

    name = "_backward_sum"
    inputs = ("dout", "after")
    ignores = ("after",)

    def infer(self, *specs: Spec) -> Any:
        return Spec.of((4096, 512), specs[0].dtype)


class Sum(Sheet):
    """One number; keeps nothing."""

    name = "sum"
    saves = ("out",)

    def infer(self, *specs: Spec) -> Any:
        return Spec.of((1,), specs[0].dtype)

    def grad(self, at: GradContext, dout: Any, *saved: Any) -> Sequence[Any]:
        return (bind(made(BackwardSum), dout, *saved),)


_made: dict[type[Op], Op] = {}


def made(sheet: type[Op]) -> Op:
    if sheet not in _made:
        _made[sheet] = op = sheet()
        op.__post_init__()
    return _made[sheet]


def layers(forced: bool) -> Graph:
    """The sum of 20 times FullyConnected and tanh; data (4096, 512).

    forced: three of every four are to be mirrored.
    """
    x = Entry(Node(None, (), "data"))
    for k in range(20):
        said = {"__force_mirroring__": "True"} if forced and k % 4 else {}
        weight, bias = (Node(None, (), f"fc{k}_{w}") for w in ("weight", "bias"))
        entries = [x, Entry(weight), Entry(bias)]
        x = Entry(Node(made(FullyConnected), entries, f"fc{k}", said))
        x = Entry(Node(made(Tanh), [x], f"act{k}", said))
    return Graph([Entry(Node(made(Sum), [x], "sum"))])


def sines(forced: bool) -> Graph:
    """The sum of 20 times sin; forced: three of every four are to be mirrored."""
    x = Entry(Node(None, (), "data"))
    for k in range(20):
        said = {"__force_mirroring__": "True"} if forced and k % 4 else {}
        x = Entry(Node(made(Sin), [x], f"sin{k}", said))
    return Graph([Entry(Node(made(Sum), [x], "sum"))])
