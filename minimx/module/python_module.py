"""Modules written in Python: `PythonModule` to derive from, `PythonLossModule`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minimx import nd
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError, ParameterError
from minimx.module import slices
from minimx.module.loops import BaseModule
from minimx.module.slices import Described


class PythonModule(BaseModule):
    """The steps of a module without parameters, most of which do nothing.

    A subclass writes forward, backward, get_outputs, get_input_grads and
    `_compute_output_shapes`.
    """

    def __init__(
        self,
        data_names: Sequence[str],
        label_names: Sequence[str] | None,
        output_names: Sequence[str],
        logger: Any = None,
    ) -> None:
        super().__init__(logger)
        self._data_names = list(data_names)
        self._label_names = list(label_names or ())
        self._output_names = list(output_names)
        self._data_shapes: list[Any] = []
        self._label_shapes: list[Any] | None = None
        self._output_shapes: list[tuple[str, tuple[int, ...]]] = []
        self.for_training = self.inputs_need_grad = False

    @property
    def data_names(self) -> list[str]:
        """The arrays that batches bring."""
        return self._data_names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> list[Any]:
        """What batches look like."""
        return self._data_shapes

    @property
    def label_shapes(self) -> list[Any] | None:
        """What their labels look like; None if there are none."""
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of every output."""
        return self._output_shapes

    def bind(
        self,
        data_shapes: Described,
        label_shapes: Described = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Any = "write",
    ) -> None:
        """Take down the shapes of data and labels."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if grad_req != "write":
            raise ArgumentError(f"{type(self).__name__}: grad_req is 'write', always.")
        data = [slices.described(entry) for entry in data_shapes or ()]
        labels = [slices.described(entry) for entry in label_shapes or ()]
        for names, entries in ((self._data_names, data), (self._label_names, labels)):
            found = [entry.name for entry in entries]
            if found != names and (entries or entries is data):
                raise ArgumentError(
                    f"{type(self).__name__}.bind: shapes are given for {found}; there "
                    f"are {names}."
                )
        self._data_shapes, self._label_shapes = data, labels or None
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._output_shapes = self._compute_output_shapes()
        self.binded = True

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of every output, from the shapes of data and labels."""
        raise NotImplementedError(
            f"{type(self).__name__}: write _compute_output_shapes, which returns a "
            "(name, shape) for each output."
        )

    def install_monitor(self, mon: Any) -> None:
        """There is no executor to watch."""

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """No parameters, and no states."""
        return {}, {}

    def init_params(self, *args: Any, **kwargs: Any) -> None:
        """Nothing to do."""
        self.params_initialized = True

    def init_optimizer(self, *args: Any, **kwargs: Any) -> None:
        """Nothing to do."""
        self.optimizer_initialized = True

    def update(self) -> None:
        """Nothing to do."""

    def update_metric(
        self, eval_metric: Any, labels: Any, pre_sliced: bool = False
    ) -> None:
        """Tell a metric what came out, if the module takes labels."""
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise ArgumentError(f"{type(self).__name__}: there is one device only.")
        eval_metric.update(labels, self.get_outputs())


class PythonLossModule(PythonModule):
    """A loss at the end of a chain: the scores go through, and a gradient goes back.

    grad_func(scores, labels): the gradient of the scores, as an array or a NumPy array;
    or override `_backward_impl`, which sets `_scores_grad`.
    """

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] = ("softmax_label",),
        logger: Any = None,
        grad_func: Callable[[NDArray, NDArray], Any] | None = None,
    ) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger)
        if len(data_names) != 1 or len(label_names) != 1:
            raise ArgumentError("PythonLossModule: one array of scores, one of labels.")
        self._grad_func = grad_func
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(self._output_names[0], self._data_shapes[0].shape)]

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Keep the scores and, in training, the labels."""
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[NDArray]:
        """The scores."""
        return [self._scores]

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradient of the scores; a loss is given none."""
        if out_grads is not None:
            raise ArgumentError("PythonLossModule: a loss takes no out_grads.")
        if not self.for_training:
            raise ParameterError("this module was bound with for_training=False.")
        self._backward_impl()

    def _backward_impl(self) -> None:
        if self._grad_func is None:
            raise NotImplementedError(
                "PythonLossModule: give grad_func, or override _backward_impl."
            )
        found = self._grad_func(self._scores, self._labels)
        self._scores_grad = found if isinstance(found, NDArray) else nd.array(found)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[NDArray]:
        """The gradient of the scores."""
        return [self._scores_grad]
