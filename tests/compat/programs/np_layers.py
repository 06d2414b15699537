"""Gluon under set_np: layers, losses, metrics, optimizers, files, cells."""

import numpy as onp
import mxnet as mx
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn, rnn
npx.set_np()
def ramp(*shape):
    n = int(onp.prod(shape))
    return np.array(onp.sin(onp.arange(1.0, n + 1)).reshape(shape), dtype="float32")
def spread(block):
    for i, p in enumerate(block.collect_params().values()):
        values = onp.cos(onp.arange(1.0, onp.prod(p.shape) + 1) + i).reshape(p.shape) / 2
        if not p.name.endswith(("var", "mean")):
            p.set_data(np.array(values, dtype="float32"))
def run(block, *inputs):
    block.initialize()
    block(*inputs)
    spread(block)
    for x in inputs:
        x.attach_grad()
    with autograd.record():
        y = block(*inputs)
        total = (y * y).sum()
    total.backward()
    print(y, [x.grad for x in inputs])
    print([p.grad().sum() if p.grad_req != "null" else p.data() for p in block.collect_params().values()])
# %%
run(nn.Dense(3), ramp(2, 4))
# %%
run(nn.Dense(2, flatten=False, use_bias=False, activation="tanh"), ramp(2, 3, 2))
# %%
run(nn.Dense(2), ramp(2, 3, 2))
# %%
run(nn.Conv1D(2, 3, padding=1), ramp(1, 2, 5))
# %%
run(nn.Conv2D(2, (2, 3), strides=2, groups=2, activation="relu"), ramp(1, 2, 5, 5))
# %%
run(nn.Conv3D(1, 2, use_bias=False), ramp(1, 1, 3, 3, 3))
# %%
run(nn.Conv1DTranspose(2, 3, strides=2, output_padding=1), ramp(1, 1, 3))
# %%
run(nn.Conv2DTranspose(1, 2, strides=2), ramp(1, 2, 2, 2))
# %%
for pool in (nn.MaxPool1D(2), nn.AvgPool1D(2, padding=1), nn.GlobalMaxPool1D(), nn.GlobalAvgPool1D()):
    run(pool, ramp(1, 2, 6))
# %%
for pool in (nn.MaxPool2D(2, 1), nn.AvgPool2D(3, 2, 1, count_include_pad=False), nn.GlobalMaxPool2D(), nn.GlobalAvgPool2D(), nn.MaxPool2D(2, ceil_mode=True)):
    run(pool, ramp(1, 1, 5, 5))
# %%
for pool in (nn.MaxPool3D(2), nn.AvgPool3D(2), nn.GlobalAvgPool3D()):
    print(pool(ramp(1, 1, 2, 2, 2)))
# %%
bn = nn.BatchNorm()
run(bn, ramp(4, 3))
bn.running_mean.data(), bn.running_var.data(), bn(ramp(4, 3))
# %%
run(nn.BatchNorm(scale=False, center=False, epsilon=1e-3, momentum=0.5), ramp(2, 2, 3, 3))
# %%
run(nn.BatchNorm(axis=-1, use_global_stats=True), ramp(3, 2))
# %%
run(nn.LayerNorm(), ramp(2, 4))
# %%
run(nn.LayerNorm(axis=1, scale=False), ramp(2, 4))
# %%
run(nn.BatchNorm(epsilon=1e-3, momentum=0.5), ramp(2, 2, 3, 3))
# %%
for act in ("relu", "sigmoid", "tanh", "softrelu", "softsign"):
    run(nn.Activation(act), ramp(4))
# %%
for layer in (nn.LeakyReLU(0.1), nn.ELU(0.5), nn.SELU(), nn.Swish(), nn.GELU()):
    run(layer, np.array([0.5, 1.5, 2.5]))
# %%
run(nn.PReLU(), ramp(2, 3))
# %%
run(nn.Flatten(), ramp(2, 2, 2))
# %%
emb = nn.Embedding(5, 3)
emb.initialize()
spread(emb)
with autograd.record():
    y = emb(np.array([[0, 2], [2, 4]]))
    y.sum().backward()
