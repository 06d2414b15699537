"""What tests of MXNet ask: corners of arrays, gradients, parameters, errors, threads."""

import copy
import os
import pickle
import threading
import numpy as np
import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
# %%
x = nd.zeros((2, 3, 4))
x[:] = 1
x[:] = nd.ones((2, 3, 4)) * 2
x[1, 0:2, 1:3] = 5
x[0, :, 0] = nd.array([7, 8, 9])
x[-1, -1] = np.array([0, 1, 2, 3], dtype="float64")
x[:, 1:2, :] = nd.zeros((2, 1, 4))
x
# %%
x[0] = nd.ones((1, 3, 4))
x[0, 1] = nd.ones((1, 4)) * 3
x[0]
# %%
x[:, :, 0] = [[1, 2, 3], [4, 5, 6]]
x[:, :, 0]
# %%
x[:, :, 0] = nd.ones((3, 2))
# %%
x[:] = nd.ones((4,))
x[:] = np.ones((3, 1))
x.sum()
# %%
y = x.reshape((6, 4))
y[0] = 100
x[0, 0]
# %%
z = x.T
z[:] = 0
x.sum()
# %%
w = x.astype("float32")
w[:] = -5
x.max()
# %%
v = x.copy()
v += 1
v.max(), x.max()
# %%
u = x[0]
u += 1
x[0, 0]
# %%
(nd.array([1, 2]) == nd.array([1, 2])).asnumpy().all(), (nd.array([1, 2]) == 1), bool(nd.array([1]) == 1)
# %%
a = nd.array([[1, 2], [3, 4]])
fluent = [a.sum(axis=1), a.mean(0), a.max(axis=0), a.min(), a.prod(axis=1), a.norm(), a.argmax(axis=1), a.argmin(axis=0), a.clip(2, 3), a.abs(), a.sign(), a.flatten(), a.expand_dims(0), a.tile((1, 2)), a.transpose(), a.flip(axis=0), a.diag(), a.sqrt(), a.rsqrt(), a.cbrt(), a.square(), a.reciprocal(), a.relu(), a.sigmoid(), a.softmax(), a.log_softmax(axis=0), a.exp(), a.log(), a.log1p(), a.expm1(), a.sin(), a.cos(), a.tan(), a.sinh(), a.cosh(), a.tanh(), a.arctan(), a.arcsinh(), a.degrees(), a.radians(), a.round(), a.rint(), a.fix(), a.floor(), a.ceil(), a.trunc(), a.ones_like(), a.zeros_like(), a.nansum(), a.nanprod(axis=0), a.squeeze(), a.swapaxes(0, 1), a.slice(begin=(0,), end=(1,)), a.slice_axis(axis=1, begin=0, end=1), a.take(nd.array([1])), a.one_hot(5), a.pick(nd.array([1, 0])), a.sort(axis=0), a.topk(), a.argsort(), a.repeat(2), a.pad(mode="constant", pad_width=(0, 0, 0, 0, 0, 0, 0, 0)) if False else a, a.broadcast_to((2, 2)), a.broadcast_axes(axis=(), size=()) if False else a, a.split(2)[0], a.softmin(), a.shape_array(), a.size_array(), a.reshape_like(nd.ones(4)), a.slice_like(nd.ones((1, 1))), a.log2(), a.log10(), a.rcbrt()]
[v.asnumpy().round(3).tolist() for v in fluent]
# %%
try:
    nd.array([1, 2, 3]).reshape((2, 2))
except Exception as e:
    print(isinstance(e, (mx.MXNetError, ValueError)))
# %%
a.__repr__(), a.__str__(), "%s" % nd.array([1])
# %%
b = pickle.loads(pickle.dumps({"a": a, "list": [a, a]}))
b["a"], len(b["list"]), b["a"].context
# %%
c = copy.copy(a)
d = copy.deepcopy(a)
c[:] = 0
d[:] = 9
a
# %%
nd.save("f.nd", {"b:x": a, "a": nd.arange(3, dtype="int32")})
sorted(nd.load("f.nd").items())
# %%
nd.save("empty.nd", [])
nd.load("empty.nd")
# %%
nd.save("d.nd", {})
nd.load("d.nd")
# %% differs: a ValueError
nd.save("f.nd", {1: a})
# %%
for dtype in ("float16", "float32", "float64", "uint8", "int8", "int32", "int64"):
    nd.save("t.nd", nd.ones((2,), dtype=dtype) * 3)
    print(nd.load("t.nd"))
# %%
x = nd.array([[1.0, 2], [3, 4]])
x.attach_grad()
with autograd.record():
    y = nd.FullyConnected(x, nd.ones((3, 2)), nd.zeros(3), num_hidden=3)
    z = y.sum() * 2
