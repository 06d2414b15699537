"""Operators that are written down as functions of `mx.np`.

MXNet's NumPy half has operators of its own for much that is a line of other operators
here: `_npi_std`, `_npi_tensorinv`, `_npi_add`, which converts its inputs to a common
type. Which line it is depends on shapes and types, and a symbol has none. Such an
operator stays one node, with MXNet's name and settings, until they are known:

    @composed("_npi_polyval")
    def polyval(p, x):
        '''The polynomial with coefficients p, the highest first.'''
        return np.polyval(p, x)

The arguments by place are the operator's inputs, those by name its settings.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from minimx.core.arrays.array import NDArray
from minimx.core.device import current_device
from minimx.core.errors import MXNetError, OperatorError
from minimx.core.graph.passes.simplify import held
from minimx.core.graph.values.ir import Entry, Graph, Node, outputs_of, rewritten
from minimx.core.ops.casting import USUAL, Casting
from minimx.core.ops.registry import Op, Types, register
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Opens
from minimx.name import NameManager
from minimx.symbol.tracing.arrays import Traced, Tracer


class Function(Op):
    """A function of arrays, whose result's shape depends on numbers."""

    function: ClassVar[Callable[..., Any]]
    #: What it is called in files, if not by its name.
    file_name: ClassVar[str] = ""
    deterministic = False

    def computed(self, arrays: Sequence[NDArray]) -> list[NDArray]:
        """What the function gives for some arrays."""
        found = type(self).function(*arrays, **self.settings)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    @staticmethod
    def eager(op: Function, inputs: Sequence[NDArray], out: Any) -> Any:
        """Call the function in place of a kernel."""
        outs = op.computed([x.as_np_ndarray() for x in inputs])
        if out is not None:
            given = out if isinstance(out, (list, tuple)) else [out]
            for target, value in zip(given, outs, strict=True):
                target[:] = value
            return out
        return outs[0] if op.visible == 1 else outs


class Composed(Function):
    """A function of arrays, whose operators follow from the specs of its inputs."""

    #: The operator that tells what follows for the shapes of the inputs, if one does.
    like: ClassVar[Op | None] = None

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Those of what the function's operators give."""
        return _written(self, specs)[2]

    def deduce(self, ins: Opens, outs: Opens) -> tuple[Opens, Opens]:
        """As the operator says that it mostly is."""
        return (ins, outs) if self.like is None else self.like.deduce(ins, outs)

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """Open inputs are like the others; outputs as of small arrays."""
        known = [dtype for dtype in (*ins, *outs) if dtype is not None]
        if not known and ins:
            return ins, outs
        types = [known[0] if dtype is None else dtype for dtype in ins]
        for ndim in range(5):
            try:
                found = self.infer(*[Spec.of((2,) * ndim, dtype) for dtype in types])
            except (MXNetError, ValueError, IndexError):
                continue  # it is for arrays of more axes
            return [*types], [spec.dtype for spec in found]
        return [*types], outs

    def expansion(self, specs: tuple[Spec, ...]) -> tuple[Graph, tuple[Node, ...]]:
        """The function's operators as a graph, and its variables in order."""
        graph, variables, _ = _written(self, specs)
        return graph, variables


@lru_cache(maxsize=2048)
def _written(
    op: Function, specs: tuple[Spec, ...]
) -> tuple[Graph, tuple[Node, ...], tuple[Spec, ...]]:
    """What a function writes down, its variables, and the specs of its outputs."""
    with NameManager(), Tracer(current_device()) as tracer:
        nodes = [tracer.variable(f"in{k}", spec) for k, spec in enumerate(specs)]
        found = op.computed([tracer.array(Entry(node), True) for node in nodes])
        entries = [tracer.entry_of(x) for x in found]
    numbers = {entry.node: array for entry, array in tracer.captured.values()}

    def change(node: Node, _: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if node not in numbers:
            return None
        return outputs_of(Node(held(numbers[node].asnumpy()), (), node.name))

    outs = tuple(
        x.plain_spec if isinstance(x, Traced) else Spec.of(x.shape, x.spec.dtype)
        for x in found
    )
    return rewritten(Graph(entries), change), tuple(nodes), outs


def composed(
    name: str,
    takes: Callable[[Any], tuple[str, ...]] | None = None,
    gives: Callable[[Any], int] | None = None,
    planned: bool = True,
    like: Op | None = None,
    written: str = "",
    casting: Casting = USUAL,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function in the dictionary as an operator.

    takes: which of its inputs it has, by its settings; all without it. gives: how many
    outputs, if not one. planned: its result's shape follows from shapes. like: the
    operator that knows what its output tells of its inputs. written: its name in files,
    where the name in MXNet is that of an operator here that takes less. casting: in
    which type it computes under mixed precision.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        parameters = inspect.signature(function).parameters.values()
        fields = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        arrays = tuple(p.name for p in parameters if p not in fields)
        if not function.__doc__:
            raise OperatorError(f"{name} needs a docstring: it is its help.")
        body: dict[str, Any] = {
            "__doc__": function.__doc__,
            "__module__": function.__module__,
            "__annotations__": {p.name: p.annotation for p in fields},
            "function": staticmethod(function),
            "casting": casting,
            "all_inputs": arrays,
            "inputs": arrays if takes is None else property(takes),
        }
        body |= {p.name: p.default for p in fields if p.default is not p.empty}
        if gives is not None:
            body["visible"] = property(gives)
        if planned:
            body["like"] = like
        if written:
            body["file_name"] = written
        kind = Composed if planned else Function
        register(name)(type(name.strip("_"), (kind,), body))
        return function

    return enter