y, emb.weight.grad()
# %%
drop = nn.Dropout(0.5)
with autograd.record():
    y = drop(np.ones((100,)))
drop(np.ones(3)), set(onp.round(y.asnumpy(), 3).tolist()) == {0.0, 2.0}, nn.Dropout(0)(np.ones(2))
# %%
nn.Lambda(lambda x: x + 1)(np.ones(2)), nn.HybridLambda(lambda F, x: F.np.tanh(x))(np.array([0.5]))
# %%
net = nn.HybridSequential()
net.add(nn.Dense(4, activation="relu"), nn.Dropout(0.1), nn.BatchNorm(), nn.Dense(2))
net
# %%
net.initialize(init.Constant(0.1))
net(np.ones((2, 3)))
# %%
net.hybridize()
net(np.ones((2, 3))), net(np.ones((4, 3))).shape
# %%
len(net), net[0], net[1:3], [type(layer).__name__ for layer in net]
# %%
[(p.shape, p.dtype, p.grad_req, type(p.data()).__name__) for p in net.collect_params().values()]
# %%
[k.split("_", 1)[1] for k in net.collect_params(".*weight").keys()]
# %%
net.save_parameters("net.params")
other = nn.HybridSequential()
other.add(nn.Dense(4, activation="relu"), nn.Dropout(0.1), nn.BatchNorm(), nn.Dense(2))
other.load_parameters("net.params")
other(np.ones((2, 3)))
# %%
sorted(npx.load("net.params").keys())
# %%
other[0].weight.set_data(np.zeros((4, 3)))
other(np.ones((1, 3))), other[0].weight.data().sum(), other[0].weight.list_ctx()
# %%
nn.Dense(2)(np.ones((1, 2)))
# %%
net.add(nn.Dense(2, in_units=9))
net.initialize()
net(np.ones((2, 3)))
# %%
class Residual(nn.HybridBlock):
    def __init__(self, channels, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.conv = nn.Conv2D(channels, 3, padding=1)
            self.scale = self.params.get("scale", shape=(1, channels, 1, 1), init=init.One())
    def hybrid_forward(self, F, x, scale):
        return F.npx.relu(x + self.conv(x) * scale)
block = Residual(2)
run(block, ramp(1, 2, 3, 3))
# %%
block.hybridize()
run(block, ramp(1, 2, 3, 3))
# %%
class Pieces(nn.HybridBlock):
    def hybrid_forward(self, F, x):
        a, b = F.np.split(x, 2, axis=1)
        return F.np.concatenate([F.np.exp(a), F.np.sum(b, axis=1, keepdims=True)], axis=1), F.npx.softmax(x)
pieces = Pieces()
before = pieces(ramp(2, 4))
pieces.hybridize()
before, tuple(pieces(ramp(2, 4)))
# %%
class Plain(nn.Block):
    def forward(self, x, mask=None):
        y = x * 2 if mask is None else np.where(mask, x, 0)
        return {"out": y}["out"]
Plain()(np.ones(2)), Plain()(np.ones(2), np.array([True, False]))
# %% losses
pred, label = ramp(2, 3), np.array([[1.0, 0, 1], [0, 1, 0]])
for loss in (gluon.loss.L2Loss(), gluon.loss.L1Loss(), gluon.loss.SigmoidBinaryCrossEntropyLoss(), gluon.loss.L2Loss(weight=2)):
    pred.attach_grad()
    with autograd.record():
        l = loss(pred, label)
    l.backward()
    print(loss.name.rstrip("0123456789_"), l, pred.grad)
# %%
sce = gluon.loss.SoftmaxCrossEntropyLoss()
with autograd.record():
    l = sce(pred, np.array([2, 0]))
l.backward()
l, pred.grad, gluon.loss.SoftmaxCELoss(sparse_label=False)(pred, label), gluon.loss.SoftmaxCELoss(axis=0)(pred, np.array([0, 1, 1]))
# %%
gluon.loss.L2Loss(weight=3)(pred, label), gluon.loss.L1Loss()(pred, label, np.array([[1.0], [0.0]])), gluon.loss.SigmoidBCELoss(from_sigmoid=True)(npx.sigmoid(pred), label)
# %%
gluon.loss.L1Loss()(np.array(onp.ones((2, 2))), np.zeros((2, 2)), np.array([[1.0], [0.5]])), gluon.loss.L2Loss()
# %% metrics
def scored(metric, labels, preds):
    metric.update(labels, preds)
    print(metric.get())
labels, preds = [np.array([1.0, 2.0, 3.0])], [np.array([1.5, 2.0, 2.0])]
for name in ("mae", "mse", "rmse", "pearsonr"):
    scored(mx.metric.create(name), labels, preds)
# %% initializers
for each in (init.Zero(), init.One(), init.Constant(2.5), init.Constant(np.array([[1.0, 2], [3, 4]]))):
    layer = nn.Dense(2, in_units=2, weight_initializer=each)
    layer.initialize()
    print(layer.weight.data(), layer.bias.data())
# %%
for each in (init.Uniform(0.1), init.Normal(0.01), init.Xavier(), init.Xavier("gaussian", "in", 2), init.MSRAPrelu(), init.Orthogonal(), "xavier", "normal"):
    layer = nn.Dense(20, in_units=30, weight_initializer=each)
    layer.initialize()
    w = layer.weight.data()
    print(w.shape, w.dtype, float(np.abs(w).max()) < 2, float(w.std()) > 0.001)
# %%
@init.register
class Steps(init.Initializer):
    def _init_weight(self, name, data):
        data[:] = np.arange(data.size).reshape(data.shape)
layer = nn.Dense(2, in_units=3)
layer.initialize(Steps())
layer.weight.data(), layer.bias.data()
# %%
layer.initialize(init.One(), force_reinit=True)
layer.weight.data()
# %% optimizers
def trained(name, steps=3, **settings):
    net = nn.Dense(2, in_units=3)
    net.initialize(init.Constant(0.2))
    trainer = gluon.Trainer(net.collect_params(), name, settings)
    for step in range(steps):
        with autograd.record():
            l = ((net(ramp(4, 3)) - ramp(4, 2)) ** 2).sum(axis=1)
        l.backward()
        trainer.step(4)
    print(name, settings, net.weight.data(), net.bias.data())
trained("sgd", learning_rate=0.1)
trained("sgd", learning_rate=0.1, momentum=0.9, wd=0.01)
trained("nag", learning_rate=0.1, momentum=0.9)
# %%
for name in ("adam", "rmsprop", "adagrad", "adadelta", "adamax", "nadam", "ftrl", "signum", "ftml", "lamb"):
    trained(name)
# %%
trained("sgd", learning_rate=0.5, clip_gradient=0.1)
trained("rmsprop", centered=True)
trained("sgd", lr_scheduler=mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.4))
# %%
net = nn.Dense(1, in_units=2)
net.initialize(init.One())
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.9})
for i in range(2):
    with autograd.record():
        l = net(np.ones((1, 2))).sum()
    l.backward()
    trainer.step(1)
