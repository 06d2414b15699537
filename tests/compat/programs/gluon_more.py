"""More of Gluon: hybrid blocks, sharing, files, devices, freezing, naming."""

import json
import os
import numpy as np
import mxnet as mx
from mxnet import autograd, gluon, init, nd
from mxnet.gluon import nn
# %%
class HybridNet(nn.HybridBlock):
    def __init__(self, **kwargs):
        super(HybridNet, self).__init__(**kwargs)
        self.hidden = nn.Dense(10)
        self.output = nn.Dense(2)
    def hybrid_forward(self, F, x):
        print("x.shape: ", x.shape)
        x = F.relu(self.hidden(x))
        print("hidden: ", x.shape)
        return self.output(x)
net = HybridNet()
net.initialize()
net(nd.random.normal(shape=(1, 4))).shape
# %%
class Mixed(nn.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.fc1 = nn.Dense(16, activation="relu")
            self.fc2 = nn.Dense(4)
            self.scale = self.params.get("scale", shape=(1,), init=init.Constant(2))
    def hybrid_forward(self, F, x, mask=None, scale=None):
        y = F.broadcast_mul(self.fc2(self.fc1(x)), scale)
        if mask is not None:
            y = y * mask
        return y, F.sum(y, axis=1)
net = Mixed(prefix="net_")
net.initialize(init.One())
net.hybridize()
net(nd.ones((2, 3))), sorted(net.collect_params().keys())
# %%
net.forward(nd.ones((1, 3)))[0].shape
# %%
net(nd.ones((2, 5)))
# %%
net(3)
# %%
net()
# %%
def get_net():
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2))
    net.initialize()
    return net
net = get_net()
net(nd.ones((1, 512))).shape, net[0].weight.shape
# %%
class Outer(gluon.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.body = nn.HybridSequential()
            with self.body.name_scope():
                self.body.add(nn.Dense(3))
                self.body.add(nn.Dense(3, prefix="named_"))
            self.tail = nn.Dense(1)
    def forward(self, x):
        return self.tail(self.body(x))
o = Outer(prefix="outer_")
print(o.prefix, o.body.prefix, o.body[0].prefix, o.body[1].prefix, o.tail.prefix, o.name)
[k for k in o.collect_params()]
# %%
a, b = nn.Dense(2), nn.Dense(2)
(int(b.prefix[5:-1]) - int(a.prefix[5:-1]), nn.Dense(2, prefix="q_").prefix, nn.Dense(1, prefix="").weight.name)
# %%
with a.name_scope():
    c = nn.Dense(3)
c.prefix == a.prefix + "dense0_"
# %%
o.initialize()
o(nd.ones((2, 2)))
o.save_parameters("o.params")
p = Outer(prefix="outer_")
p.load_parameters("o.params", ctx=[mx.cpu(0), mx.cpu(1)])
p.tail.weight.list_ctx(), [bool((x.as_in_context(mx.cpu()) == o.tail.weight.data()).min().asscalar()) for x in p.tail.weight.list_data()]
# %%
sorted(nd.load("o.params").items())[0][0], [k for k, v in sorted(nd.load("o.params").items())]
# %%
p.load_parameters("o.params", ctx=mx.cpu(0))
# %%
p.collect_params().reset_ctx(mx.cpu(0))
p.load_parameters("o.params", ctx=mx.cpu(0))
p.tail.weight.list_ctx()
# %%
o.collect_params().save("flat.params")
sorted(nd.load("flat.params"))
# %% differs: full names are found as well
q = Outer(prefix="outer_")
q.load_parameters("flat.params")
q.collect_params().load("flat.params")
# %%
for name, param in o.collect_params().items():
    if "body" in name:
        param.grad_req = "null"
trainer = gluon.Trainer(o.collect_params(), "sgd", {"learning_rate": 0.5})
before = [v.data().asnumpy() for v in o.collect_params().values()]
with autograd.record():
    l = o(nd.ones((2, 2))).sum()
l.backward()
trainer.step(2)
[bool((u == v.data().asnumpy()).all()) for u, v in zip(before, o.collect_params().values())]
# %%
d = nn.Dense(2, in_units=2, use_bias=False)
d.initialize(init.One())
d.weight.grad_req = "add"
for _ in range(3):
    with autograd.record():
        d(nd.ones((1, 2))).backward()
d.weight.grad(), d.weight.data().grad is not None
# %%
d.weight.zero_grad()
d.weight.grad()
# %%
d.collect_params().zero_grad()
t = gluon.Trainer(d.collect_params(), "sgd", {"learning_rate": 1})
with autograd.record():
    d(nd.ones((1, 2))).backward()
t.step(1)
d.weight.data()
# %%
w = d.weight.data()
w[:] = 5
d.weight.data(), d(nd.ones((1, 2)))
# %%
e = nn.Embedding(4, 3)
e.initialize(init.Uniform(1))
with autograd.record():
    e(nd.array([1, 1, 3])).backward()
e.weight.grad()
# %%
layer = nn.Dense(5, weight_initializer=init.Constant(0.5))
layer.initialize(init=init.One(), ctx=mx.cpu())
layer(nd.ones((1, 2)))
# %%
nn.Dense(2).initialize(ctx=[mx.cpu(0), mx.cpu(1)])
# %%
drop = nn.Dropout(0.5)
x = nd.ones((4, 50))
(drop(x) == x).min().asscalar(), sorted(set(np.unique(drop(x).asnumpy()).tolist()))
# %%
with autograd.record():
    out = drop(x)
set(np.unique(out.asnumpy()).tolist()) <= {0.0, 2.0}
# %%
with autograd.record(train_mode=False):
    out = drop(x)
(out == x).min().asscalar()
# %%
seq = nn.Sequential()
with seq.name_scope():
    for units in (4, 3):
        seq.add(nn.Dense(units, activation="sigmoid"))
seq.initialize()
for layer in seq:
    print(layer)
print(len(seq), seq[1].weight.shape)
# %% differs: refused
seq.add(None)
# %%
seq[5]
# %%
class NetList(nn.Block):
    def __init__(self):
        super().__init__()
        self.layers = []
        for i in range(2):
            layer = nn.Dense(2)
            self.layers.append(layer)
            self.register_child(layer)
    def forward(self, x):
        for l in self.layers:
            x = l(x)
        return x
nl = NetList()
nl.initialize()
nl(nd.ones((1, 2))).shape, len(list(nl.collect_params().keys())), nl
# %%
def norms(block):
    if isinstance(block, nn.Dense):
        print(block.weight.shape)
nl.apply(norms)
# %%
nl.collect_params().list_ctx() if hasattr(nl.collect_params(), "list_ctx") else None
# %%
from mxnet.gluon.contrib import nn as contrib_nn
# %%
params = gluon.ParameterDict("p_")
w = params.get("w", shape=(2, 2), init="ones")
c = params.get_constant("c", [[1, 2]])
params.initialize(ctx=mx.cpu())
print(params, w.data(), c.data())
params.save("pd.params")
other = gluon.ParameterDict("p_")
other.get("w", shape=(2, 2))
other.load("pd.params", ignore_extra=True)
other["p_w"].data()
# %%
params.update(other)
# %%
for k, v in params.items():
    print(k, v)
list(params.keys()), len(list(params.values())), params.prefix
# %%
params.get("w", shape=(2, 2), dtype="float64")
# %%
gluon.Parameter("x", shape=(2,), grad_req="null").grad_req, gluon.Parameter("x", shape=(2,), differentiable=False).grad_req, gluon.Parameter("x", shape=3).shape
# %%
p = gluon.Parameter("y", shape=(2, 2))
p.set_data(nd.ones((2, 2)))
# %%
p.initialize("zeros")
p.set_data(nd.ones((2, 2)))
p.data() + 1, p.grad(), p.list_grad()
# %%
p.shape = (3, 3)
# %%
x = nd.array([[1.0, 2.0]])
net = nn.Dense(1, in_units=2)
net.initialize(init.One())
loss_fn = gluon.loss.L2Loss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "wd": 0.1})
for _ in range(3):
    with autograd.record():
        l = loss_fn(net(x), nd.array([[1.0]]))
    l.backward()
    trainer.step(1)
    print(l.asscalar(), net.weight.data().asnumpy(), net.bias.data().asnumpy())
