"""One executor on each of several devices, each for its slice of every batch.

What goes in is dealt out (`slices.py` says how), what comes out is joined again along
the axis that counts examples. All executors hold the same parameters; to keep them the
same is the business of `training.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minimx import nd
from minimx.core.arrays.array import NDArray
from minimx.core.device import Device, cpu
from minimx.core.errors import ArgumentError, GradientError, ShapeError
from minimx.executor import Executor
from minimx.io import DataDesc
from minimx.module import slices
from minimx.symbol import Symbol

Arrays = dict[str, NDArray]
#: For each array, its parts on the devices.
Parts = list[list[NDArray]]


class DataParallelExecutorGroup:
    """Runs a symbol on slices of batches.

    workload: how much each device does in proportion; data_shapes, label_shapes: of
    whole batches, as DataDesc or (name, shape). param_names, state_names: arguments
    that are trained, and that are set by hand. shared_group: shares its arrays and its
    memory. grad_req, group2ctxs: see `slices.requests` and `slices.by_device`.
    """

    def __init__(
        self,
        symbol: Symbol,
        contexts: Sequence[Device],
        workload: Sequence[float] | None,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: Any = None,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: Any = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
    ) -> None:
        self.symbol, self.contexts = symbol, list(contexts)
        self.workload = list(workload or [1] * len(self.contexts))
        self.param_names = list(param_names)
        self.state_names = list(state_names or ())
        self.for_training = for_training
        self._describe(data_shapes, label_shapes)
        trained = {*self.param_names} - {*(fixed_param_names or ())}
        self.grad_req = slices.requests(
            grad_req if for_training else "null",
            symbol.list_arguments(),
            trained,
            {one.name for one in self.data_shapes} if inputs_need_grad else set(),
        )
        count = len(self.contexts)
        self.shared_data_arrays: list[Arrays] = [{} for _ in range(count)]
        if shared_group is not None:
            self.shared_data_arrays = shared_group.shared_data_arrays
        self.execs = self._bind(shared_group, slices.by_device(group2ctxs, count))
        self._first = self.execs  # the others are made from these
        self._output_axes = [
            DataDesc.get_batch_axis(symbol[place].attr("__layout__"))
            for place in range(len(symbol.list_outputs()))
        ]

    # -- getting ready ----------------------------------------------------------------

    def _describe(
        self, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None
    ) -> None:
        """Take down the shapes of batches, and deal them out."""
        self.data_shapes = [slices.described(entry) for entry in data_shapes]
        self.label_shapes = [slices.described(entry) for entry in label_shapes or ()]
        self.batch_size = slices.batch_size([*self.data_shapes, *self.label_shapes])
        self.slices = slices.cut(self.batch_size, self.workload)

    def _inputs(self, part: slice) -> list[DataDesc]:
        """What one device gets of the data and labels that are arguments."""
        arguments = {*self.symbol.list_arguments()}
        both = [*self.data_shapes, *self.label_shapes]
        return [slices.part_of(one, part) for one in both if one.name in arguments]

    def _bind(
        self,
        shared: DataParallelExecutorGroup | None,
        groups: Sequence[Mapping[str, Any] | None],
    ) -> list[Executor]:
        made = []
        for place, device in enumerate(self.contexts):
            inputs = self._inputs(self.slices[place])
            executor = self.symbol.simple_bind(
                device,
                grad_req=self.grad_req,
                type_dict={one.name: one.dtype for one in inputs},
                group2ctx=groups[place],
                shared_arg_names=self.param_names,
                shared_exec=shared.execs[place] if shared else None,
                shared_buffer=self.shared_data_arrays[place],
                **{one.name: one.shape for one in inputs},
            )
            made.append(executor)
        return made

    def reshape(
        self, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None
    ) -> None:
        """Go on with batches of other shapes and the same parameters."""
        old = self.data_shapes, self.label_shapes
        try:
            self._describe(data_shapes, label_shapes)
            self.execs = [self._reshaped(place) for place in range(len(self._first))]
        except ShapeError:
            self._describe(*old)
            raise

    def _reshaped(self, place: int) -> Executor:
        first = self._first[place]
        inputs = self._inputs(self.slices[place])
        made = first.reshape(
            partial_shaping=True,
            allow_up_sizing=True,
            **{one.name: one.shape for one in inputs},
        )
        before, after = first.arg_dict, made.arg_dict
        for name in self.param_names:
            if before[name].shape != after[name].shape:
                raise ShapeError(
                    f"these batches need a parameter {name} of shape "
                    f"{after[name].shape}; it has {before[name].shape}."
                )
        return made

    def install_monitor(self, mon: Any) -> None:
        """Let a monitor watch all executors."""
        for executor in self.execs:
            mon.install(executor)

    # -- parameters -------------------------------------------------------------------

    @property
    def param_arrays(self) -> Parts:
        """For each parameter, its arrays on the devices."""
        return _each(self.param_names, [one.arg_dict for one in self.execs])

    @property
    def grad_arrays(self) -> list[list[NDArray | None]]:
        """For each parameter, its gradients on the devices; None: none is wanted."""
        return _each(self.param_names, [one.grad_dict for one in self.execs])

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray],
        allow_extra: bool = False,
    ) -> None:
        """Copy values to all devices."""
        for executor in self.execs:
            executor.copy_params_from(arg_params, aux_params, allow_extra)

    def get_params(self) -> tuple[Arrays, Arrays]:
        """Parameters and states, on the host: the mean of those on the devices."""
        states = self.symbol.list_auxiliary_states()
        aux = _each(states, [one.aux_dict for one in self.execs])
        params = zip(self.param_names, self.param_arrays, strict=True)
        return (
            {name: _mean(parts) for name, parts in params},
            {name: _mean(parts) for name, parts in zip(states, aux, strict=True)},
        )

    # -- steps ------------------------------------------------------------------------

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Deal out a batch, or a list of a batch for each device, and compute."""
        batches = data_batch if isinstance(data_batch, list) else None
        first = batches[0] if batches else data_batch
        for what, entries in (("data", self.data_shapes), ("label", self.label_shapes)):
            if not entries or not getattr(first, what, None):
                continue
            if batches:
                given = list(zip(*(getattr(one, what) for one in batches), strict=True))
            else:
                given = getattr(data_batch, what)
            self._load(entries, given)
        training = self.for_training if is_train is None else is_train
        for executor in self.execs:
            executor.forward(is_train=training)

    def _load(self, entries: Sequence[DataDesc], given: Sequence[Any]) -> None:
        if len(given) != len(entries):
            raise ArgumentError(
                f"a batch brings {len(given)} arrays for "
                f"{', '.join(one.name for one in entries)}."
            )
        arguments = [executor.arg_dict for executor in self.execs]
        for entry, array in zip(entries, given, strict=True):
            if entry.name not in arguments[0]:
                continue
            parts = self._dealt(array, slices.batch_axis(entry))
            for bound, part in zip(arguments, parts, strict=True):
                target = bound[entry.name]
                if part.shape != target.shape:
                    raise ShapeError(
                        f"forward: {entry.name} is bound to shape {target.shape}, not "
                        f"{part.shape}."
                    )
                target[:] = part

    def _dealt(self, array: Any, axis: int) -> list[NDArray]:
        """The parts of an array for the devices; a list is dealt out already."""
        if isinstance(array, (list, tuple)):
            return list(array)
        if len(self.execs) == 1 or axis < 0:
            return [array] * len(self.execs)
        return [
            array[part]
            if axis == 0
            else nd.slice_axis(array, axis=axis, begin=part.start, end=part.stop)
            for part in self.slices
        ]

    def backward(self, out_grads: Any = None) -> None:
        """Compute gradients, from those of the outputs if they are no losses."""
        if not self.for_training:
            raise GradientError(
                "this module was bound to predict; bind it with for_training=True."
            )
        given = [out_grads] if isinstance(out_grads, NDArray) else out_grads or []
        dealt = [
            self._dealt(grad, axis)
            for grad, axis in zip(given, self._output_axes, strict=False)
        ]
        for place, executor in enumerate(self.execs):
            executor.backward([parts[place] for parts in dealt] or None)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool) -> None:
        """Tell a metric what came out on each device and what was right."""
        names = self.symbol.list_outputs()
        for place, executor in enumerate(self.execs):
            if pre_sliced:
                mine = labels[place]
            else:
                axes = [slices.batch_axis(one) for one in self.label_shapes]
                mine = [
                    self._dealt(label, axis)[place]
                    for label, axis in zip(labels or (), axes, strict=False)
                ]
            right = dict(zip([x.name for x in self.label_shapes], mine, strict=False))
            eval_metric.update_dict(
                right, dict(zip(names, executor.outputs, strict=True))
            )

    # -- what came out ----------------------------------------------------------------

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of every output of a whole batch."""
        whole = {one.name: one.shape for one in self._inputs(slice(0, self.batch_size))}
        _, shapes, _ = self.symbol.infer_shape(**whole)
        assert shapes is not None
        return list(zip(self.symbol.list_outputs(), shapes, strict=True))

    def get_outputs(
        self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None
    ) -> Any:
        """The outputs from begin to end, as whole batches or as parts by device."""
        chosen = slice(begin, end)
        rows = [executor.outputs[chosen] for executor in self.execs]
        parts = [list(row) for row in zip(*rows, strict=True)]
        return _merged(parts, self._output_axes[chosen], merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        """The gradients of the data."""
        names = [one.name for one in self.data_shapes]
        grads = _each(names, [one.grad_dict for one in self.execs])
        axes = [slices.batch_axis(one) for one in self.data_shapes]
        return _merged(grads, axes, merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> Any:
        """The arguments that are set by hand."""
        parts = _each(self.state_names, [one.arg_dict for one in self.execs])
        return _merged(parts, [0] * len(parts), merge_multi_context)

    def set_states(self, states: Sequence[Any] | None, value: float | None) -> None:
        """Set them all to a number, or to arrays, whole or dealt out."""
        if (states is None) == (value is None):
            raise ArgumentError("set_states: give either states or a value.")
        targets = _each(self.state_names, [one.arg_dict for one in self.execs])
        sources = targets if states is None else [self._dealt(x, 0) for x in states]
        for parts, given in zip(targets, sources, strict=True):
            for target, source in zip(parts, given, strict=True):
                target[:] = value if states is None else source


def _each(names: Iterable[str], tables: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """For each name, what it stands for in every table."""
    return [[table[name] for table in tables] for name in names]


def _merged(parts: Parts, axes: Sequence[int], merge: bool) -> Any:
    """Arrays of whole batches, on the first device; without merge, the parts."""
    if not merge:
        return parts
    found = []
    for several, axis in zip(parts, axes, strict=True):
        first = several[0]
        if len(several) > 1 and axis >= 0:
            here = [part.as_in_context(first.context) for part in several]
            first = nd.concat(*here, dim=axis)
        found.append(first)
    return found


def _mean(parts: Sequence[NDArray]) -> NDArray:
    total, *others = (part.copyto(cpu()) for part in parts)
    for other in others:
        total = total + other
    return (total / len(parts)).astype(parts[0].dtype) if others else total
