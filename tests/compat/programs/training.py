"""Training loops, trainers, schedules, several devices."""

import numpy as np
import mxnet as mx
from mxnet import autograd, gluon, init, lr_scheduler, metric, nd
from mxnet.gluon import data as gdata, loss as gloss, nn, utils as gutils
np.random.seed(0)
features = nd.array(np.random.normal(size=(200, 2)))
true_w = nd.array([2, -3.4])
labels = nd.dot(features, true_w) + 4.2
# %%
w = nd.zeros((2, 1))
b = nd.zeros((1,))
w.attach_grad()
b.attach_grad()
def linreg(X, w, b):
    return nd.dot(X, w) + b
def squared_loss(y_hat, y):
    return (y_hat - y.reshape(y_hat.shape)) ** 2 / 2
def sgd(params, lr, batch_size):
    for param in params:
        param[:] = param - lr * param.grad / batch_size
for epoch in range(3):
    for i in range(0, 200, 10):
        X, y = features[i:i + 10], labels[i:i + 10]
        with autograd.record():
            l = squared_loss(linreg(X, w, b), y)
        l.backward()
        sgd([w, b], 0.1, 10)
    train_l = squared_loss(linreg(features, w, b), labels)
    print("epoch %d, loss %f" % (epoch + 1, train_l.mean().asnumpy()))
w, b
# %%
dataset = gdata.ArrayDataset(features, labels)
data_iter = gdata.DataLoader(dataset, 10, shuffle=False)
net = nn.Sequential()
net.add(nn.Dense(1))
net.initialize(init.Zero())
loss = gloss.L2Loss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.03})
for epoch in range(1, 4):
    for X, y in data_iter:
        with autograd.record():
            l = loss(net(X), y)
        l.backward()
        trainer.step(10)
    l = loss(net(features), labels)
    print("epoch %d, loss: %f" % (epoch, l.mean().asnumpy()))
net[0].weight.data(), net[0].bias.data()
# %%
trainer.learning_rate, trainer.optimizer.lr, trainer.optimizer.num_update
# %%
trainer.set_learning_rate(0.1)
trainer.learning_rate
# %%
trainer.step(10)
# %%
trainer.step(10, ignore_stale_grad=True)
# %%
def train(optimizer, params=None, steps=6, kw=None, dtype="float32"):
    net = nn.HybridSequential()
    net.add(nn.Dense(3, activation="tanh", in_units=2), nn.Dense(1, in_units=3))
    net.initialize(init.Constant(0.3))
    net.cast(dtype)
    trainer = gluon.Trainer(net.collect_params(), optimizer, params, **(kw or {}))
    for i in range(steps):
        with autograd.record():
            l = loss(net(features[:20].astype(dtype)), labels[:20].astype(dtype))
        l.backward()
        trainer.step(20)
    return net[0].weight.data().asnumpy()
# %%
train("sgd"), train("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01})
# %%
train("nag", {"learning_rate": 0.1, "momentum": 0.9}), train("NAG")
# %%
train("nag", {"momentum": 0.5, "wd": 0.1})
# %%
train("adam"), train("adam", {"learning_rate": 0.1, "beta1": 0.8, "wd": 0.01, "epsilon": 1e-6})
# %%
train("adagrad", {"learning_rate": 0.1}), train("adagrad", {"eps": 1e-5, "wd": 0.1})
# %%
train("rmsprop", {"learning_rate": 0.1}), train("rmsprop", {"gamma1": 0.8, "gamma2": 0.5, "centered": True, "wd": 0.1})
# %%
train("adadelta", {"rho": 0.8}), train("adadelta", {"wd": 0.1})
# %%
train("ftrl", {"lamda1": 0.1}), train("adamax"), train("nadam")
# %%
train("signum", {"momentum": 0.9, "wd_lh": 0.1}), train("signsgd")
# %%
train("sgd", {"clip_gradient": 0.01, "learning_rate": 1}), train("adam", {"clip_gradient": 0.01}), train("sgd", {"rescale_grad": 0.5})
# %% differs: float16 on the CPU
train("sgd", {"learning_rate": 0.1, "momentum": 0.9, "multi_precision": True}, dtype="float16").dtype
# %%
train(mx.optimizer.SGD(learning_rate=0.1)), train(mx.optimizer.Adam(0.1)), train(mx.optimizer.create("sgd", learning_rate=0.5))
# %%
train(mx.optimizer.SGD(learning_rate=0.1), {"momentum": 0.9})
# %%
train("nothing")
# %%
train("sgd", {"learning_rat": 0.1})
# %%
sched = lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1.0)
[sched(i) for i in range(1, 9)]
# %%
sched = lr_scheduler.MultiFactorScheduler(step=[3, 5], factor=0.1, base_lr=0.5)
[sched(i) for i in range(1, 9)]
# %%
[lr_scheduler.PolyScheduler(max_update=10, base_lr=1, pwr=2, final_lr=0.1)(i) for i in range(0, 13, 3)]
# %%
[lr_scheduler.CosineScheduler(max_update=10, base_lr=1, final_lr=0.1)(i) for i in range(0, 13, 3)]
# %%
[lr_scheduler.CosineScheduler(max_update=10, base_lr=1, warmup_steps=4, warmup_begin_lr=0.1)(i) for i in range(0, 13)]
# %%
[lr_scheduler.FactorScheduler(step=2, factor=0.1, stop_factor_lr=1e-2, base_lr=1, warmup_steps=2, warmup_mode="constant", warmup_begin_lr=0.5)(i) for i in range(1, 13)]
# %%
lr_scheduler.FactorScheduler(step=0)
# %%
lr_scheduler.MultiFactorScheduler(step=[5, 3])
# %%
lr_scheduler.FactorScheduler(step=2, factor=2)
# %%
class Triangular(object):
    def __call__(self, iteration):
        return 1.0 / (1 + iteration)