# %%
trainer_bias = gluon.Trainer(net.collect_params("dense.*_bias"), "sgd", {"learning_rate": 0.1})
trainer_weight = gluon.Trainer(net.collect_params("dense.*_weight"), "sgd", {"learning_rate": 0.2, "wd": 3})
with autograd.record():
    l = loss_fn(net(x), nd.array([[1.0]]))
l.backward()
trainer_bias.step(1)
trainer_weight.step(1)
net.weight.data(), net.bias.data()
# %%
class ScaleLoss(gluon.loss.Loss):
    def __init__(self, weight=1., batch_axis=0, **kwargs):
        super(ScaleLoss, self).__init__(weight, batch_axis, **kwargs)
    def hybrid_forward(self, F, pred, label, sample_weight=None):
        label = gluon.loss._reshape_like(F, label, pred)
        loss = F.square(pred - label)
        loss = gluon.loss._apply_weighting(F, loss, self._weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)
ScaleLoss()(nd.array([[1.0], [2.0]]), nd.array([1.0, 4.0]))
# %%
net = nn.HybridSequential()
net.add(nn.Conv2D(4, 3, activation="relu"), nn.MaxPool2D(2), nn.Flatten(), nn.Dense(3))
net.initialize(init.Constant(0.01))
net(nd.ones((1, 1, 8, 8)))
for p in net.collect_params().values():
    p.set_data(nd.sin(nd.arange(p.data().size)).reshape(p.shape) / 3)
net.hybridize()
opt = mx.optimizer.Adam(learning_rate=0.01, lr_scheduler=mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=0.01))
trainer = gluon.Trainer(net.collect_params(), opt)
ce = gluon.loss.SoftmaxCrossEntropyLoss()
data = nd.array(np.random.RandomState(0).rand(4, 1, 8, 8))
for i in range(5):
    with autograd.record():
        loss = ce(net(data), nd.array([0, 1, 2, 1]))
    autograd.backward(loss)
    trainer.step(4)
    print(round(float(loss.mean().asscalar()), 4), trainer.learning_rate)
# %%
net(data), net[0].weight.data().mean(), trainer.optimizer
# %%
acc = mx.metric.Accuracy()
train_loss = mx.metric.Loss()
for _ in range(2):
    out = net(data)
    acc.update(nd.array([0, 1, 2, 1]), out)
    train_loss.update(0, ce(out, nd.array([0, 1, 2, 1])))
name, value = acc.get()
print("%s=%f" % (name, value), *train_loss.get())
# %%
metrics = mx.metric.CompositeEvalMetric([mx.metric.Accuracy(), mx.metric.CrossEntropy(), mx.metric.TopKAccuracy(2)])
metrics.update([nd.array([0, 1, 2, 1])], [nd.softmax(net(data))])
metrics.get(), dict(zip(*metrics.get()))["accuracy"]