trainer.save_states("states")
trainer.load_states("states")
trainer.set_learning_rate(0.1)
trainer.learning_rate, net.weight.data(), net.bias.data()
# %%
with autograd.record():
    l = net(np.ones((1, 2))).sum()
l.backward()
trainer.allreduce_grads()
print([p.list_grad()[0] for p in net.collect_params().values()])
trainer.update(1)
net.weight.data()
# %%
trainer.step(1)
# %%
trainer.step(1, ignore_stale_grad=True)
net.weight.data()
# %%
gluon.utils.split_data(np.arange(6).reshape(3, 2), 3), gluon.utils.split_and_load(np.arange(4), [mx.cpu(0), mx.cpu(1)])[1].ctx
# %% data
data = gluon.data.ArrayDataset(np.arange(10).reshape(5, 2), onp.arange(5))
data[1], len(data), type(data[1][0]).__name__
# %%
for X, y in gluon.data.DataLoader(data, 2, last_batch="keep"):
    print(type(X).__name__, type(y).__name__, X.shape, y.dtype, X, y)
# %%
loader = gluon.data.DataLoader(data.transform_first(lambda x: x * 2), 2, last_batch="discard", shuffle=False)
len(loader), [b[0] for b in loader]
# %%
gluon.data.SimpleDataset([1, 2, 3]).transform(lambda v: v + 1)[2], [b for b in gluon.data.DataLoader(gluon.data.SimpleDataset([1, 2, 3]), 3)], gluon.data.ArrayDataset(np.arange(3))[1]
# %%
from mxnet.gluon.data.vision import transforms
image = np.array(onp.arange(48).reshape(4, 4, 3), dtype="uint8")
to = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.5, 0.25)])
out = to(image)
type(out).__name__, out.shape, out.dtype, out[:, 0, 0]
# %%
transforms.Resize(2)(image).shape, transforms.CenterCrop(2)(image)[0, 0], transforms.Cast("float32")(image).dtype
# %% recurrent layers
for layer in (rnn.RNN(3), rnn.RNN(3, activation="tanh", num_layers=2), rnn.LSTM(2, bidirectional=True), rnn.GRU(2, layout="NTC")):
    run(layer, ramp(2, 2, 3))