train("sgd", {"lr_scheduler": Triangular()})
# %% differs: MXNet prints a warning
train("sgd", {"learning_rate": 0.5, "lr_scheduler": lr_scheduler.FactorScheduler(2, 0.5)})
# %% differs: MXNet prints a warning
opt = mx.optimizer.SGD(learning_rate=0.2, lr_scheduler=lr_scheduler.FactorScheduler(2, 0.5))
trainer = gluon.Trainer(net.collect_params(), opt)
trainer.learning_rate
# %%
trainer.set_learning_rate(0.3)
# %%
opt.lr_scheduler.base_lr
# %%
ctx = [mx.cpu(0), mx.cpu(1)]
net = nn.Sequential()
net.add(nn.Dense(4, activation="relu"), nn.Dense(1))
net.initialize(init=init.Normal(sigma=0.01), ctx=ctx)
gpu_x = gutils.split_and_load(features[:4], ctx)
[net(x).context for x in gpu_x], [x.shape for x in gpu_x], gpu_x[1]
# %%
weight = net[0].params.get("weight")
weight.data().shape
# %%
weight.data(ctx[0])[0].shape, weight.data(ctx[1]).context, weight.list_ctx()
# %%
def multi(kvstore, n):
    ctx = [mx.cpu(i) for i in range(n)]
    net = nn.Sequential()
    net.add(nn.Dense(4, activation="tanh", in_units=2), nn.Dense(1, in_units=4))
    net.initialize(init=init.Constant(0.1), ctx=ctx)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}, kvstore=kvstore)
    for i in range(0, 40, 8):
        Xs = gutils.split_and_load(features[i:i + 8], ctx)
        ys = gutils.split_and_load(labels[i:i + 8], ctx)
        with autograd.record():
            losses = [loss(net(X), y) for X, y in zip(Xs, ys)]
        for l in losses:
            l.backward()
        trainer.step(8)
    return [net[0].weight.data(c).asnumpy() for c in ctx]
multi("device", 2), multi("local", 2), multi(None, 1), multi("device", 4)
# %%
gutils.split_data(nd.arange(10).reshape((5, 2)), 2)
# %%
gutils.split_data(nd.arange(10).reshape((5, 2)), 2, even_split=False)
# %%
gutils.split_and_load(nd.arange(4), [mx.cpu()]), gutils.split_and_load(np.arange(4), [mx.cpu(), mx.cpu(1)]), gutils.split_and_load(nd.ones((2, 4)), ctx, batch_axis=1)[0].shape
# %%
arrays = [nd.ones((2, 2)) * 3, nd.ones(3) * 4]
gutils.clip_global_norm(arrays, 1.0), arrays
# %%
gutils.clip_global_norm([nd.array([float("nan")])], 1.0, check_isfinite=False)
# %%
def evaluate_accuracy(data_iterator, net):
    acc = mx.metric.Accuracy()
    for i, (data, label) in enumerate(data_iterator):
        output = net(data)
        predictions = nd.argmax(output, axis=1)
        acc.update(preds=predictions, labels=label)
    return acc.get()[1]
X = nd.array(np.random.normal(size=(60, 4)))
Y = (X.sum(axis=1) > 0)
train_data = gdata.DataLoader(gdata.ArrayDataset(X, Y), batch_size=20, shuffle=False)
net = nn.HybridSequential()
net.add(nn.Dense(8, activation="relu"), nn.BatchNorm(), nn.Dense(2))
net.initialize(init.Xavier(magnitude=2.24))
net.hybridize(static_alloc=True, static_shape=True)
softmax_ce = gloss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
for epoch in range(10):
    cumulative_loss = 0
    for data, label in train_data:
        with autograd.record():
            output = net(data)
            l = softmax_ce(output, label)
        l.backward()
        trainer.step(data.shape[0])
        cumulative_loss += nd.sum(l).asscalar()
evaluate_accuracy(train_data, net) > 0.85
# %%
trainer.save_states("t.states")
trainer.load_states("t.states")
trainer.optimizer.num_update
# %%
trainer.allreduce_grads()
# %%
trainer2 = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, update_on_kvstore=False)
with autograd.record():
    l = softmax_ce(net(X), Y)
l.backward()
trainer2.allreduce_grads()
trainer2.update(60)
# %%
gluon.Trainer(net, "sgd")
# %%
gluon.Trainer([1], "sgd")
# %%
gluon.Trainer(net.collect_params(".*weight"), "sgd", {"learning_rate": 0.1}).learning_rate
# %%
for p in net.collect_params(".*bias").values():
    p.lr_mult = 0.5
    p.wd_mult = 0
net.collect_params().setattr("lr_mult", 2)
[p.lr_mult for p in net.collect_params().values()]
# %%
sgd_opt = mx.optimizer.create("sgd", learning_rate=0.1, momentum=0.9)
state = sgd_opt.create_state(0, nd.ones(3))
weight = nd.ones(3)
sgd_opt.update(0, weight, nd.ones(3), state)
weight, state, sgd_opt.num_update
# %%
updater = mx.optimizer.get_updater(mx.optimizer.Adam())
weight = nd.ones(3)
updater(0, nd.ones(3), weight)
weight, list(updater.states)
# %%
@mx.optimizer.register
class MySGD(mx.optimizer.Optimizer):
    def create_state(self, index, weight):
        return None
    def update(self, index, weight, grad, state):
        self._update_count(index)
        lr = self._get_lr(index)
        wd = self._get_wd(index)
        weight[:] = weight - lr * (grad * self.rescale_grad + wd * weight)
train("mysgd", {"learning_rate": 0.1})
