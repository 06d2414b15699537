"""Optimizers, schedules, losses and metrics with many settings."""

import random
import numpy as np
import mxnet as mx
from mxnet import autograd, gluon, metric, nd
from mxnet.gluon import loss as gloss
rng = random.Random(11)
nrng = np.random.RandomState(5)
def outcome(label, function):
    try:
        print(label, function())
    except Exception as error:
        print(label, "refused")
def rounded(values):
    return np.asarray(values, dtype="float64").round(7).tolist()
# %%
OPTIMIZERS = {
    "sgd": [{}, {"momentum": 0.9}, {"momentum": 0.5, "lazy_update": False}],
    "nag": [{}, {"momentum": 0.9}],
    "signum": [{}, {"momentum": 0}, {"wd_lh": 0.1}],
    "adam": [{}, {"beta1": 0.5, "beta2": 0.9, "epsilon": 1e-3}, {"lazy_update": False}],
    "adagrad": [{}, {"eps": 1e-2}],
    "rmsprop": [{}, {"gamma1": 0.5}, {"centered": True}, {"gamma1": 0.7, "gamma2": 0.2, "centered": True}, {"clip_weights": 0.8}],
    "adadelta": [{}, {"rho": 0.5, "epsilon": 1e-3}],
    "ftrl": [{}, {"lamda1": 0.5, "beta": 2}],
    "adamax": [{}, {"beta1": 0.5}],
    "nadam": [{}, {"schedule_decay": 0.1}],
}
COMMON = [{}, {"wd": 0.1}, {"rescale_grad": 0.5}, {"clip_gradient": 0.2}, {"learning_rate": 0.3}, {"wd": 0.05, "clip_gradient": 0.3, "rescale_grad": 0.8, "learning_rate": 0.2}]
for name, variants in OPTIMIZERS.items():
    for own in variants:
        for common in COMMON:
            if name == "nag" and own and "wd" in common:
                continue
            def run():
                optimizer = mx.optimizer.create(name, **own, **common)
                updater = mx.optimizer.get_updater(optimizer)
                weights = [nd.array([0.5, -1.0, 2.0]), nd.array([[1.0, -0.3]])]
                for t in range(4):
                    for i, w in enumerate(weights):
                        updater(i, nd.array(np.cos(np.arange(w.size) + t).reshape(w.shape)), w)
                return [rounded(w.asnumpy()) for w in weights]
            outcome((name, sorted(own.items()), sorted(common.items())), run)
# %%
for name in ("sgd", "adam", "nag", "rmsprop", "adagrad", "adadelta", "ftrl", "adamax", "nadam", "signum"):
    for dtype in ("float16", "float64"):
        for multi in (False, True):
            if dtype == "float64" and name in ("rmsprop", "adagrad", "adadelta", "ftrl"):
                continue  # MXNet makes their states in float32
            if dtype == "float16" and not (multi and name in ("sgd", "nag", "adam")):
                continue
            def run():
                optimizer = mx.optimizer.create(name, multi_precision=multi, **({"momentum": 0.9} if name in ("sgd", "nag") else {}))
                w = nd.array([0.5, -1.0, 2.0], dtype=dtype)
                state = optimizer.create_state_multi_precision(0, w)
                for t in range(3):
                    optimizer.update_multi_precision(0, w, nd.array(np.cos(np.arange(3) + t), dtype=dtype), state)
                return w.dtype.__name__, np.asarray(w.asnumpy(), dtype="float64").round(3).tolist()
            outcome((name, dtype, multi), run)
# %%
class FakeParam(object):
    def __init__(self, lr_mult, wd_mult):
        self.lr_mult, self.wd_mult = lr_mult, wd_mult
o = mx.optimizer.SGD(learning_rate=1.0, wd=0.5, param_idx2name={0: "a_weight", 1: "b_bias", 2: "c_gamma"})
print([o._get_lr(i) for i in range(3)], [o._get_wd(i) for i in range(3)])
o.set_lr_mult({"a_weight": 0.1, 1: 3})
o.set_wd_mult({"b_bias": 0.7})
print([o._get_lr(i) for i in range(3)], [o._get_wd(i) for i in range(3)])
o = mx.optimizer.SGD(learning_rate=1.0, wd=0.5, begin_num_update=10)
o.update(0, nd.ones(1), nd.ones(1), None)
print(o.num_update, o.learning_rate, o.lr)
# %%
SCHEDULES = [
    mx.lr_scheduler.FactorScheduler(3, 0.5), mx.lr_scheduler.FactorScheduler(step=2, factor=0.3, stop_factor_lr=0.01, base_lr=0.5),
    mx.lr_scheduler.MultiFactorScheduler([2, 6, 7], 0.1), mx.lr_scheduler.MultiFactorScheduler(step=[5], factor=0.5, base_lr=2, warmup_steps=3, warmup_begin_lr=0.5),
    mx.lr_scheduler.PolyScheduler(8), mx.lr_scheduler.PolyScheduler(8, 0.4, 1, 0.05), mx.lr_scheduler.PolyScheduler(max_update=6, base_lr=1, pwr=3, warmup_steps=2, warmup_mode="linear"),
    mx.lr_scheduler.CosineScheduler(8), mx.lr_scheduler.CosineScheduler(9, 0.7, 0.1, 2, 0.3, "constant"),
]
for s in SCHEDULES:
    print(type(s).__name__, [round(s(t), 6) for t in range(1, 14)], s.base_lr)
