"""Trainer: applies an optimizer to the parameters of a network, after each backward.

    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with autograd.record():
        loss = loss_fn(net(x), y)
    loss.backward()
    trainer.step(batch_size=x.shape[0])

`step` is `allreduce_grads` (sum each gradient over the devices) and `update`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from minimx import optimizer as opt
from minimx.device import Context
from minimx.errors import ArgumentError, DataError
from minimx.events import attributed
from minimx.gluon.parameter import Parameter
from minimx.gluon.parameter.dictionary import ParameterDict
from minimx.nd.array import NDArray

KVSTORES = ("local", "device")


class Trainer:
    """Updates parameters from their gradients.

    params: a ParameterDict, a dict, or a list of parameters.
    optimizer: the name of one, with its settings in `optimizer_params`; or one that is
        made already.
    kvstore: `device`, `local` or None; gradients on several devices are summed on
        the first one.
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
        _check_kvstore(kvstore, compression_params, update_on_kvstore)
        for parameter in self._params:
            parameter._trainer = self
        settings = dict(optimizer_params or {})
        self._scale = float(settings.get("rescale_grad", 1.0))
        by_index = dict(enumerate(self._params))
        if isinstance(optimizer, opt.Optimizer):
            if settings:
                raise ArgumentError(
                    "Trainer: optimizer_params go with the name of an optimizer; "
                    f"{type(optimizer).__name__} is made already and has its settings."
                )
            self._optimizer = optimizer
            self._optimizer.param_dict = dict(by_index)
        else:
            self._optimizer = opt.create(optimizer, param_dict=by_index, **settings)
        self._updaters: dict[Context, opt.Updater] = {}

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

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Sum the gradients over the devices, divide by `batch_size`, and update.

        A gradient that no backward has filled since the last step raises a UserWarning;
        with `ignore_stale_grad` its parameter is left as it is.
        """
        with attributed(phase="update"):
            self._rescale(batch_size)
            self._check_fresh(ignore_stale_grad)
            self._allreduce()
            self._update(ignore_stale_grad)

    def allreduce_grads(self) -> None:
        """Sum each gradient over the devices, for use with `update`."""
        with attributed(phase="update"):
            self._allreduce()

    def update(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Update from gradients that `allreduce_grads` has summed; see `step`."""
        with attributed(phase="update"):
            self._rescale(batch_size)
            self._check_fresh(ignore_stale_grad)
            self._update(ignore_stale_grad)

    def _learning(self) -> list[tuple[int, Parameter]]:
        return [(i, p) for i, p in enumerate(self._params) if p.grad_req != "null"]

    def _rescale(self, batch_size: int) -> None:
        if batch_size <= 0:
            raise ArgumentError(
                f"Trainer: batch_size={batch_size}; give the number of samples, from 1."
            )
        self._optimizer.rescale_grad = self._scale / batch_size

    def _check_fresh(self, ignore_stale_grad: bool) -> None:
        """Refuse the step before anything is changed."""
        if ignore_stale_grad:
            return
        for _, parameter in self._learning():
            for ctx, gradient in zip(
                parameter.list_ctx(), parameter.list_grad(), strict=True
            ):
                if not gradient._fresh_grad:
                    raise UserWarning(
                        f"the gradient of {parameter.name} on {ctx} is stale: no "
                        "backward has filled it since the last step. Is the parameter "
                        "used in the computation of the loss? If it is left out on "
                        "purpose, give ignore_stale_grad=True."
                    )

    def _allreduce(self) -> None:
        """Sum on the first device, and copy the sum to the others."""
        for _, parameter in self._learning():
            gradients = parameter.list_grad()
            if len(gradients) == 1:
                continue
            first, *others = gradients
            total = first
            for other in others:
                total = total + other.as_in_context(first.context)
            for gradient in gradients:
                total.copyto(gradient)

    def _update(self, ignore_stale_grad: bool) -> None:
        """Hand each device its weights and gradients, in order of the parameters."""
        work: dict[Context, tuple[list[int], list[NDArray], list[NDArray]]] = {}
        for index, parameter in self._learning():
            for ctx, weight, gradient in zip(
                parameter.list_ctx(),
                parameter._arrays(),
                parameter.list_grad(),
                strict=True,
            ):
                if ignore_stale_grad and not gradient._fresh_grad:
                    continue
                indices, gradients, weights = work.setdefault(ctx, ([], [], []))
                indices.append(index)
                gradients.append(gradient)
                weights.append(weight)
                gradient._fresh_grad = False
        for number, (ctx, updater) in enumerate(self._updaters_now().items()):
            if ctx in work:
                self._optimizer._set_current_context(number)
                updater(*work[ctx])

    def _updaters_now(self) -> dict[Context, opt.Updater]:
        """One updater for each device that the parameters live on."""
        contexts = self._contexts()
        if contexts != list(self._updaters):
            # The network has moved: every device goes on where the first one was.
            old = next(iter(self._updaters.values()), None)
            content = None if old is None else old.get_states()
            self._updaters = {ctx: opt.get_updater(self._optimizer) for ctx in contexts}
            for updater in self._updaters.values():
                if content is not None:
                    updater.set_states(content)
        return self._updaters

    def _contexts(self) -> list[Context]:
        return list({ctx: None for p in self._params for ctx in p._contexts()})

    # -- files ------------------------------------------------------------------------

    def save_states(self, fname: str | os.PathLike[str]) -> None:
        """Write what the optimizer remembers: states, counts and learning rate."""
        updater = next(iter(self._updaters.values()), None)
        if updater is None:
            updater = opt.get_updater(self._optimizer)
        content = updater.get_states(dump_optimizer=True)
        try:
            with open(fname, "wb") as file:
                file.write(content)
        except OSError as reason:
            raise DataError(
                f"save_states: cannot write {str(fname)!r}: {reason.strerror}."
            ) from reason

    def load_states(self, fname: str | os.PathLike[str]) -> None:
        """Go on where `save_states` was called; the devices may be others."""
        try:
            with open(fname, "rb") as file:
                content = file.read()
        except OSError as reason:
            raise DataError(
                f"load_states: cannot read {str(fname)!r}: {reason.strerror}."
            ) from reason
        updaters = {ctx: opt.get_updater(self._optimizer) for ctx in self._contexts()}
        for updater in updaters.values():
            updater.set_states(content)
        self._updaters = updaters


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


def _check_kvstore(
    kvstore: Any, compression_params: Any, update_on_kvstore: bool | None
) -> None:
    if kvstore is not None and kvstore not in KVSTORES:
        raise ArgumentError(
            f"Trainer: kvstore={kvstore!r} is not available; gradients are summed "
            "within this process. Choose 'device', 'local' or None."
        )
    if compression_params:
        raise ArgumentError(
            "Trainer: gradients are not compressed within one process; leave "
            "compression_params away."
        )
    if update_on_kvstore:
        raise ArgumentError(
            "Trainer: weights are updated on their own devices; leave "
            "update_on_kvstore away, or give False."
        )
