"""Optimizer: how a gradient changes a weight; Updater: keeps the state in between.

    optimizer = mx.optimizer.create("sgd", learning_rate=0.1, momentum=0.9)
    updater = mx.optimizer.get_updater(optimizer)
    updater(0, gradient, weight)            # changes weight in place

A weight is known by its *index*. The learning rate of one update is that of the
optimizer (or of its schedule at this update) times the `lr_mult` of the parameter.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import minimx.nd as nd
from minimx.core import np_semantics
from minimx.core.arrays.array import NDArray
from minimx.core.dtypes import FLOAT16, resolve
from minimx.core.knobs import knobs
from minimx.lr_scheduler import LRScheduler
from minimx.tools.catalogue import Catalogue

Index = int | str
#: None, an array, or a tuple of states.
State = Any


class Tuned(Protocol):
    """What an optimizer wants to know about a parameter."""

    name: str
    layer: str
    lr_mult: float
    wd_mult: float


def zeros_like(weight: NDArray, stype: str = "default") -> NDArray:
    """Zeros with the shape, dtype and device of a weight."""
    return nd.zeros(weight.shape, weight.context, weight.dtype, stype)


class Optimizer:
    """The base: counts updates, and knows learning rates and weight decays.

    rescale_grad: every gradient is multiplied by this first (1 / batch size).
    clip_gradient: then cut to [-clip_gradient, clip_gradient].
    wd: weight decay, the share of the weight that is added to its gradient.
    lr_scheduler: beats `learning_rate`, which then sets the schedule's `base_lr`.
    multi_precision: keep a float32 copy of float16 weights, and update that.
    param_dict: parameters by index, for their `lr_mult` and `wd_mult`.
    param_idx2name: names by index, for `set_lr_mult` and `set_wd_mult`.
    """

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: dict[int, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: LRScheduler | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: dict[int, Any] | None = None,
    ) -> None:
        self.rescale_grad = rescale_grad
        self.wd = wd
        self.clip_gradient = clip_gradient
        self.lr_scheduler = lr_scheduler
        self.lr = 0.01 if learning_rate is None else learning_rate
        if lr_scheduler is not None and learning_rate is not None:
            lr_scheduler.base_lr = learning_rate
        self.multi_precision = multi_precision
        # Whether it was made where layers give mx.np arrays; MXNet's programs ask.
        self.allow_np_array = np_semantics.is_np_array()
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        # One table of counts for each device: every device updates every weight.
        self._all_index_update_counts: dict[int, dict[Index, int]] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self.idx2name = dict(param_idx2name or {})
        self.param_dict: dict[Any, Tuned] = dict(param_dict or {})
        self.lr_mult: dict[Any, float] = {}
        self.wd_mult: dict[Any, float] = {}
        self.set_wd_mult({})

    # -- to be written by subclasses --------------------------------------------------

    def create_state(self, index: Index, weight: NDArray) -> State:
        """What has to be remembered between updates of a weight; None by default."""
        return None

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Change a weight (and its state) in place. Subclasses must write it.

        weight and grad have one shape; state is what `create_state` made for the
        weight. First the update is counted, then rates are asked for: a schedule
        depends on the count.

        Optimizers that update several weights at once (`aggregate_num` > 1) are given
        lists.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no update(index, weight, grad, state) yet."
        )

    #: Whether `update` is handed lists. A subclass that overrides `update` is not,
    #: unless it says so.
    takes_lists: ClassVar[bool] = False
    _aggregate_num: int | None = None

    def __init_subclass__(cls) -> None:
        if "update" in vars(cls) and "takes_lists" not in vars(cls):
            cls.takes_lists = False

    @property
    def aggregate_num(self) -> int:
        """How many weights `update` takes at once; it may be set.

        By default the knob MXNET_OPTIMIZER_AGGREGATION_SIZE, 1 without `takes_lists`.
        """
        if self._aggregate_num is not None:
            return self._aggregate_num
        if not self.takes_lists:
            return 1
        return max(1, int(knobs.get("MXNET_OPTIMIZER_AGGREGATION_SIZE")))

    @aggregate_num.setter
    def aggregate_num(self, count: int) -> None:
        self._aggregate_num = count

    # -- several precisions -----------------------------------------------------------

    #: Where the float32 copy stands in the state of a float16 weight; MXNet's SGD, NAG
    #: and LARS have it last, the others first, and so have their files.
    copy_is_last: ClassVar[bool] = False

    def create_state_multi_precision(self, index: Index, weight: NDArray) -> State:
        """The state; for a float16 weight, a float32 copy of the weight before it."""
        if resolve(weight.dtype) != FLOAT16:
            return self.create_state(index, weight)
        if self.multi_precision:
            master = weight.astype("float32")
            state = self.create_state(index, master)
            return (state, master) if self.copy_is_last else (master, state)
        warnings.warn(
            "float16 weights change in steps too coarse for small gradients; give the "
            "optimizer multi_precision=True to keep float32 copies.",
            stacklevel=2,
        )
        return self.create_state(index, weight)

    def update_multi_precision(
        self, index: Any, weight: Any, grad: Any, state: Any
    ) -> None:
        """Like `update`, with a float16 weight following its float32 copy."""
        first = weight[0] if isinstance(weight, (list, tuple)) else weight
        if not self.multi_precision or resolve(first.dtype) != FLOAT16:
            self.update(index, weight, grad, state)
            return
        many = isinstance(weight, (list, tuple))
        weights, grads, states = (
            (weight, grad, state) if many else ([weight], [grad], [state])
        )
        masters = [one[self.copy_is_last] for one in states]
        inner = [one[not self.copy_is_last] for one in states]
        fine = [one.astype("float32") for one in grads]
        if many:
            self.update(index, masters, fine, inner)
        else:
            self.update(index, masters[0], fine[0], inner[0])
        for coarse, master in zip(weights, masters, strict=True):
            master.copyto(coarse)

    # -- learning rates ---------------------------------------------------------------

    @property
    def learning_rate(self) -> float:
        """The rate of the latest update, before multipliers."""
        if self.lr_scheduler is not None:
            return self.lr_scheduler(self.num_update)
        return self.lr

    @learning_rate.setter
    def learning_rate(self, lr: float) -> None:
        self.set_learning_rate(lr)

    def set_learning_rate(self, lr: float) -> None:
        """Set the rate; a UserWarning is raised while a schedule decides."""
        if self.lr_scheduler is not None:
            raise UserWarning(  # as MXNet does
                f"the learning rate follows {type(self.lr_scheduler).__name__} and "
                f"cannot be set to {lr}. Set lr_scheduler to None first."
            )
        self.lr = lr

    def set_lr_mult(self, args_lr_mult: dict[Any, float]) -> None:
        """Multipliers of the learning rate, by name or index."""
        self.lr_mult = dict(args_lr_mult)

    def set_wd_mult(self, args_wd_mult: dict[Any, float]) -> None:
        """Multipliers of the weight decay, by name or index.

        Named parameters that are neither weights nor gammas do not decay by default.
        """
        self.wd_mult = {
            name: 0.0
            for name in self.idx2name.values()
            if not name.endswith(("_weight", "_gamma"))
        }
        self.wd_mult.update(args_wd_mult)

    def _get_lrs(self, indices: Sequence[Index]) -> list[float]:
        """The learning rates of weights, by index."""
        lr = self.learning_rate
        return [lr * m for m in self._multipliers(indices, "lr_mult", self.lr_mult)]

    def _get_wds(self, indices: Sequence[Index]) -> list[float]:
        """The weight decays of weights, by index."""
        wd = self.wd
        return [wd * m for m in self._multipliers(indices, "wd_mult", self.wd_mult)]

    def _get_lr(self, index: Index) -> float:
        return self._get_lrs([index])[0]

    def _get_wd(self, index: Index) -> float:
        return self._get_wds([index])[0]

    def _multipliers(
        self, indices: Sequence[Any], attribute: str, table: dict[Any, float]
    ) -> list[float]:
        """A parameter's own, else what the table has for its number or its name."""
        found = []
        for index in indices:
            if index in self.param_dict:
                found.append(float(getattr(self.param_dict[index], attribute)))
            elif index in table:
                found.append(table[index])
            else:
                found.append(table.get(self.idx2name.get(index), 1.0))
        return found

    # -- counting ---------------------------------------------------------------------

    def _set_current_context(self, device_id: int) -> None:
        """Count the updates of one of several devices from now on."""
        counts = self._all_index_update_counts.setdefault(device_id, {})
        self._index_update_count = counts

    def _share_counts(self, devices: int) -> None:
        """Let so many devices go on from the counts of the one that counted last."""
        counts = self._index_update_count
        self._all_index_update_counts = {
            device: dict(counts) for device in range(max(devices, 1))
        }
        self._set_current_context(0)

    def _update_count(self, index: Index | Sequence[Index]) -> None:
        """Note that weights are updated once more."""
        many = isinstance(index, (list, tuple))
        indices: Sequence[Any] = index if many else [index]  # type: ignore[assignment]
        counts = self._index_update_count
        for one in indices:
            counts[one] = counts.get(one, self.begin_num_update) + 1
            self.num_update = max(counts[one], self.num_update)

    def _begin(self, index: Index) -> tuple[float, float]:
        """Count an update of one weight; its learning rate and weight decay."""
        self._update_count(index)
        return self._get_lr(index), self._get_wd(index)

    def _common(self, **settings: Any) -> dict[str, Any]:
        """The settings that all update operators share, and more."""
        clip = -1.0 if self.clip_gradient is None else self.clip_gradient
        return {"rescale_grad": self.rescale_grad, "clip_gradient": clip, **settings}

    def _run(
        self, operator: Any, index: Index, weight: NDArray, grad: NDArray, state: State,
        **settings: Any,
    ) -> None:  # fmt: skip
        """One step by an update operator, in place.

        state: None, an array, or a tuple of them, in the order of the operator's
        inputs. settings: those of this operator; lr is the weight's by default.
        """
        if not isinstance(state, (tuple, list)):
            state = () if state is None else (state,)
        if "lr" not in settings:  # a schedule is asked once for each update
            settings["lr"] = self._get_lr(index)
        common = self._common(wd=self._get_wd(index), out=weight)
        operator(weight, grad, *state, **common, **settings)

    def _prepared(self, grad: NDArray) -> NDArray:
        """The gradient, rescaled and clipped, for updates written in arithmetic."""
        return self._clipped(grad * self.rescale_grad)

    def _clipped(self, grad: NDArray) -> NDArray:
        if self.clip_gradient is None:
            return grad
        return grad.clip(-self.clip_gradient, self.clip_gradient)

    # -- by name ----------------------------------------------------------------------

    @staticmethod
    def register(klass: Any) -> Any:
        """Class decorator: let `create` find an optimizer by its name."""
        return catalogue.register(klass)

    @staticmethod
    def create_optimizer(name: Any, **kwargs: Any) -> Optimizer:
        """An optimizer by its name."""
        return catalogue.create(name, **kwargs)


catalogue = Catalogue(Optimizer, "optimizer")
register = Optimizer.register
create = Optimizer.create_optimizer
