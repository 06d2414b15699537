"""Loops and branches as nodes: operators whose settings hold graphs.

`_foreach`, `_while_loop` and `_cond` run their bodies as `nd.contrib` runs functions on
arrays; the operators inside go on the tape one by one, so gradients need no rule here.
The variables of a body are fed from the inputs of the node: `wiring` says which from
which. `symbol/control.py` makes such nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.core import np_semantics
from minimx.core.arrays.array import NDArray
from minimx.core.dtypes import FLOAT32, DType
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.graph.running.run import evaluate
from minimx.core.graph.values.infer import Inference, infer
from minimx.core.graph.values.ir import Entry, Graph
from minimx.core.ops.registry import Op, register
from minimx.core.ops.settings import IMPLICIT_SETTINGS, MOST, to_type
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Open, Opens, merge
from minimx.nd import control

#: For each variable of a body the number of the input that feeds it.
Wires = tuple[int, ...]


class Control(Op):
    """What the three have in common."""

    deterministic = False

    @property
    def visible(self) -> int:  # type: ignore[override]
        """Outputs, then the states or variables of a loop: the setting num_outputs."""
        return int(self.settings["num_outputs"])

    @property
    def bodies(self) -> tuple[Graph, ...]:
        """The graphs inside."""
        raise OperatorError(f"{self.name} has no bodies")

    @property
    def wiring(self) -> tuple[Wires, ...]:
        """For each body: where its variables get their values."""
        raise OperatorError(f"{self.name} has no wiring")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Inputs have numbers for names."""
        count = 1 + max((i for wires in self.wiring for i in wires), default=-1)
        return tuple(f"data{i}" for i in range(count))

    @property
    def state_inputs(self) -> tuple[str, ...]:
        """The inputs that feed variables which a body changes."""
        return tuple(
            f"data{i}"
            for body, wires in zip(self.bodies, self.wiring, strict=True)
            for node, i in zip(body.variables, wires, strict=True)
            if node in body.states
        )

    def inside(self, i: int, shape: Open) -> Open:
        """The shape that a body sees of input `i`."""
        return shape

    def outside(self, i: int, shape: Open, ins: Opens) -> Open:
        """The shape of input `i` if a body sees `shape`."""
        return shape

    def shapes_out(self, found: list[list[Open]], ins: Opens) -> Opens:
        """The shapes of the outputs, from those of the bodies' outputs."""
        return found[-1]

    # -- what flows through -----------------------------------------------------------

    def _asked(self, ins: Opens, dtypes: Sequence[DType | None]) -> list[Inference]:
        """What each body makes of what is known of the inputs."""
        found = []
        for body, wires in zip(self.bodies, self.wiring, strict=True):
            pairs = list(zip(body.variables, wires, strict=True))
            shapes = {node.name: self.inside(i, ins[i]) for node, i in pairs}
            known = {n: s for n, s in shapes.items() if s is not None}
            kinds = {node.name: dtypes[i] for node, i in pairs}
            found.append(infer(body, known, kinds, default=None))
        return found

    def _outputs(self, asked: list[Inference], ins: Opens) -> Opens:
        every = [
            [found.shapes.get(entry) for entry in found.graph.outputs]
            for found in asked
        ]
        return self.shapes_out(every, ins)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The outputs of the bodies; those of loops have an axis of steps in front."""
        ins: Opens = [spec.shape for spec in specs]
        asked = self._asked(ins, [spec.dtype for spec in specs])
        last = asked[-1]
        outs = []
        for shape, entry in zip(
            self._outputs(asked, ins), last.graph.outputs, strict=True
        ):
            if shape is None or None in shape:
                raise ShapeError(f"{self.name}: the shape of {entry.name} stays open.")
            dtype = last.dtypes.get(entry) or FLOAT32
            outs.append(Spec.of(shape, dtype))  # type: ignore[arg-type]
        return tuple(outs)

    def deduce(self, ins: Opens, outs: Opens) -> tuple[Opens, Opens]:
        """What the bodies tell of the shapes of the inputs and outputs."""
        ins = list(ins)
        asked = self._asked(ins, [None] * len(ins))
        for found, wires in zip(asked, self.wiring, strict=True):
            for node, i in zip(found.graph.variables, wires, strict=True):
                outer = self.outside(i, found.shapes.get(Entry(node)), ins)
                ins[i] = merge(f"{self.name}: {node.name}", ins[i], outer)
        return ins, self._outputs(asked, ins)

    def deduce_types(
        self, ins: list[DType | None], outs: list[DType | None]
    ) -> tuple[list[DType | None], list[DType | None]]:
        """What the bodies tell of the element types."""
        ins = list(ins)
        asked = self._asked([None] * len(ins), ins)
        for found, wires in zip(asked, self.wiring, strict=True):
            for node, i in zip(found.graph.variables, wires, strict=True):
                ins[i] = ins[i] or found.dtypes.get(Entry(node))
        last = asked[-1]
        return ins, [last.dtypes.get(entry) for entry in last.graph.outputs]

    # -- running ----------------------------------------------------------------------

    def run_body(self, which: int, values: Sequence[Any]) -> list[NDArray]:
        """The outputs of one body; values: what its inputs are now."""
        body, wires = self.bodies[which], self.wiring[which]
        given = {n: values[i] for n, i in zip(body.variables, wires, strict=True)}
        return evaluate(body, given, values[0].context)

    def run(self, inputs: Sequence[NDArray]) -> list[NDArray]:
        """All outputs."""
        raise OperatorError(f"{self.name} cannot run")

    @staticmethod
    def eager(op: Control, inputs: Sequence[NDArray], out: Any) -> Any:
        """Run the bodies in place of a kernel."""
        outs = op.run(inputs)
        given = out if isinstance(out, (list, tuple)) or out is None else [out]
        for target, made in zip(given or (), outs, strict=False):
            target[:] = made
        outs = outs if given is None else list(given)
        return outs[0] if op.visible == 1 else outs

    # -- files ------------------------------------------------------------------------

    def as_text(self) -> dict[str, str]:
        """The settings as MXNet writes them, without the graphs."""
        fields: dict[str, Any] = self.settings
        found = {
            name: str(list(value) if isinstance(value, tuple) else value)
            for name, value in fields.items()
            if not isinstance(value, Graph) and name not in IMPLICIT_SETTINGS
        }
        found["num_args"] = str(len(self.inputs) + len(self.bodies))
        return found

    @classmethod
    def from_text(
        cls, attrs: dict[str, str], *graphs: Graph, np_shape: bool = False
    ) -> tuple[Control, dict[str, str]]:
        """The operator of a graph's file, and what is left: remarks."""
        names: dict[str, Any] = cls.__dataclass_fields__  # type: ignore[attr-defined]
        settings: dict[str, Any] = {"np_shape": np_shape} if "np_shape" in names else {}
        remarks = {}
        for word, text in attrs.items():
            if word in names and word not in IMPLICIT_SETTINGS:
                settings[word] = to_type(cls.name, word, text, names[word].type)
            elif word != "num_args":
                remarks[word] = text
        made = cls(*graphs, **settings)
        made.check()
        return made, remarks

    def check(self) -> None:
        """Raise OperatorError if the settings do not fit the bodies."""
        facts: dict[str, Any] = self.settings
        states = facts.get("in_state_locs", facts.get("func_var_locs", ()))
        outs = {len(body.outputs) for body in self.bodies[1:] or self.bodies}
        data = facts.get("num_out_data", self.visible)
        if outs != {self.visible} or data < 0 or data + len(states) != self.visible:
            raise OperatorError(
                f"{self.name}: its bodies have {outs} outputs; {self.visible} are "
                f"stated, of which {data} are stacked or chosen, and {len(states)} "
                "states."
            )
        places = range(len(facts.get("func_input_locs", ())))
        if not set(facts.get("func_var_locs", ())) <= set(places):
            raise OperatorError(f"{self.name}: func_var_locs is {states}.")
        for body, wires in zip(self.bodies, self.wiring, strict=True):
            if len(wires) != len(body.variables) or not all(
                type(i) is int and 0 <= i < MOST for i in wires
            ):
                raise OperatorError(
                    f"{self.name}: a body has {len(body.variables)} variables, and "
                    f"{list(wires)} says where they come from."
                )


