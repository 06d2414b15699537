"""Trainer: applies an optimizer to the parameters of a network, after each backward.

    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with autograd.record():
        loss = loss_fn(net(x), y)
    loss.backward()
    trainer.step(batch_size=x.shape[0])

Each `step` divides gradients by the batch size and updates the weights in place, as
PyTorch's `optimizer.step()` does. The first step makes the rest: an updater for each
device, which keeps the states of the optimizer, and a store (`_prepare`).

On one device, `step` hands every weight and its gradient to the optimizer. On several,
the gradients of a parameter are summed in a store (see `mx.kv`). Then either the store
runs the optimizer and sends the new weights back, or it sends the sum back and every
device updates its own copy: the same numbers, other traffic.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minimx import optimizer as opt
from minimx.core.arrays.array import NDArray
from minimx.core.device import Context
from minimx.core.errors import ArgumentError, MXNetError
from minimx.core.events import attributed
from minimx.core.files import read_whole, write_whole
from minimx.gluon.loss_scaling import overflowed
from minimx.gluon.parameter import Parameter
from minimx.gluon.parameter.dictionary import ParameterDict
from minimx.kvstore import create
from minimx.kvstore.bucketing import Gradient
from minimx.kvstore.choice import choose


class UpdatedInStore(ArgumentError, AssertionError):
    """What a Trainer cannot do while its store updates; an AssertionError in MXNet."""


#: Weight and gradient of a parameter on each of its devices.
Copies = list[tuple[Context, NDArray, NDArray]]
#: The parameters with gradients: (index among all, the parameter, its copies).
Learning = list[tuple[int, Parameter, Copies]]


def _on_devices(parameter: Parameter) -> Copies:
    """Raises ParameterError where there are no values, or no gradient."""
    weights, gradients = parameter._data, parameter._grad
    if weights is None or gradients is None:
        parameter.list_grad()  # raises
    assert weights is not None
    assert gradients is not None
    return list(zip(weights, weights.values(), gradients.values(), strict=True))


def _check_fresh(learning: Learning) -> None:
    """Raise UserWarning for stale gradients, before anything is changed."""
    for _, parameter, copies in learning:
        for ctx, _, gradient in copies:
            if not gradient._fresh_grad:
                raise UserWarning(
                    f"the gradient of {parameter.name} on {ctx} is stale: no "
                    "backward has filled it since the last step. Is the parameter "
                    "used in the computation of the loss? If it is left out on "
                    "purpose, give ignore_stale_grad=True."
                )


class Trainer:
    """Updates parameters from their gradients.

    params: a ParameterDict, a dict, or a list of parameters.
    optimizer: the name of one, with its settings in `optimizer_params`; or one that is
        made already.
    kvstore: where gradients of several devices meet: `device`, `local`, a store, or
        None, with which every device goes its own way. With a store between processes
        weights become those of rank 0 in the first step, so the first gradient of
        another rank comes from its own: seed all ranks alike.
    compression_params: how gradients are packed on their way to the store, such as
        `{"type": "2bit", "threshold": 0.5}`; see `KVStore.set_gradient_compression`.
    update_on_kvstore: whether the store runs the optimizer. By default it does where it
        can, unless MXNET_UPDATE_ON_KVSTORE is 0 or gradients are sparse. Give False to
        use `allreduce_grads` and `update`.
    """

    def __init__(
        self,
        params: Any,
        optimizer: Any,
        optimizer_params: dict[str, Any] | None = None,
        kvstore: Any = "device",
        compression_params: dict[str, Any] | None = None,
        update_on_kvstore: bool | None = None,
    ) -> None:
        self._params = _as_list(params)
        self._param2idx = {p.name: i for i, p in enumerate(self._params)}
        if len(self._param2idx) != len(self._params):
            raise ArgumentError(
                "Trainer: two of the parameters have the same name. Give one of the "
                "blocks another prefix."
            )
        self._kvstore_params = {"given": kvstore, "wanted": update_on_kvstore}
        self._compression_params = dict(compression_params or {})
        if isinstance(kvstore, str):
            # Wrong names and settings raise now, not at the first step.
            self._compress(create(kvstore))
        self._optimizer = self._made_optimizer(optimizer, dict(optimizer_params or {}))
        self._scale = float(self._optimizer.rescale_grad)
        self._amp_original_scale = self._scale
        self._amp_loss_scaler: Any = None  # see minimx/amp
        self._steps = 0  # taken or skipped
        # Called in each step, before weights change: whether it is skipped.
        self._watchers: list[Callable[[bool], None]] = []
        for parameter in self._params:
            parameter._set_trainer(self)
        self._devices: list[Context] = []  # those of the updaters
        self._updaters: list[opt.Updater] = []
        self._kvstore: Any = None
        self._update_on_kvstore: bool | None = None
        self._params_to_init = list(self._params)
        self._kv_initialized = False

    def _made_optimizer(self, given: Any, settings: dict[str, Any]) -> opt.Optimizer:
        by_index = dict(enumerate(self._params))
        if not isinstance(given, opt.Optimizer):
            return opt.create(given, param_dict=by_index, **settings)
        if settings:
            raise ArgumentError(
                "Trainer: optimizer_params go with the name of an optimizer; "
                f"{type(given).__name__} is made already and has its settings."
            )
        given.param_dict = dict(by_index)
        return given

    # -- learning rate ----------------------------------------------------------------

    @property
    def optimizer(self) -> opt.Optimizer:
        """The optimizer."""
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The rate of the latest update."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr: float) -> None:
        """Set the rate; a UserWarning is raised while a schedule decides."""
        self._optimizer.set_learning_rate(lr)

    # -- one step ---------------------------------------------------------------------

    def step(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Sum the gradients over the devices, divide by `batch_size`, and update.

        batch_size: the number of samples; ArgumentError if it is not positive. A
        gradient that no backward has filled since the last step raises a UserWarning;
        with `ignore_stale_grad` its parameter is left as it is.
        """
        with attributed(phase="update"):
            self._rescale(batch_size)
            learning = self._learning_on_devices()
            if not ignore_stale_grad:
                _check_fresh(learning)
            self._prepare()
            self._allreduce(learning)
            self._update(learning, ignore_stale_grad)

    def allreduce_grads(self) -> None:
        """Sum each gradient over the devices, for use with `update`."""
        with attributed(phase="update"):
            self._prepare()
            self._refuse_in_store("allreduce_grads")
            self._allreduce(self._learning_on_devices())

    def update(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Update from gradients that `allreduce_grads` has summed; see `step`.

        batch_size: by how much gradients are divided. ignore_stale_grad: leave
        parameters out whose gradient no backward has filled since the last step. Raises
        UserWarning for such a parameter otherwise, `UpdatedInStore` if the store
        updates.
        """
        with attributed(phase="update"):
            self._prepare()
            self._refuse_in_store("update")
            self._rescale(batch_size)
            learning = self._learning_on_devices()
            if not ignore_stale_grad:
                _check_fresh(learning)
            self._update(learning, ignore_stale_grad)

    def _refuse_in_store(self, what: str) -> None:
        if self._update_on_kvstore:
            raise UpdatedInStore(
                f"Trainer.{what}: the store sums and updates at once. Use step, or "
                "make the Trainer with update_on_kvstore=False."
            )

    def _learning(self) -> list[tuple[int, Parameter]]:
        return [(i, p) for i, p in enumerate(self._params) if p._grad_req != "null"]

    def _learning_on_devices(self) -> Learning:
        """Each parameter that learns, with its arrays; gathered once for a step."""
        return [(i, p, _on_devices(p)) for i, p in self._learning()]

    def _rescale(self, batch_size: float) -> None:
        if batch_size <= 0:
            raise ArgumentError(
                f"Trainer: batch_size={batch_size}; give the number of samples, from 1."
            )
        self._optimizer.rescale_grad = self._scale / batch_size

    def _allreduce(self, learning: Learning) -> None:
        """Sum in the store: what comes back is weights or gradients."""
        if self._kvstore is None:
            return
        dense, updates, new = [], [], []
        for index, parameter, copies in learning:
            gradients = [gradient for _, _, gradient in copies]
            if self._update_on_kvstore:
                if not any(gradient._fresh_grad for gradient in gradients):
                    continue
                if parameter._stype == "default":
                    updates.append(Gradient(index, gradients, -index))
                    new.append([weight for _, weight, _ in copies])
                else:  # rows come back when they are asked for
                    self._kvstore.push(index, gradients, -index)
                for gradient in gradients:
                    gradient._fresh_grad = False
            elif parameter._grad_stype != "default":
                self._kvstore.push(index, gradients, -index)
                self._kvstore.pull(index, gradients, -index, ignore_sparse=False)
            else:
                dense.append(Gradient(index, gradients, -index))
        self._kvstore.update_many(updates, new)
        self._kvstore.pushpull_many(dense)

    def _update(self, learning: Learning, ignore_stale_grad: bool) -> None:
        """Hand each device its weights and gradients, in order of the parameters."""
        self._steps += 1
        skipped = self._overflowed()
        for watcher in list(self._watchers):
            watcher(skipped)
        if self._update_on_kvstore or skipped:
            return
        work: dict[Context, tuple[list[int], list[NDArray], list[NDArray]]] = {}
        for index, _, copies in learning:
            for ctx, weight, gradient in copies:
                if ignore_stale_grad and not gradient._fresh_grad:
                    continue
                indices, gradients, weights = work.setdefault(ctx, ([], [], []))
                indices.append(index)
                gradients.append(gradient)
                weights.append(weight)
                gradient._fresh_grad = False
        for number, (ctx, updater) in enumerate(
            zip(self._devices, self._updaters, strict=True)
        ):
            if ctx in work:
                self._optimizer._set_current_context(number)
                updater(*work[ctx])

    # -- mixed precision --------------------------------------------------------------

    def _scale_loss_by(self, scaler: Any) -> None:
        """Skip the steps that a loss scaler says to skip; see `minimx.amp`.

        None: no step any more, and gradients are not divided by a scale.
        """
        if self._amp_loss_scaler is not None:
            self._scale = self._amp_original_scale
        if scaler is None:
            self._amp_loss_scaler = None
            return
        if self._update_on_kvstore or self._kvstore_params["wanted"]:
            raise UpdatedInStore(
                "Trainer: its store updates the weights and cannot skip a step. Make "
                "it with update_on_kvstore=False, or call amp.init_trainer before the "
                "first step."
            )
        self._kvstore_params["wanted"] = False
        self._amp_original_scale = self._scale
        self._amp_loss_scaler = scaler

    def _overflowed(self) -> bool:
        """Whether this step is to be skipped, for a gradient that overflowed."""
        scaler = self._amp_loss_scaler
        if scaler is None:
            return False
        learning = [parameter for _, parameter in self._learning()]
        return overflowed(scaler, self._params, learning, self._steps)

    # -- the store --------------------------------------------------------------------

    def _prepare(self) -> None:
        """Make updaters and store if the devices are new; give the store values."""
        devices = list({ctx: None for p in self._params for ctx in p._contexts()})
        if devices != self._devices:
            self._move(devices)
        if not self._kv_initialized:
            self._init_kvstore()
        if self._params_to_init:
            self._init_params()

    def change_store(self, kvstore: Any, update_on_kvstore: bool | None = None) -> None:
        """Sum in another store from the next step on, with the optimizer's states.

        Both arguments are those of the constructor; MXNET_UPDATE_ON_KVSTORE is read
        anew. MXNet has no such method.
        """
        if isinstance(kvstore, str):
            self._compress(create(kvstore))
        self._kvstore_params = {"given": kvstore, "wanted": update_on_kvstore}
        self._move(self._devices)

    def _move(self, devices: list[Context]) -> None:
        """Make updaters and store for devices, with the states of the first."""
        old = next(iter(self._stateful_updaters()), None)
        content = None if old is None else old.get_states()
        self._reset_kvstore()
        self._devices = devices
        self._updaters = [opt.get_updater(self._optimizer) for _ in devices]
        self._optimizer._share_counts(len(devices))
        self._init_kvstore()
        for updater in self._stateful_updaters() if content is not None else []:
            updater.set_states(content)

    def _stateful_updaters(self) -> list[Any]:
        """The updaters that keep states of the optimizer: the store's, or our own."""
        return [self._kvstore._updater] if self._update_on_kvstore else self._updaters

    def _choose_store(self) -> tuple[Any, bool | None]:
        return choose(
            devices=len({ctx for p in self._params for ctx in p._contexts()}),
            largest=max((int(np.prod(p.shape or 0)) for p in self._params), default=0),
            sparse_weights=any(p._stype != "default" for p in self._params),
            sparse_gradients=any(p._grad_stype != "default" for p in self._params),
            **self._kvstore_params,
        )

    def _init_kvstore(self) -> None:
        self._kvstore, self._update_on_kvstore = self._choose_store()
        if self._kvstore is not None:
            self._compress(self._kvstore)
        if self._update_on_kvstore:
            self._kvstore.set_optimizer(self._optimizer)
        self._kv_initialized = True

    def _compress(self, store: Any) -> None:
        """Let a store pack gradients, if that was given."""
        if self._compression_params:
            store.set_gradient_compression(self._compression_params)

    def _init_params(self) -> None:
        """Give the store the values of parameters that have some."""
        waiting = []
        for parameter in self._params_to_init if self._kvstore is not None else []:
            if parameter._data is None:
                waiting.append(parameter)
                continue
            index, arrays = self._param2idx[parameter.name], parameter._arrays()
            if parameter._stype == "default":
                self._kvstore.broadcast(index, arrays[0], arrays)
            else:
                self._kvstore.init(index, arrays[0])
        self._params_to_init = waiting

    def _reset_kvstore(self) -> None:
        """Forget the store; the next step makes another one.

        A store between processes has weights that other ranks train too, so it stays:
        then MXNetError is raised.
        """
        if self._update_on_kvstore and "dist" in self._kvstore.type:
            raise MXNetError(
                f"Trainer: its store {self._kvstore.type!r} has the weights of all "
                "ranks; they cannot be set, cast or moved in one of them. Do that "
                "before the first step, or make the Trainer with "
                "update_on_kvstore=False and do it in all ranks."
            )
        self._kvstore = None
        self._update_on_kvstore = None
        self._params_to_init = list(self._params)
        self._kv_initialized = False

    def _value_changed(self, parameter: Parameter) -> None:
        """Forget the store, which has old values or the old type of a parameter."""
        if self._kvstore is None or parameter in self._params_to_init:
            return
        for other in self._params:
            if other is not parameter:
                self._fetch(other)
        self._reset_kvstore()

    def _fetch(self, parameter: Parameter) -> None:
        """Fill all rows of a row_sparse parameter, on all its devices."""
        known = self._kvstore is not None and parameter not in self._params_to_init
        if known and parameter._stype != "default":
            index = self._param2idx[parameter.name]
            self._kvstore.pull(index, parameter._arrays(), ignore_sparse=False)

    def _row_sparse_pull(
        self, parameter: Parameter, out: NDArray, row_id: NDArray
    ) -> None:
        """Fill an array with rows of a row_sparse parameter."""
        self._prepare()
        index = self._param2idx[parameter.name]
        self._kvstore.row_sparse_pull(index, out, -index, row_id)

    # -- files ------------------------------------------------------------------------

    def save_states(self, fname: str | os.PathLike[str]) -> None:
        """Write what the optimizer remembers: states, counts and learning rate."""
        self._prepare()
        updater = next(
            iter(self._stateful_updaters()), opt.get_updater(self._optimizer)
        )
        content = updater.get_states(dump_optimizer=True)
        write_whole(fname, content, "save_states")

    def load_states(self, fname: str | os.PathLike[str]) -> None:
        """Go on where `save_states` was called; the devices may be others.

        Raises DataError for a file that cannot be read, is damaged, or holds states of
        other parameters or of another optimizer; then nothing has changed.
        """
        content = read_whole(fname, "load_states")
        self._prepare()
        weights = {i: p._data and p._arrays()[0] for i, p in enumerate(self._params)}
        for updater in self._stateful_updaters() or [opt.get_updater(self._optimizer)]:
            updater.set_states(content, weights)
        self._optimizer._share_counts(len(self._devices))


def _as_list(params: Any) -> list[Parameter]:
    if isinstance(params, (dict, ParameterDict)):
        # In MXNet's order, for optimizers that carry something from weight to weight.
        found: Sequence[Any] = [params[name] for name in sorted(params.keys())]
    elif isinstance(params, (list, tuple)):
        found = params
    else:
        raise ArgumentError(
            "Trainer: params must be a list or dict of Parameters, such as "
            f"net.collect_params(), not a {type(params).__name__}."
        )
    for one in found:
        if not isinstance(one, Parameter):
            raise ArgumentError(
                "Trainer: params must be a list or dict of Parameters, but it holds a "
                f"{type(one).__name__}."
            )
    # A parameter shared by several blocks is still updated once.
    return list({id(one): one for one in found}.values())