# %%
for bad in (lambda: mx.lr_scheduler.FactorScheduler(-1), lambda: mx.lr_scheduler.FactorScheduler(1, 1.5), lambda: mx.lr_scheduler.MultiFactorScheduler([0, 2]), lambda: mx.lr_scheduler.MultiFactorScheduler([3, 2]), lambda: mx.lr_scheduler.MultiFactorScheduler(3), lambda: mx.lr_scheduler.PolyScheduler(0), lambda: mx.lr_scheduler.CosineScheduler(10, warmup_steps=-1), lambda: mx.lr_scheduler.CosineScheduler(10, warmup_mode="x")(1), lambda: mx.lr_scheduler.FactorScheduler(1, warmup_begin_lr=5, base_lr=1)):
    outcome("bad", lambda: bad() is None)
# %%
LOSSES = {
    "L2Loss": (gloss.L2Loss, {}), "L1Loss": (gloss.L1Loss, {}), "Huber": (gloss.HuberLoss, {"rho": 0.7}), "Hinge": (gloss.HingeLoss, {"margin": 0.5}), "SquaredHinge": (gloss.SquaredHingeLoss, {}),
    "Logistic": (gloss.LogisticLoss, {}), "SigmoidBCE": (gloss.SigmoidBCELoss, {}), "SoftmaxCE": (gloss.SoftmaxCELoss, {"sparse_label": False}), "KLDiv": (gloss.KLDivLoss, {"from_logits": False}), "Poisson": (gloss.PoissonNLLLoss, {}),
}
for name, (kind, own) in LOSSES.items():
    for weight in (None, 0.5):
        for batch_axis in (0, 1):
            for sample in (None, (3, 1), (1, 4), (3, 4)):
                if name == "Poisson" and (batch_axis or weight) or name == "L2Loss" and not weight:
                    continue
                def run():
                    pred = nd.array(nrng.normal(size=(3, 4)))
                    label = nd.array(nrng.randint(0, 2, (3, 4)))
                    if name in ("KLDiv", "SoftmaxCE"):
                        label = nd.softmax(label)
                    if "Hinge" in name or name == "Logistic":
                        label = label * 2 - 1
                    args = [] if sample is None else [nd.array(nrng.uniform(size=sample))]
                    pred.attach_grad()
                    with autograd.record():
                        out = kind(weight=weight, batch_axis=batch_axis, **own)(pred, label, *args)
                    out.backward()
                    return rounded(out.asnumpy()), rounded(pred.grad.asnumpy())
                outcome((name, weight, batch_axis, sample), run)
# %%
for axis in (-1, 1, 2):
    for sparse in (True, False):
        for logits in (True, False):
            def run():
                pred = nd.array(nrng.normal(size=(2, 3, 4)))
                classes = pred.shape[axis]
                rest = tuple(n for i, n in enumerate(pred.shape) if i != axis % 3)
                label = nd.array(nrng.randint(0, classes, rest)) if sparse else nd.softmax(nd.array(nrng.normal(size=(2, 3, 4))), axis=axis)
                return rounded(gloss.SoftmaxCrossEntropyLoss(axis=axis, sparse_label=sparse, from_logits=logits)(pred, label).asnumpy())
            outcome((axis, sparse, logits), run)
# %%
METRICS = [metric.Accuracy(), metric.TopKAccuracy(2), metric.CrossEntropy(), metric.NegativeLogLikelihood(), metric.Perplexity(ignore_label=None), metric.Perplexity(ignore_label=1)]
for _ in range(3):
    preds = [nd.softmax(nd.array(nrng.normal(size=(4, 3)))) for _ in range(2)]
    labels = [nd.array(nrng.randint(0, 3, 4)) for _ in range(2)]
    for m in METRICS:
        m.update(labels, preds)
[(m.get()[0], round(float(m.get()[1]), 5)) for m in METRICS]
# %%
REGRESSION = [metric.MAE(), metric.MSE(), metric.RMSE(), metric.PearsonCorrelation()]
for _ in range(3):
    preds, labels = [nd.array(nrng.normal(size=(5,)))], [nd.array(nrng.normal(size=(5,)))]
    for m in REGRESSION:
        m.update(labels, preds)
print([(m.get()[0], round(float(m.get()[1]), 5)) for m in REGRESSION])
for m in REGRESSION:
    m.reset()
    outcome(m.name, lambda: m.update([nd.array(nrng.normal(size=(5, 1)))], [nd.array(nrng.normal(size=(5, 1)))]))
print([(m.get()[0], round(float(m.get()[1]), 5)) for m in REGRESSION])
# %%
for average in ("macro", "micro"):
    ms = [metric.F1(average=average), metric.MCC(average=average)]
    for _ in range(3):
        preds = [nd.softmax(nd.array(nrng.normal(size=(6, 2))))]
        labels = [nd.array(nrng.randint(0, 2, 6))]
        for m in ms:
            m.update(labels, preds)
    print(average, [round(float(m.get()[1]), 5) for m in ms])
# %%
for shape in ((4,), (4, 1), (1, 4)):
    for m in (metric.Accuracy(), metric.MSE(), metric.MAE()):
        m.update(nd.array([0, 1, 1, 0]), nd.array([0, 1, 0, 0]).reshape(shape))
        print(shape, m.get())
# %%
for bad in ([[1, 2], [1]], [nd.array([1, 2]), nd.array([1, 2, 3])]):
    outcome("bad", lambda: metric.Accuracy().update(*bad))
# %%
m = metric.CompositeEvalMetric(["acc", metric.Loss("own")])
m.update([nd.array([1])], [nd.array([[0.2, 0.8]])])
print(m.get(), m.get_name_value(), m.get_config())
m.reset()
m.get()