@register("_foreach")
class Foreach(Control):
    """Run a body for each slice of some arrays, and hand states from step to step.

    The inputs are data, states and what else the body needs. `in_data_locs`,
    `in_state_locs` and `remain_locs` give the places of their variables in the body.
    Out come the body's outputs, stacked, and the last states.

    A slice of an array with one axis has the shape (1,), as in MXNet; with `np_shape`
    it has none.
    """

    body: Any
    num_outputs: int = 0
    num_out_data: int = 0
    in_data_locs: Any = ()
    in_state_locs: Any = ()
    remain_locs: Any = ()
    np_shape: bool = False

    @property
    def bodies(self) -> tuple[Graph, ...]:
        """One."""
        return (self.body,)

    @property
    def wiring(self) -> tuple[Wires, ...]:
        """The places, turned round."""
        places = (*self.in_data_locs, *self.in_state_locs, *self.remain_locs)
        found = {place: i for i, place in enumerate(places)}
        return (tuple(found.get(k, -1) for k in range(len(self.body.variables))),)

    def inside(self, i: int, shape: Open) -> Open:
        """Data is seen in slices."""
        if not shape or i >= len(self.in_data_locs):
            return shape
        return shape[1:] or (() if self.np_shape else (1,))

    def outside(self, i: int, shape: Open, ins: Opens) -> Open:
        """Data has the axis of steps in front."""
        if shape is None or i >= len(self.in_data_locs):
            return shape
        if shape == (1,) and not self.np_shape:  # of (steps,), or of (steps, 1)
            return ins[i]
        return (self._steps(ins), *shape)

    def _steps(self, ins: Opens) -> int | None:
        heads = [shape[0] for shape in ins[: len(self.in_data_locs)] if shape]
        return next((n for n in heads if n is not None), None)

    def shapes_out(self, found: list[list[Open]], ins: Opens) -> Opens:
        """Outputs are stacked; states come out as they went in."""
        steps, first = self._steps(ins), len(self.in_data_locs)
        outs: Opens = []
        for k, shape in enumerate(found[0]):
            if k < self.num_out_data:
                outs.append(None if shape is None else (steps, *shape))
            else:
                went_in = ins[first + k - self.num_out_data]
                outs.append(merge(f"{self.name}: state", shape, went_in))
        return outs

    def run(self, inputs: Sequence[NDArray]) -> list[NDArray]:
        """Step by step."""
        first = len(self.in_data_locs)
        second = first + len(self.in_state_locs)
        rest = list(inputs[second:])

        def body(slices: Any, states: Any) -> Any:
            outs = self.run_body(0, [*slices, *states, *rest])
            return outs[: self.num_out_data], outs[self.num_out_data :]

        states = list(inputs[first:second])
        with np_semantics.Scope(np_shape=self.np_shape):  # says what slices look like
            outs, last = control.foreach(body, list(inputs[:first]), states)
        return [*outs, *last]