z.backward()
x.grad
# %%
with autograd.record():
    y = x * 2
    with autograd.pause():
        z = y * 3
    out = y + z
out.backward()
x.grad
# %%
def grad_and_loss(f):
    def wrapped(*args):
        variables = list(args)
        grads = [nd.zeros_like(v) for v in variables]
        autograd.mark_variables(variables, grads)
        with autograd.record():
            outputs = f(*args)
        autograd.backward([outputs] if isinstance(outputs, nd.NDArray) else outputs)
        return grads, outputs
    return wrapped
grad_and_loss(lambda a, b: a * b + nd.exp(a))(nd.array([1.0, 2]), nd.array([3.0, 4]))
# %%
x = nd.ones((3,))
y = nd.zeros((3,))
x.attach_grad()
y.attach_grad()
with autograd.record():
    u = x * 2
    v = u * y
    w = (u + v).sum()
w.backward(retain_graph=True)
print(x.grad, y.grad)
w.backward()
x.grad
# %%
w.backward()
# %%
x = nd.ones((10,))
x.attach_grad()
with autograd.record():
    y = nd.Dropout(x, p=0.5)
    assert autograd.is_training()
y.backward()
bool((x.grad == y).min().asscalar())
# %%
with autograd.record(train_mode=False):
    y = nd.Dropout(x, p=0.5)
y.backward(train_mode=False)
x.grad
# %%
x = nd.array([1.0, 2, 3])
x.attach_grad()
with autograd.record():
    y = x.sum()
    x2 = x * x
(x2.sum()).backward() if False else None
y.backward()
x.grad
# %%
class Round(autograd.Function):
    def forward(self, x):
        return nd.round(x)
    def backward(self, dy):
        return dy
with autograd.record():
    y = Round()(x * 1.4)
y.backward()
y, x.grad
# %%
class Bad(autograd.Function):
    def forward(self, x):
        return x
    def backward(self, dy):
        return dy, dy
with autograd.record():
    y = Bad()(x)
y.backward()
# %%
f = Round()
with autograd.record():
    f(x), f(x)
# %% differs: MXNet prints what went wrong, and goes on
class NoGrad(autograd.Function):
    def forward(self, x):
        return x * 2
with autograd.record():
    y = NoGrad()(x)
y.backward()
nd.waitall()  # MXNet's word comes late
# %%
autograd.backward([x * 2])
# %% differs: a gradient is that of what was computed, whatever backward is told
net = gluon.nn.BatchNorm()
net.initialize()
v = nd.array([[1.0, 2], [3, 5]])
v.attach_grad()
with autograd.record(train_mode=False):
    y = (net(v) * nd.array([[1.0, -1], [2, 0.5]])).sum()
y.backward()
v.grad
# %% a sum keeps an axis under np_shape
with mx.np_shape(True):
    shapes = [f(nd.ones((1, 1))).shape for f in (nd.sum, nd.norm, nd.argmax, nd.squeeze)]
shapes
# %% parts are assigned by their bounds
part = nd.ones((2, 2, 2))
part.slice_assign_scalar(5, (0, 0, None), (1, 1, None), (None, None, None))
part.slice_assign(nd.zeros((2, 1, 2)), (None, 1, None), (None, 2, None), (None, None, None)), part.writable
# %% differs: a head gradient must have the shape of its head
with autograd.record():
    y = x * 2
y.backward(nd.ones((2,)))
# %%
a = nd.random.normal(0, -1, (10, 2))
c = nd.dot(a, nd.ones((2, 2)))
try:
    c.asnumpy()
    print("no error")
except mx.MXNetError:
    print("MXNetError")
c.asnumpy().shape, a.asnumpy().shape
# %%
def flow():
    a = nd.random.uniform(0, 1, (10, 2))
    b = nd.random.normal(0, -1, (2, 10))
    nd.waitall()
try:
    flow()
except mx.MXNetError:
    print("once")
nd.waitall()
flow()
# %%
x = nd.ones(3)
x.attach_grad()
with autograd.record():
    b = nd.random.normal(0, -1, (3,))
    y = x * b
try:
    y.backward()
    x.grad.asnumpy()
    print("no error")
except mx.MXNetError:
    print("MXNetError")
nd.waitall()
# %%
def use():
    with mx.Context("cpu", 3):
        results.append(mx.current_context())
results = []
t = threading.Thread(target=use)
t.start()
t.join()
results, mx.current_context()
# %%
results = []
def train():
    results.append((autograd.is_recording(), autograd.is_training()))
with autograd.record():
    t = threading.Thread(target=train)
    t.start()
    t.join()
