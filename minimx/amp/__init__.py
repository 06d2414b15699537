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

from minimx.amp.amp import *  # noqa: F403 - MXNet has the same names in both places
from minimx.amp.amp import __all__ as __all__
