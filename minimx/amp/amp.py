"""Switching mixed precision on, and steps whose loss is scaled.

MXNet has all of `mx.amp` in a module of this name, so the rest is found here as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from minimx.amp import lists, scope
from minimx.amp.casting import Conditions, Mixer, SymbolMixer, rules
from minimx.amp.convert import (
    convert_bucketing_module,
    convert_hybrid_block,
    convert_model,
    convert_symbol,
)
from minimx.amp.lists import (
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
)
from minimx.amp.loss_scaler import LossScaler
from minimx.amp.scope import autocast
from minimx.core import events
from minimx.core.errors import ArgumentError
from minimx.core.extensions import provided
from minimx.gluon import Trainer
from minimx.module import Module

__all__ = [
    "LossScaler",
    "autocast",
    "convert_bucketing_module",
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "is_active",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "lists",
    "register_scaler",
    "scale_loss",
    "set_scaler",
    "shutdown",
    "unscale",
]


class _State:
    """What `init` has switched on. The first trainer shares the scaler with losses."""

    mixer: Mixer | None = None
    scaler: LossScaler | None = None
    shared = False


_state = _State()


def init(
    target_dtype: Any = "float16",
    target_precision_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    fp32_ops: Iterable[str] | None = None,
    layout_optimization: bool = False,
) -> None:
    """Let operators compute in mixed precision from now on; call it before building.

    target_dtype: float16 or bfloat16. target_precision_ops, fp32_ops: operators that
    compute in it, or in float32, instead of MXNet's lists (`list_lp16_ops`, …).
    conditional_fp32_ops: (operator, setting, values) with which it computes in float32.

    MXNet patches its functions, and computes in float16 on GPUs only; here every call
    on every device is converted, also those of blocks that exist already. Calling it
    again with the same type does nothing; `shutdown` (ours) ends it.
    Raises `ArgumentError` for another type than before, and for unknown operators.
    """
    wanted = rules(target_dtype, target_precision_ops, fp32_ops, conditional_fp32_ops)
    if _state.mixer is not None:
        if _state.mixer.rules.target != wanted.target:
            raise ArgumentError(
                f"amp.init: mixed precision with {_state.mixer.rules.target} is on. "
                "Call mx.amp.shutdown() first, and build the network anew."
            )
        return
    _state.mixer = Mixer(wanted)
    scope.set_process((_state.mixer, SymbolMixer(wanted)))
    _state.scaler, _state.shared = LossScaler(), False


def shutdown() -> None:
    """End what `init` began: operators compute in the types of their inputs (ours).

    Trainers keep their loss scalers. Without `init` it does nothing.
    """
    _state.mixer = _state.scaler = None
    scope.set_process((None, None))


def is_active() -> bool:
    """Whether `init` is in force, in the whole process (ours), in `autocast` or not."""
    return _state.mixer is not None


def init_trainer(
    optimizer_or_trainer: Trainer | Module, scaler: LossScaler | str | None = None
) -> None:
    """Give a trainer a loss scaler: it will skip steps whose gradients overflow.

    scaler: one of your own (ours), in place of MXNet's with its usual numbers, or the
    name of a registered policy.

    A `Module` (ours: MXNet scales no losses in symbols) needs no `scale_loss`: the
    losses at the end of its symbol are scaled in `backward`, and unscaled in `update`.

    Raises `ArgumentError` before `init`, for what is neither, and for one whose store
    updates the weights, since that cannot skip.
    """
    trainer = optimizer_or_trainer
    if isinstance(scaler, str):
        scaler = LossScaler(policy=scaler)
    if _state.scaler is None:
        raise ArgumentError("amp.init_trainer: call mx.amp.init() first.")
    if isinstance(trainer, Module):
        _scale_module(trainer, scaler)
        return
    if not isinstance(trainer, Trainer):
        raise ArgumentError(
            f"amp.init_trainer: {trainer!r} is no gluon.Trainer and no "
            "Module; only these can skip a step."
        )
    if trainer._amp_loss_scaler is not None:
        warnings.warn(
            "amp.init_trainer: this trainer has a loss scaler; it keeps it.",
            stacklevel=2,
        )
        return
    trainer._scale_loss_by(scaler or _next_scaler())


def set_scaler(trainer: Trainer, scaler: LossScaler | None) -> None:
    """Scale the losses of a trainer from its next step on; None ends it (ours).

    scaler: what `scale_loss` multiplies by, and what decides which steps are skipped.
    Unlike `init_trainer` it may be called at any time between two steps, inside and
    outside of mixed precision; weights and the optimizer's states are untouched.
    Raises `UpdatedInStore` where the store updates the weights.
    """
    trainer._scale_loss_by(scaler)


def register_scaler(name: Any, policy: Any = None) -> Any:
    """Let `LossScaler(policy=name)` take a class of yours (ours).

    It decides on the next scale: `mx.policies.register_scaler`. A call or a decorator.
    """
    return provided("policies").register_scaler(name, policy)


def _next_scaler() -> LossScaler:
    """The first trainer has that of `init`, the others one each."""
    assert _state.scaler is not None
    scaler = LossScaler() if _state.shared else _state.scaler
    _state.shared = True
    return scaler


def _scale_module(module: Module, scaler: LossScaler | None) -> None:
    if not module.optimizer_initialized:
        raise ArgumentError(
            "amp.init_trainer: this module has no optimizer. Call init_optimizer first."
        )
    training = module._trained
    if training.on_store:
        raise ArgumentError(
            "amp.init_trainer: the store updates the weights of this module and cannot "
            "skip a step. Call init_optimizer(kvstore=None)."
        )
    ends = {node.op.name for node in module.symbol.graph if node.op is not None}
    if "_amp_scaled_loss" not in ends:
        raise ArgumentError(
            "amp.init_trainer: no loss of this module's symbol can be scaled. Write "
            "the symbol after mx.amp.init(), with a loss output such as SoftmaxOutput."
        )
    training.scaler = scaler or _next_scaler()


@contextmanager
def scale_loss(loss: Any, trainer: Trainer) -> Iterator[Any]:
    """The loss times the scale, inside `record()`; the next step divides by it.

    loss: an array, or a list or tuple of them; what comes is of the same kind.
    Raises `ArgumentError` for a trainer without `init_trainer`.

    Examples
    --------
    with amp.scale_loss(loss, trainer) as scaled:
        autograd.backward(scaled)
    """
    scaler = _scaler_of(trainer, "scale_loss")
    scale = scaler.begin()
    recorder = events.recorder
    if recorder is not None:
        recorder.metric(trainer._steps + 1, "loss scale", scale)
    trainer._scale = trainer._amp_original_scale / scale
    if isinstance(loss, (list, tuple)):
        yield type(loss)([each * scale for each in loss])
    else:
        yield loss * scale


def unscale(trainer: Trainer) -> None:
    """Divide the gradients by the scale now, so that they can be looked at or clipped.

    Without it a clip would compare scaled gradients with an unscaled limit. The step
    that follows does not divide again. `clip_gradient` of an optimizer needs none of
    this: it divides first. Raises `ArgumentError` for a trainer without `init_trainer`.

    Examples
    --------
    amp.unscale(trainer)
    gluon.utils.clip_global_norm(gradients, 1.0)
    trainer.step(batch_size)
    """
    _scaler_of(trainer, "unscale")
    factor = trainer._scale / trainer._amp_original_scale
    for parameter in trainer._params:
        if parameter.grad_req != "null":
            for gradient in parameter.list_grad():
                fresh = gradient._fresh_grad
                gradient[:] = gradient * factor
                gradient._fresh_grad = fresh
    trainer._scale = trainer._amp_original_scale


def _scaler_of(trainer: Any, what: str) -> LossScaler:
    scaler = getattr(trainer, "_amp_loss_scaler", None)
    if scaler is None:
        raise ArgumentError(
            f"amp.{what}: the trainer has no loss scaler. Call "
            "mx.amp.init_trainer(trainer) once, after mx.amp.init()."
        )
    found: LossScaler = scaler
    return found


def __getattr__(name: str) -> bool:
    if name == "_amp_initialized":  # MXNet's libraries ask for it
        return is_active()
    raise AttributeError(f"mx.amp has no {name!r}.")
