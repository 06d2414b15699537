"""`mx.amp`: automatic mixed precision, also found at `mx.contrib.amp`.

    mx.amp.init()                                    # before the network is built
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    mx.amp.init_trainer(trainer)
    with autograd.record():
        loss = loss_fn(net(x), y)
        with mx.amp.scale_loss(loss, trainer) as scaled:
            autograd.backward(scaled)
    trainer.step(batch_size)

Reading order: ops/casting.py (the policy: who computes in which type), `casting.py`
(conversions while a program runs), `loss_scaler.py` (when the scale changes), `amp.py`,
`convert.py` (networks that are trained already), `lists/` (MXNet's lists).
"""

from __future__ import annotations

from minimx.amp.amp import (
    LossScaler,
    autocast,
    convert_bucketing_module,
    convert_hybrid_block,
    convert_model,
    convert_symbol,
    init,
    init_trainer,
    is_active,
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
    register_scaler,
    scale_loss,
    set_scaler,
    shutdown,
    unscale,
)

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
    "register_scaler",
    "scale_loss",
    "set_scaler",
    "shutdown",
    "unscale",
]