# %%
lstm = rnn.LSTM(2, input_size=3)
lstm.initialize(init.Constant(0.1))
out, states = lstm(ramp(2, 1, 3), lstm.begin_state(1))
out, states, lstm, [p.shape for p in lstm.collect_params().values()]
# %%
gru = rnn.GRU(2, 2, input_size=3, bidirectional=True)
gru.initialize(init.Constant(0.1))
out, states = gru(ramp(2, 1, 3), gru.begin_state(1))
out, states[0].shape, gru(ramp(2, 1, 3)).shape, [i["shape"] for i in gru.state_info(4)]
# %% attention
class Attention(nn.Block):
    def __init__(self, units, heads, **kwargs):
        super().__init__(**kwargs)
        self.heads = heads
        self.q, self.k, self.v, self.o = [nn.Dense(units, use_bias=False, flatten=False) for _ in range(4)]
    def split(self, x):
        x = x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(0, 2, 1, 3)
        return x.reshape(-1, x.shape[2], x.shape[3])
    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = npx.batch_dot(q, k, transpose_b=True) / onp.sqrt(q.shape[-1])
        y = npx.batch_dot(npx.softmax(scores), v).reshape(x.shape[0], self.heads, x.shape[1], -1)
        y = y.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[1], -1)
        return self.o(y)
run(Attention(4, 2), ramp(2, 3, 4))
# %% parameters
p = gluon.Parameter("weight", shape=(2, 2), init=init.One())
p.initialize()
p, p.data(), p.grad(), type(p.data()).__name__, p.list_data()
# %%
p.set_data(np.array([[1.0, 2], [3, 4]]))
p.cast("float64")
p.data().dtype, p.grad()
# %%
p.set_data(np.ones((3, 3)))
# %%
c = gluon.Constant("c", np.array([1.0, 2]))
c.initialize()
c, c.data(), c.grad_req
# %%
params = gluon.ParameterDict("net_")
params.get("weight", shape=(2, 3))
params.get_constant("steps", np.array([1.0, 2]))
params.initialize(init.One())
params, list(params.keys()), params["net_weight"].data()
# %%
"net_weight" in params, params.prefix, params.get("weight") is params["net_weight"], [v.name for v in params.values()]
# %%
net = nn.Sequential()
net.add(nn.Dense(2, in_units=2), nn.Sequential())
net[1].add(nn.BatchNorm(in_channels=2))
net.initialize(init.One())
sorted(net._collect_params_with_prefix()), net.collect_params().setattr("grad_req", "null"), net[0].weight.grad_req
# %%
net.cast("float64")
net(np.ones((1, 2), dtype="float64")).dtype, net[0].weight.dtype
# %%
net.apply(lambda b: print(type(b).__name__))
# %%
hook = net.register_forward_hook(lambda block, x, y: print("seen", y.shape))
net(np.ones((1, 2), dtype="float64"))
hook.detach()
net(np.ones((1, 2), dtype="float64")).shape
# %%
net = nn.HybridSequential()
net.add(nn.Conv2D(2, 3), nn.MaxPool2D(), nn.Flatten(), nn.Dense(2))
net.initialize()
net.infer_shape(np.ones((1, 1, 8, 8)))
[p.shape for p in net.collect_params().values()]
# %%
net.reset_ctx(mx.cpu(1)) if hasattr(net, "reset_ctx") else net.collect_params().reset_ctx(mx.cpu(1))
net(np.ones((1, 1, 8, 8), ctx=mx.cpu(1))).ctx
# %% differs: MXNet tells the channels the wrong way round
nn.Conv2DTranspose(3, 2, in_channels=4)
# %%
for layer in (nn.Conv2D(3, 2, in_channels=1), nn.Conv2D(3, 2), nn.MaxPool2D(2), nn.GlobalAvgPool2D(), nn.Dense(3, in_units=2, activation="relu"), nn.Dropout(0.5), nn.BatchNorm(in_channels=2), nn.LayerNorm(), nn.GroupNorm(), nn.InstanceNorm(), nn.Embedding(3, 2), nn.Flatten(), nn.Activation("relu"), nn.LeakyReLU(0.1), nn.HybridLambda("tanh"), rnn.GRU(3, 2), rnn.LSTMCell(3), gluon.loss.L1Loss()):
    print(layer)
