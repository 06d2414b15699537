"""A graph of symbols as a graph of ONNX.

Every node is translated in turn (`values.py` says how). What is computed from
parameters alone is computed now, and its result is written: so the packed weights of a
recurrent layer become the matrices that ONNX wants, and nothing is left of the packing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke_planned
from minimx.core.device import cpu
from minimx.core.dtypes import DType
from minimx.core.errors import OperatorError
from minimx.core.graph.values.infer import Inference
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.operators.pointwise import Backward, Pointwise
from minimx.core.operators.views import View
from minimx.core.ops.registry import ALIASES, REGISTRY, Op, bind
from minimx.core.shapes import is_whole
from minimx.onnx import files
from minimx.onnx.names import unused
from minimx.onnx.writing import (
    elementwise,
    layers,
    products,
    recurrent,
    reductions,
    shapes,
)
from minimx.onnx.writing.values import TRANSLATIONS, Call, Value

__all__ = [
    "Writer",
    "elementwise",
    "layers",
    "products",
    "recurrent",
    "reductions",
    "shapes",
]


class Writer:
    """The nodes and arrays of the ONNX graph that a graph of symbols becomes.

    static: shapes and types for the inputs as they were given. open: the shapes where
    axes that may vary are not known. constants: the parameters.
    """

    def __init__(
        self,
        graph: Graph,
        static: Inference,
        open: Inference,
        constants: Mapping[Entry, NDArray],
    ) -> None:
        self.graph, self.static, self.open = graph, static, open
        self.constants = dict(constants)
        self.nodes: list[tuple[str, str, list[str], list[str], dict[str, Any]]] = []
        self.arrays: dict[str, Any] = {}
        self._values: dict[Entry, str] = {}
        self._taken: set[str] = set()
        self._small: dict[Any, str] = {}
        self._stored: set[Entry] = set()
        #: Constants whose shape depends on an axis that is open.
        self._unsure: set[Entry] = set()
        self._helper = files.package("onnx.helper")
        for node in graph.variables:
            self._values[Entry(node)] = self._unique(node.name)

    # -- for translations -------------------------------------------------------------

    def dtype(self, entry: Entry) -> DType:
        """The element type of an entry."""
        found = self.static.dtypes.get(entry)
        if found is None:
            raise OperatorError(
                f"export_model: the element type of {entry.name!r} is not known. Give "
                "in_shapes and in_types for all inputs."
            )
        return found

    def kind_of(self, dtype: DType) -> int:
        """ONNX's number for an element type."""
        return int(self._helper.np_dtype_to_tensor_dtype(dtype))

    def tensor(self, array: Any) -> Any:
        """An array as the attribute of a node."""
        return files.package("onnx.numpy_helper").from_array(array)

    def name_of(self, entry: Entry) -> str:
        """What an entry is called; a constant is written to the file."""
        if entry in self.constants and entry not in self._stored:
            if entry in self._unsure:
                raise OperatorError(
                    f"export_model: {entry.name!r} is as long as an axis that is open "
                    "here. Fix that axis in dynamic_input_shapes, or export with "
                    "dynamic=False."
                )
            self._stored.add(entry)
            if entry not in self._values:
                self._values[entry] = self._unique(_called(*entry))
            self.arrays[self._values[entry]] = self.constants[entry].asnumpy()
        return self._values[entry]

    def constant(self, hint: str, array: Any) -> str:
        """The name of an array that is written to the file; small ones are shared."""
        key = array.dtype.str, array.shape, array.tobytes() if array.size < 64 else None
        if key[2] is None or key not in self._small:
            self._small[key] = self._unique(f"{hint}_constant")
            self.arrays[self._small[key]] = array
        return self._small[key]

    def add(
        self, hint: str, kind: str, inputs: list[str], outputs: int, attributes: Any
    ) -> list[str]:
        """Append a node; returns the names of its outputs."""
        made = [self._unique(f"{hint}_{kind.lower()}") for _ in range(outputs)]
        self.nodes.append(
            (kind, self._unique(f"{hint}/{kind}"), inputs, made, attributes)
        )
        return made

    def _unique(self, name: str) -> str:
        return unused(name, self._taken)

    # -- node by node -----------------------------------------------------------------

    def run(self) -> None:
        """Translate every node."""
        with autograd.pause(train_mode=False):
            for node in self.graph:
                if node.op is not None and not self._fold(node):
                    self._translate(node)

    def _fold(self, node: Node) -> bool:
        """Compute a node whose inputs are all known, if it always gives the same."""
        op = self._resolved(node)
        if any(entry not in self.constants for entry in node.inputs):
            return False
        if op.needs_rng or op.mutates or op.eager is not None:
            return False
        arrays = [self.constants[entry] for entry in node.inputs]
        if arrays:
            made = bind(op, *arrays)
        else:
            made = invoke_planned(op, op.plan(()), (), None, cpu(), NDArray)
        found = made if isinstance(made, list) else [made]
        entries = [Entry(node, k) for k in range(len(found))]
        self.constants |= dict(zip(entries, found, strict=True))
        if not self._unsure.isdisjoint(node.inputs) or (
            node.op is not op and not is_whole(self.open.shapes.get(entries[0]))
        ):
            self._unsure.update(entries)
        return True

    def _resolved(self, node: Node) -> Op:
        """The operator of a node; one that waited for a shape, with that shape."""
        assert node.op is not None
        if not node.op.unresolved:
            return node.op
        spec = self.static.spec(Entry(node))
        if spec is None:
            raise OperatorError(
                f"export_model: the shape of {node.name!r} ({node.op.name}) does not "
                "follow from in_shapes. Write all its axes out."
            )
        return node.op.resolve(spec)

    def _translate(self, node: Node) -> None:
        first = len(self.nodes)
        call = Call(self, node, self._resolved(node))
        made = translated(call, *call.inputs)
        values = [
            call.cast(value, self.dtype(Entry(node, slot)))
            for slot, value in enumerate(made if isinstance(made, list) else [made])
        ]
        fresh = {name for _, _, _, outs, _ in self.nodes[first:] for name in outs}
        renamed = {}
        for slot, value in enumerate(values):
            entry = Entry(node, slot)
            self._values[entry] = value.name
            if value.name in fresh and value.name not in renamed:
                renamed[value.name] = self._unique(_called(node, slot))
                self._values[entry] = renamed[value.name]
        for _, _, inputs, outputs, _ in self.nodes[first:]:
            for names in (inputs, outputs):
                names[:] = [renamed.get(name, name) for name in names]

    # -- the whole --------------------------------------------------------------------

    def finished(self, inputs: Iterable[Node], name: str) -> Any:
        """The GraphProto, with these variables as its inputs."""
        helper = self._helper
        numbers = files.package("onnx.numpy_helper")
        outputs = self._outputs()
        return helper.make_graph(
            [
                helper.make_node(kind, ins, outs, name=word, **attributes)
                for kind, word, ins, outs, attributes in self.nodes
            ],
            name,
            [self._info(Entry(node), self._values[Entry(node)]) for node in inputs],
            [self._info(entry, word) for entry, word in outputs],
            [numbers.from_array(array, word) for word, array in self.arrays.items()],
        )

    def _outputs(self) -> list[tuple[Entry, str]]:
        """The outputs with names of their own: what passes through gets a node."""
        found: dict[str, Entry] = {}
        computed = {name for _, _, _, outs, _ in self.nodes for name in outs}
        for entry in self.graph.outputs:
            name = self.name_of(entry)
            if name in found or name not in computed:
                (copy,) = self.add(entry.name, "Identity", [name], 1, {})
                name = copy
            found[name] = entry
        return [(entry, name) for name, entry in found.items()]

    def _info(self, entry: Entry, name: str) -> Any:
        kind = self.kind_of(self.dtype(entry))
        shape = self.open.shapes.get(entry)
        return self._helper.make_tensor_value_info(name, kind, shape)


