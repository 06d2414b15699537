"""What the cells of `mx.rnn` have in common: symbols for one step of a network.

    cell = mx.rnn.LSTMCell(100, prefix="lstm_")
    outputs, states = cell.unroll(5, mx.sym.var("data"), merge_outputs=True)

They are from before Gluon: a cell holds variables, not values, and gives symbols, which
a module trains. `mx.gluon.rnn` has the cells of today.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from minimx import symbol
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.nd.functions import FUNCTIONS as ON_ARRAYS
from minimx.symbol import Symbol

Arrays = dict[str, NDArray]
GROUPS = ("i2h", "h2h")


class Unrolling(NamedTuple):
    """What `unroll` of a cell is asked for; see `BaseRNNCell.unroll`."""

    length: int
    inputs: Any
    begin_state: Any
    layout: str
    merge_outputs: bool | None


class RNNParams:
    """Variables by name, each made when it is first asked for: cells may share them."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable `prefix + name`; keyword arguments are those of `mx.sym.var`."""
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = symbol.var(name, **kwargs)
        return self._params[name]


class BaseRNNCell:
    """A cell: `output, states = cell(input, states)`, once for each step.

    prefix: what the names of its variables and nodes begin with. params: the `params`
    of another cell, to share its variables.
    """

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Count steps and states from the beginning again."""
        self._init_counter = self._counter = -1
        for cell in getattr(self, "_cells", ()):
            cell.reset()

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        """One step: its output, and the states for the next."""
        raise NotImplementedError(f"{type(self).__name__} has no step of its own.")

    @property
    def params(self) -> RNNParams:
        """Its variables; asked for, they may be shared."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and layout of each state; 0 for a length that is not known."""
        raise NotImplementedError

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """The shapes of the states."""
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self) -> tuple[str, ...]:
        return ()

    def _name_of_step(self) -> str:
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def begin_state(self, func: Any = symbol.zeros, **kwargs: Any) -> list[Symbol]:
        """Symbols of the first states: zeros, or what `func(name=, shape=)` makes."""
        self._refuse_modified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(func(name=name, **{**kwargs, **(info or {})}))
        return states

    def _refuse_modified(self) -> None:
        if self._modified:
            raise ArgumentError(
                "a cell inside a modifier (such as ZoneoutCell) has no begin_state of "
                "its own. Call that of the modifier."
            )

    # -- weights ----------------------------------------------------------------------

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Arrays by name with an array for each gate in the place of one for all."""
        args = dict(args)
        for group in GROUPS if self._gate_names else ():
            for kind in ("weight", "bias"):
                whole = args.pop(f"{self._prefix}{group}_{kind}")
                length = whole.shape[0] // len(self._gate_names)
                for place, gate in enumerate(self._gate_names):
                    part = whole[place * length : (place + 1) * length].copy()
                    args[f"{self._prefix}{group}{gate}_{kind}"] = part
        return args

    def pack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """The opposite of `unpack_weights`."""
        args = dict(args)
        for group in GROUPS if self._gate_names else ():
            for kind in ("weight", "bias"):
                names = [f"{self._prefix}{group}{g}_{kind}" for g in self._gate_names]
                parts = [args.pop(name) for name in names]
                whole = ON_ARRAYS["concat"](*parts, dim=0)
                args[f"{self._prefix}{group}_{kind}"] = whole
        return args

    # -- steps ------------------------------------------------------------------------

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Any]]:
        """`length` steps in a row.

        inputs: one symbol of all steps, in `layout`, or a list with one for each.
        merge_outputs: give one symbol, or a list; None: whatever comes out.
        Returns the outputs and the last states.
        """
        self.reset()
        return self._unroll(
            Unrolling(length, inputs, begin_state, layout, merge_outputs)
        )

    def _unroll(self, asked: Unrolling) -> tuple[Any, list[Any]]:
        """Step after step; cells that know a shorter way override this."""
        length, inputs, begin_state, layout, merge_outputs = asked
        steps, _ = sequence(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
        merged, _ = sequence(length, outputs, layout, merge_outputs)
        return merged, states

    def _fully(self, name: str, group: str, data: Symbol, units: int) -> Symbol:
        """The linear half of a step, for its input or for its state."""
        made: Symbol = symbol.FullyConnected(
            data,
            self._params.get(f"{group}_weight"),
            self._params.get(f"{group}_bias"),
            num_hidden=units,
            name=f"{name}{group}",
        )
        return made

    def _get_activation(self, inputs: Symbol, activation: Any, **kwargs: Any) -> Any:
        if isinstance(activation, str):
            return symbol.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)


def sequence(
    length: int,
    inputs: Any,
    layout: str,
    merge: bool | None,
    in_layout: str | None = None,
) -> tuple[Any, int]:
    """Steps as one symbol, or as a list of them, and the axis of time.

    merge: which of the two; None leaves it. in_layout: that of `inputs`, if another.
    """
    axis = layout.find("T")
    in_axis = axis if in_layout is None else in_layout.find("T")
    if isinstance(inputs, Symbol):
        if merge is False:
            if len(inputs) != 1:
                raise ArgumentError(
                    f"unroll: the inputs have {len(inputs)} outputs. Give one symbol "
                    "of all steps, or a list of symbols."
                )
            cut = symbol.SliceChannel(
                inputs, axis=in_axis, num_outputs=length, squeeze_axis=True
            )
            return list(cut), axis
        if axis != in_axis:
            inputs = symbol.swapaxes(inputs, dim1=axis, dim2=in_axis)
        return inputs, axis
    if len(inputs) != length:
        raise ArgumentError(f"unroll: {len(inputs)} inputs for {length} steps.")
    if merge:
        steps = [symbol.expand_dims(step, axis=axis) for step in inputs]
        return symbol.Concat(*steps, dim=axis), axis
    return inputs, axis