results
# %%
def work(i):
    v = nd.ones((10, 10)) * i
    for _ in range(20):
        v = nd.dot(v, nd.ones((10, 10)) / 10)
    sums[i] = v.sum().asscalar()
sums = {}
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
sorted(sums.items())
# %%
p = gluon.Parameter("weight", shape=(10, 10))
p.initialize(init="xavier", ctx=[mx.cpu(0), mx.cpu(1)])
len(p.list_data()), len(p.list_grad()), p.data(mx.cpu(1)).context, p.data(mx.cpu(0)).shape, p.list_ctx()
# %%
p.reset_ctx(ctx=[mx.cpu(1), mx.cpu(2)])
p.list_ctx()
# %%
p0 = gluon.Parameter("w", shape=(4,), allow_deferred_init=True)
p0.data()
# %%
p0.initialize()
p0.list_grad()[0].shape
# %%
gluon.Parameter("w", shape=(-1, 3), allow_deferred_init=True).shape
# %%
deferred = nn.Dense(3)
deferred.initialize()
try:
    deferred.weight.data()
except gluon.parameter.DeferredInitializationError as e:
    print("deferred", isinstance(e, mx.MXNetError))
try:
    nn.Dense(3).weight.data()
except gluon.parameter.DeferredInitializationError:
    print("wrong")
except RuntimeError:
    print("runtime")
# %%
net1 = nn.Dense(4, in_units=3, prefix="n_")
net2 = nn.Dense(4, in_units=3, prefix="n2_", params=net1.collect_params())
net1.initialize()
net2(nd.ones((1, 3))).shape, list(net2.collect_params().keys()), net1.weight is net2.weight
# %%
net1.save_parameters("n1.params")
net3 = nn.Dense(4, in_units=3, prefix="n3_")
net3.load_parameters("n1.params")
bool((net3.weight.data() == net1.weight.data()).min().asscalar())
# %%
class Net(gluon.Block):
    def __init__(self, in_units=0, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.dense0 = nn.Dense(5, in_units=in_units)
            self.dense1 = nn.Dense(5, in_units=in_units)
    def forward(self, x):
        return self.dense1(self.dense0(x))
n1 = Net(prefix="net1_", in_units=5)
n2 = Net(prefix="net2_", params=n1.collect_params())
n1.collect_params().initialize()
n2(nd.zeros((3, 5))).shape, list(n2.collect_params().keys())
# %%
n1.save_parameters("net1.params")
n3 = Net(prefix="net3_")
n3.load_parameters("net1.params", mx.cpu())
n4 = Net(prefix="net4_")
n5 = Net(prefix="net5_", in_units=5, params=n4.collect_params())
n4.collect_params().initialize()
n5(nd.zeros((3, 5))).shape
# %%
n1.cast("float16")
n1.save_parameters("half.params")
n6 = Net(prefix="net6_", in_units=5)
n6.load_parameters("half.params", cast_dtype=True)
n6.dense0.weight.dtype
# %%
n7 = Net(prefix="net7_", in_units=5)
n7.load_parameters("half.params", cast_dtype=True, dtype_source="saved")
n7.dense0.weight.dtype
# %%
Net(prefix="net8_", in_units=5).load_parameters("half.params")
# %%
seq = nn.HybridSequential()
for i in range(4):
    seq.add(nn.Dense(i + 1))
seq[1:3], len(seq[1:3]), seq[-1], type(seq[:2]).__name__
# %%
class Test(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.a = nn.Dense(2)
        self.a = nn.Dense(3)
t = Test()
len(t._children), t.a
# %%
t.b = gluon.Parameter("b", shape=(1,))
t.b = gluon.Parameter("b", shape=(1,))
# %%
l = nn.Dense(2, flatten=False, activation="relu", in_units=3)
l.initialize()
l(nd.ones((4, 5, 3))).shape, l(nd.ones((3,))).shape if False else None
# %%
for trainable in (True, False):
    bn = nn.BatchNorm(center=trainable, scale=trainable, in_channels=2)
    bn.initialize()
    print(sorted((p.name.split("_", 1)[1], p.grad_req) for p in bn.collect_params().values()))
# %%
net = nn.Sequential()
net.add(nn.Dense(2, in_units=2))
net.initialize(mx.init.One())
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0, "momentum": 0.5})
for _ in range(2):
    with autograd.record():
        net(nd.ones((1, 2))).sum().backward()
    trainer.step(1)
trainer.save_states("s.states")
trainer2 = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0, "momentum": 0.5})
trainer2.load_states("s.states")
with autograd.record():
    net(nd.ones((1, 2))).sum().backward()