def _called(node: Node, slot: int) -> str:
    """What an output is called in the file: as MXNet calls it, after the node."""
    assert node.op is not None
    alone = node.visible == 1 or (slot == 0 and node.op.output_names)
    return node.name if alone else f"{node.name}{slot}"


def translated(at: Call, *inputs: Value) -> Any:
    """What a call becomes: by its own translation, its formula, or as a view."""
    op = at.op
    if op.name in TRANSLATIONS:
        return TRANSLATIONS[op.name](at, *inputs)
    if isinstance(op, View):
        return at.reshaped(inputs[0], at.shape(), at.out)
    if isinstance(op, Pointwise) and _has_functions(type(op)):
        return elementwise.evaluated(at, op.formula, inputs, op.constants)
    raise at.refused(
        "has no translation to ONNX. Compute it with operators that have one "
        "(mx.onnx.get_operator_support()), or export the part before it: "
        "sym.get_internals()['…_output']"
    )


def _has_functions(sheet: type[Op]) -> bool:
    """Whether ONNX has all that the formula of a pointwise operator is made of."""
    if not issubclass(sheet, Pointwise) or issubclass(sheet, Backward):
        return False
    parts = list(ast.walk(sheet.formula.tree))
    called = {
        p.func.id
        for p in parts
        if isinstance(p, ast.Call) and isinstance(p.func, ast.Name)
    }
    logical = any(isinstance(p, (ast.BoolOp, ast.Not)) for p in parts)
    return called <= elementwise.FUNCTIONS.keys() and not logical


def supported() -> list[str]:
    """The names of all operators that can be written, sorted."""
    known = {
        name
        for name, sheet in REGISTRY.items()
        if name in TRANSLATIONS or issubclass(sheet, View) or _has_functions(sheet)
    }
    public = known | {alias for alias, name in ALIASES.items() if name in known}
    return sorted(name for name in public if not name.startswith("_backward"))