@register("_while_loop")
class WhileLoop(Control):
    """Run a body while a condition holds, at most `max_iterations` times.

    `cond_input_locs` and `func_input_locs` give for each variable of the two graphs the
    input that feeds it; `func_var_locs` the places of the loop's variables in the body.
    Out come the body's outputs, stacked and followed by zeros, and the last variables.
    """

    cond: Any
    func: Any
    max_iterations: int = 0
    num_outputs: int = 0
    num_out_data: int = 0
    cond_input_locs: Any = ()
    func_input_locs: Any = ()
    func_var_locs: Any = ()

    @property
    def bodies(self) -> tuple[Graph, ...]:
        """The condition and the body."""
        return self.cond, self.func

    @property
    def wiring(self) -> tuple[Wires, ...]:
        """As it is written."""
        return tuple(self.cond_input_locs), tuple(self.func_input_locs)

    @property
    def loop_inputs(self) -> list[int]:
        """The inputs that hold the loop's variables at the start."""
        return [self.func_input_locs[place] for place in self.func_var_locs]

    def shapes_out(self, found: list[list[Open]], ins: Opens) -> Opens:
        """Outputs are stacked; the loop's variables keep their shape."""
        outs: Opens = []
        for k, shape in enumerate(found[1]):
            if k < self.num_out_data:
                outs.append(None if shape is None else (self.max_iterations, *shape))
            else:
                went_in = ins[self.loop_inputs[k - self.num_out_data]]
                outs.append(merge(f"{self.name}: variable", shape, went_in))
        return outs

    def run(self, inputs: Sequence[NDArray]) -> list[NDArray]:
        """Step by step."""
        places, count = self.loop_inputs, self.num_out_data

        def values(current: Sequence[Any]) -> list[Any]:
            found = list(inputs)
            for place, value in zip(places, current, strict=True):
                found[place] = value
            return found

        def func(*current: Any) -> Any:
            outs = self.run_body(1, values(current))
            return outs[:count], outs[count:]

        outs, last = control.while_loop(
            lambda *current: self.run_body(0, values(current))[0],
            func,
            [inputs[place] for place in places],
            self.max_iterations,
        )
        if len(outs) < count:  # not a single step: only the shapes are known
            specs = self.infer(*[x.spec for x in inputs])[:count]
            outs = [inputs[0]._zeros_like_spec(spec) for spec in specs]
        return [*outs, *last]


@register("_cond")
class Cond(Control):
    """Run one of two bodies.

    `cond_input_locs`, `then_input_locs` and `else_input_locs` give for each variable of
    the three graphs the input that feeds it. Out come the outputs of the body that ran.
    """

    cond: Any
    then: Any
    otherwise: Any
    num_outputs: int = 0
    cond_input_locs: Any = ()
    then_input_locs: Any = ()
    else_input_locs: Any = ()

    @property
    def bodies(self) -> tuple[Graph, ...]:
        """The condition and the two bodies."""
        return self.cond, self.then, self.otherwise

    @property
    def wiring(self) -> tuple[Wires, ...]:
        """As it is written."""
        locs = (self.cond_input_locs, self.then_input_locs, self.else_input_locs)
        return tuple(tuple(places) for places in locs)

    def shapes_out(self, found: list[list[Open]], ins: Opens) -> Opens:
        """Both bodies must give the same shapes."""
        return [
            merge(f"{self.name}: output {k}", a, b)
            for k, (a, b) in enumerate(zip(found[1], found[2], strict=True))
        ]

    def run(self, inputs: Sequence[NDArray]) -> list[NDArray]:
        """Ask the condition, run a body."""
        return control.cond(  # type: ignore[no-any-return]
            self.run_body(0, inputs)[0],
            lambda: self.run_body(1, inputs),
            lambda: self.run_body(2, inputs),
        )