# %%
for layer in (nn.Dense(2), nn.Conv1D(2, 3), rnn.RNN(2), nn.BatchNorm(), nn.LayerNorm()):
    print([(p.shape, str(p).split(" (")[1]) for p in layer.collect_params().values()])
# %%
gluon.Parameter("w", shape=(2, 0)).shape, gluon.Parameter("w", shape=(2, -1)).shape, gluon.Parameter("w", shape=(2, -1), allow_deferred_init=True)
# %%
losses = gluon.loss.SoftmaxCrossEntropyLoss(from_logits=True)
losses(npx.log_softmax(ramp(2, 3)), np.array([0, 1])), losses(npx.log_softmax(ramp(2, 3)), np.array([0, 1]), np.array([[1.0], [0.0]]))
# %%
pool = nn.MaxPool2D((2, 1), (1, 2))
pool, pool(ramp(1, 1, 3, 4)), nn.Conv2D(1, 2, dilation=2, padding=(1, 0))
# %%
both = nn.HybridConcurrent(axis=1) if hasattr(nn, "HybridConcurrent") else gluon.contrib.nn.HybridConcurrent(axis=1)
both.add(nn.Activation("relu"), nn.Activation("tanh"))
len(both)
# %%
for each in ("l2", "l1"):
    loss = gluon.loss.L2Loss() if each == "l2" else gluon.loss.L1Loss()
    w = np.array([1.0, 2.0])
    w.attach_grad()
    with autograd.record():
        l = loss(np.dot(ramp(3, 2), w), ramp(3)).mean()
    l.backward()
    print(loss, l, w.grad)
# %%
net = nn.HybridSequential()
net.add(nn.Dense(3, activation="relu"), nn.Dense(1))
net.initialize(init.Constant(0.3))
net.hybridize(static_alloc=True)
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
for epoch in range(3):
    total = 0.0
    for X, y in gluon.data.DataLoader(gluon.data.ArrayDataset(ramp(8, 2), ramp(8)), 4):
        with autograd.record():
            l = gluon.loss.L2Loss()(net(X), y)
        l.backward()
        trainer.step(X.shape[0])
        total += float(l.sum())
    print(epoch, round(total, 4))
# %%
[p.grad().shape for p in net.collect_params().values()]
# %%
nn.Dense(3)(ramp(2))
# %%
nn.Conv2D(3, 2)(ramp(2, 2))
# %%
gluon.Trainer(net, "sgd")
# %%
gluon.Trainer(net.collect_params(), "none of these")
# %%
x = ramp(3, 2)
x.attach_grad()
with autograd.record():
    y = np.log(npx.softmax(x)).sum()
y.backward()
y, x.grad
# %%
with autograd.record(train_mode=False):
    kept = nn.Dropout(0.9)(np.ones(3))
with autograd.train_mode():
    dropped = nn.Dropout(0.9)(np.ones(200))
kept, float(dropped.sum()) < 1000, autograd.is_training()