trainer2.step(1)
net[0].weight.data(), net[0].bias.data()
# %%
x = gluon.Parameter("x", shape=(10,))
x.initialize(ctx=[mx.cpu(0), mx.cpu(1)], init="zeros")
trainer = gluon.Trainer([x], "sgd", {"learning_rate": 1.0, "momentum": 0.5})
with autograd.record():
    for w in x.list_data():
        y = w + 1
        y.backward()
trainer.step(1)
x.data(mx.cpu(1))
# %%
x.lr_mult = 0.5
with autograd.record():
    for w in x.list_data():
        y = w + 1
        y.backward()
trainer.step(1)
x.data(mx.cpu(1))
# %%
gluon.Trainer([x, x], "sgd")
# %%
gluon.Trainer({"x": x}, "sgd", {"learning_rate": 0.1}, kvstore=None).learning_rate
# %% differs: refused before anything is divided
trainer.step(0)
# %%
metric = mx.metric.Accuracy()
metric.update([nd.array([1, 1, 0])], [nd.array([1, 0, 0])])
metric.update([nd.array([1, 1, 0])], [nd.array([[0.1, 0.9], [0.9, 0.1], [0.8, 0.2]])])
metric.get(), metric.num_inst, metric.get_global()
# %%
metric.reset_local()
metric.get(), metric.get_global()
# %% differs: F1 is for two classes
mx.metric.F1().update([nd.array([0, 2])], [nd.array([[0.1, 0.9], [0.4, 0.6]])])
# %%
f1 = mx.metric.F1(average="macro")
f1.update([nd.array([0, 1, 1])], [nd.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])])
f1.update([nd.array([0, 0])], [nd.array([[0.9, 0.1], [0.4, 0.6]])])
f1.get()
# %%
mx.random.seed(42)
a = nd.random.normal(shape=(5,)).asnumpy()
mx.random.seed(42, ctx=mx.cpu(0))
b = nd.random.normal(shape=(5,)).asnumpy()
len(a), len(b)
# %%
mx.random.seed("a")
# %%
nd.concat(nd.ones((2, 3)), nd.zeros((2, 3)), dim=2)
# %%
nd.concat(dim=0)
# %%
nd.stack(nd.ones(2), nd.ones(3))
# %%
nd.Convolution(nd.ones((1, 1, 2, 2)), nd.ones((1, 1, 3, 3)), kernel=(3, 3), num_filter=1, no_bias=True)
# %%
nd.Convolution(nd.ones((1, 2, 4, 4)), nd.ones((1, 1, 3, 3)), kernel=(3, 3), num_filter=1, no_bias=True)
# %%
nd.Pooling(nd.ones((1, 1, 2, 2)), kernel=(3, 3), pool_type="max")
# %%
nd.transpose(nd.ones((2, 3)), axes=(0, 1, 2))
# %%
nd.softmax(nd.ones((2, 3)), axis=3)
# %%
nd.Embedding(nd.array([0]), nd.ones((2, 3)), input_dim=3, output_dim=3)
# %%
nd.clip(nd.ones(2))
# %%
nd.one_hot(nd.array([1]))
# %%
nd.sgd_update(nd.ones(2), nd.ones(2))
# %%
w = nd.ones(2)
nd.sgd_update(w, nd.ones(2), lr=0.1, out=w)
w
# %%
m = nd.zeros(2)
nd.sgd_mom_update(w, nd.ones(2), m, lr=0.1, momentum=0.9, out=w)
w, m
# %%
nd.adam_update(w, nd.ones(2), nd.zeros(2), nd.zeros(2), lr=0.1, out=w)
w
# %%
out = nd.zeros((2, 2))
r = nd.dot(nd.ones((2, 2)), nd.ones((2, 2)), out=out)
(r is out, out, nd.add(nd.ones(1), nd.ones(1)))
# %%
nd.broadcast_add(nd.ones((2, 2)), nd.ones((2, 2)), out=nd.zeros((3, 3)))
# %%
nd.exp(nd.ones(2), out=out)
# %%
x = nd.ones((2, 2))
nd.square(x, out=x)
nd.elemwise_add(x, x, out=x)
x
# %%
mx.nd.relu(nd.array([-1.0, 2])), mx.ndarray.relu(nd.array([-1.0, 2])), nd.Activation(nd.array([-1.0]), act_type="softsign"), nd.SwapAxis(nd.ones((2, 3)), dim1=0, dim2=1).shape, nd.Cast(nd.ones(1), dtype=np.int32), nd.Dropout(nd.ones(2), 0.3), nd.Flatten(data=nd.ones((2, 2, 2))).shape
# %%
nd.zeros_like(nd.ones((1, 2)), dtype="int32") if False else nd.zeros_like(data=nd.ones((1, 2)))
