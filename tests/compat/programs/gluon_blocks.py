"""Blocks, names and parameters, as the tutorials write them."""

import numpy as np
import mxnet as mx
from mxnet import autograd, gluon, init, nd
from mxnet.gluon import nn
# %%
net = nn.Sequential()
net.add(nn.Dense(256, activation="relu"))
net.add(nn.Dense(10))
net.initialize()
x = nd.random.uniform(shape=(2, 20))
net(x).shape
# %%
net
# %%
print(net[0], net[1].weight, len(net))
# %%
net.collect_params()
# %%
print(net[0].params)
print(net[1].params)
# %%
class MLP(nn.Block):
    def __init__(self, **kwargs):
        super(MLP, self).__init__(**kwargs)
        with self.name_scope():
            self.hidden = nn.Dense(256, activation="relu")
            self.output = nn.Dense(10)
    def forward(self, x):
        return self.output(self.hidden(x))

net = MLP()
net.initialize(ctx=mx.cpu())
(net(x).shape, net, net.name, net.prefix)
# %%
list(net.collect_params().keys()), net.collect_params()
# %%
net.hidden.weight.name, net.hidden.weight.shape, net.hidden.weight.data().shape, net.hidden.weight.grad().shape, net.output.bias.data()
# %%
net.params, net.hidden.params
# %%
net = nn.HybridSequential(prefix="mine_")
with net.name_scope():
    net.add(nn.Conv2D(channels=6, kernel_size=5, activation="relu"), nn.MaxPool2D(pool_size=2, strides=2), nn.Conv2D(16, (3, 3), padding=(1, 1), strides=2, use_bias=False), nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dropout(0.5), nn.Dense(10))
net.initialize(init.Xavier())
print(net)
net.hybridize()
net(nd.ones((1, 1, 28, 28))).shape
# %%
print(net)
net.collect_params()
# %%
for n, p in net.collect_params().items():
    print(n, p.shape, p.dtype, p.grad_req, p.lr_mult, p.wd_mult)
# %%
net.collect_params(".*weight"), net.collect_params("mine_dense0_.*")
# %%
layer = nn.Dense(4)
layer.weight.data()
# %%
layer.initialize()
layer.weight.data()
# %%
layer.weight.grad()
# %%
layer.weight.shape, layer.weight.list_ctx()
# %%
layer(nd.ones((2, 3))).shape, layer.weight.shape
# %%
layer(nd.ones((2, 5)))
# %%
layer.initialize(init.Zero())
layer(nd.ones((1, 3))).sum().asscalar() != 0
# %%
layer.initialize(init.Zero(), force_reinit=True)
layer(nd.ones((1, 3)))
# %%
layer.weight.set_data(nd.ones((4, 3)))
layer.weight.data()
# %%
layer.weight.initialize(init.Constant(2), force_reinit=True)
layer.weight.data()
# %%
layer.weight.set_data(nd.ones((4, 5)))
# %%
class CenteredLayer(nn.Block):
    def __init__(self, **kwargs):
        super(CenteredLayer, self).__init__(**kwargs)
    def forward(self, x):
        return x - x.mean()
CenteredLayer()(nd.array([1, 2, 3, 4, 5]))
# %%
class MyDense(nn.Block):
    def __init__(self, units, in_units, **kwargs):
        super(MyDense, self).__init__(**kwargs)
        self.weight = self.params.get("weight", shape=(in_units, units))
        self.bias = self.params.get("bias", shape=(units,))
    def forward(self, x):
        linear = nd.dot(x, self.weight.data()) + self.bias.data()
        return nd.relu(linear)
dense = MyDense(units=3, in_units=5)
dense.params
# %%
dense.initialize()
dense(nd.random.uniform(shape=(2, 5))).shape
# %%
dense.bias.data().shape, dense.weight.init, dense.prefix
# %%
class MyHybrid(gluon.HybridBlock):
    def __init__(self, units, in_units=0, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(units, in_units), allow_deferred_init=True, init=mx.init.One())
            self.scale = self.params.get_constant("scale", nd.array([2.0]))
    def hybrid_forward(self, F, x, weight, scale):
        return F.broadcast_mul(F.FullyConnected(x, weight, no_bias=True, num_hidden=3), scale)
block = MyHybrid(3)
block.initialize()
block(nd.ones((2, 4))), block.collect_params(), block
# %%
block.hybridize()
block(nd.ones((1, 4)))
# %%
block.scale.data(), block.scale.grad_req, repr(block.scale)
# %%
shared = nn.Dense(8, activation="relu")
net = nn.Sequential()
net.add(nn.Dense(8, activation="relu"), shared, nn.Dense(8, activation="relu", params=shared.params), nn.Dense(10))
net.initialize()
net(nd.random.uniform(shape=(2, 20)))
bool((net[1].weight.data()[0] == net[2].weight.data()[0]).min().asscalar()), net[1].weight is net[2].weight, len(list(net.collect_params()))
# %%
params = gluon.ParameterDict(prefix="block1_")
params.get("hidden_weight", shape=(100, 100))
params
# %%
params.get("hidden_weight") is params["block1_hidden_weight"], list(params), "block1_hidden_weight" in params
# %%
params.get("hidden_weight", shape=(5, 5))
# %% differs: no error of minimx is a KeyError
params["nothing"]
# %%
my_param = gluon.Parameter("exciting_parameter_yay", grad_req="write", shape=(5, 5))
my_param.initialize(mx.init.Xavier(magnitude=2.24), ctx=mx.cpu())
print(my_param)
my_param.data().shape, my_param.grad(), my_param.list_ctx(), my_param.list_data()[0].shape
# %%
my_param.data(mx.cpu(3))
# %%
my_param.reset_ctx([mx.cpu(1), mx.cpu(2)])
my_param.list_ctx(), my_param.data(mx.cpu(1)).context
# %%
my_param.data()
# %%
my_param.cast("float64")
my_param.data(mx.cpu(1)).dtype, my_param.dtype
# %%
my_param.grad_req = "null"
my_param.grad(mx.cpu(1))
# %%
my_param.grad_req = "other"
# %%
gluon.Parameter("w", shape=(0, 3)).initialize()
# %%
gluon.Parameter("w", shape=(2, 3)).data()
# %%
p = gluon.Parameter("w", shape=(2, 3), init=mx.init.Constant(3), lr_mult=2)
p.initialize()
(p.data(), p.lr_mult, p.name, p.shape, p.dtype, p.stype, p.var().name)
# %%
p.zero_grad()
p.grad()
# %%
c = gluon.Constant("const", nd.array([[1, 2], [3, 4]]))
c.initialize()
(c, c.data(), c.value)
# %%
class ConstNet(nn.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.random_weights = self.params.get_constant("random_weights", nd.ones((20, 20)))
        self.dense = nn.Dense(20)
    def forward(self, x):
        x = self.dense(x)
        x = nd.relu(nd.dot(x, self.random_weights.data()) + 1)
        x = self.dense(x)
        while x.norm().asscalar() > 1:
            x /= 2
        return x.sum()
net = ConstNet()
net.initialize()
(net(nd.ones((2, 20))).shape, net)
# %%
class NestMLP(nn.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.net = nn.Sequential()
        self.net.add(nn.Dense(64, activation="relu"), nn.Dense(32, activation="relu"))
        self.dense = nn.Dense(16, activation="relu")
    def forward(self, x):
        return self.dense(self.net(x))
chimera = nn.Sequential()
chimera.add(NestMLP(), nn.Dense(20))
chimera.initialize()
(chimera(nd.ones((2, 20))).shape, chimera, chimera[0].net[1].bias.data().shape)
# %%
[name for name in chimera.collect_params()]
# %% differs: the error says what is missing
class Broken(nn.Block):
    def __init__(self):
        self.dense = nn.Dense(3)
Broken()
# %%
class NoForward(nn.Block):
    pass
NoForward()(nd.ones(1))
# %%
nn.Block()(nd.ones(1))
# %% a block cannot become a number
class Assign(nn.Block):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3)
a = Assign()
a.dense = 3
# %%
a.dense = nn.Dense(5)
a
# %%
seq = nn.HybridSequential()
seq.add(nn.Sequential())
# %%
seq = nn.HybridSequential()
seq.add(nn.Dense(3), nn.HybridLambda(lambda F, x: F.relu(x)), nn.HybridLambda("tanh"))
seq.initialize()
(seq(nd.ones((1, 2))).shape, seq)
# %%
lam = nn.Lambda(lambda x: x * 2)
(lam(nd.ones(2)), lam, nn.Lambda("relu")(nd.array([-1, 1])))
# %%
seq[0:2], seq[-1], [type(b).__name__ for b in seq]
# %%
def init_weights(m):
    print(type(m).__name__)
net.apply(init_weights) is net
# %%
net = nn.Sequential(prefix="")
with net.name_scope():
    net.add(nn.Dense(3, prefix="fc_"))
list(net.collect_params())
# %% differs: running statistics move in the forward pass, as on MXNet's GPUs
bn = nn.BatchNorm()
bn.initialize()
x = nd.array([[1.0, 2], [3, 5]])
with autograd.record():
    y = bn(x)
y, bn.running_mean.data(), bn.running_var.data(), bn(x), bn.gamma.data(), bn.beta.data()
# %%
bn = nn.BatchNorm()
bn.initialize()
with autograd.record():
    y = bn(x)
y.backward()
y, bn.running_mean.data(), bn.running_var.data(), bn(x), bn.gamma.data(), bn.beta.data()
# %%
bn.collect_params()
# %%
def hook(block, inputs, output):
    print("after", type(block).__name__, inputs[0].shape, output.shape)
def pre(block, inputs):
    print("before", inputs[0].shape)
d = nn.Dense(2)
d.initialize()
h = d.register_forward_hook(hook)
d.register_forward_pre_hook(pre)
d(nd.ones((1, 3)))
h.detach()
d(nd.ones((1, 3))).shape
# %% differs: the words under the table
net = nn.HybridSequential(prefix="s_")
net.add(nn.Dense(4, activation="relu", prefix="a_"), nn.Dense(2, prefix="b_"))
net.initialize()
net.summary(nd.ones((1, 3)))
# %%
net.save_parameters("net.params")
other = nn.HybridSequential(prefix="t_")
other.add(nn.Dense(4, activation="relu", prefix="a_"), nn.Dense(2, prefix="b_"))
other.load_parameters("net.params")
bool((other[0].weight.data() == net[0].weight.data()).min().asscalar()), sorted(nd.load("net.params"))
# %%
wrong = nn.HybridSequential()
wrong.add(nn.Dense(5))
wrong.load_parameters("net.params")
# %%
wrong.load_parameters("net.params", ignore_extra=True)
# %%
small = nn.HybridSequential()
small.add(nn.Dense(4), nn.Dense(2), nn.Dense(1))
small.load_parameters("net.params")
# %%
small.load_parameters("net.params", allow_missing=True)
small[0].weight.shape
# %%
net.load_parameters("missing.params")
# %%
net.collect_params().save("dict.params", strip_prefix="s_")
net.collect_params().load("dict.params", ctx=mx.cpu(), restore_prefix="s_")
sorted(nd.load("dict.params"))
# %%
net.cast("float64")
net(nd.ones((1, 3), dtype="float64")).dtype
# %%
net.collect_params().setattr("grad_req", "null")
net[0].weight.grad_req
# %%
net.collect_params().zero_grad()
net.collect_params().reset_ctx(mx.cpu(1))
net[0].weight.list_ctx()
# %%
net.export("model")
# %%
gluon.SymbolBlock
# %%
list(gluon.nn.Sequential()._children), gluon.block.Block is gluon.Block, gluon.nn.Block is gluon.Block
# %%
nn.Dense(3, in_units=2), nn.Dense(3, activation="relu", use_bias=False), nn.Conv2D(3, 3, in_channels=2), nn.Conv2D(3, 3, 2, 1), nn.Conv2D(3, (3, 5), padding=(1, 2), use_bias=False, activation="tanh"), nn.Conv2D(3, 3, groups=3, in_channels=3, dilation=2), nn.Conv1D(2, 3, padding=1), nn.BatchNorm(in_channels=3), nn.BatchNorm(axis=-1, momentum=0.99, epsilon=0.001, center=False, scale=False), nn.LayerNorm(), nn.LayerNorm(in_channels=4, epsilon=1e-3), nn.Embedding(10, 4), nn.Dropout(0.3), nn.Dropout(0.3, axes=(1,))
# %%
nn.AvgPool2D(), nn.MaxPool2D((2, 2), ceil_mode=True), nn.MaxPool2D(pool_size=3, strides=2, padding=1), nn.GlobalMaxPool2D(), nn.GlobalAvgPool2D(), nn.MaxPool1D(), nn.AvgPool1D(3, 1, 1), nn.GlobalAvgPool1D(), nn.LeakyReLU(0.1), nn.PReLU(), nn.ELU(), nn.ELU(0.5), nn.SELU(), nn.GELU(), nn.Swish(), nn.Swish(2.0), nn.Activation("tanh"), nn.Flatten(), nn.HybridLambda("relu"), nn.Lambda("relu")
# %%
rng = np.random.RandomState(2)
for layer, shape in ((nn.Dense(3), (2, 4, 5)), (nn.Dense(3, flatten=False), (2, 4, 5)), (nn.Conv1D(2, 3), (1, 2, 8)), (nn.Conv2D(4, 3, 2, 1), (1, 2, 8, 8)), (nn.Conv2D(4, (1, 3), groups=2, activation="sigmoid"), (1, 2, 8, 8)), (nn.MaxPool2D(), (1, 1, 5, 5)), (nn.AvgPool2D(3, 2, 1), (1, 1, 6, 6)), (nn.AvgPool2D(3, 2, 1, count_include_pad=False), (1, 1, 6, 6)), (nn.MaxPool2D(2, 2, ceil_mode=True), (1, 1, 5, 5)), (nn.MaxPool1D(2), (1, 1, 5)), (nn.AvgPool1D(2, 1), (1, 1, 5)), (nn.GlobalMaxPool2D(), (2, 3, 4, 4)), (nn.GlobalAvgPool1D(), (2, 3, 4)), (nn.BatchNorm(), (2, 3, 4)), (nn.BatchNorm(axis=-1), (2, 3, 4)), (nn.LayerNorm(), (2, 3)), (nn.LayerNorm(axis=1), (2, 3, 2)), (nn.Embedding(4, 5), (2, 3)), (nn.PReLU(), (2, 3)), (nn.PReLU(in_channels=3), (2, 3)), (nn.LeakyReLU(0.3), (2, 3)), (nn.ELU(), (2, 3)), (nn.SELU(), (2, 3)), (nn.GELU(), (2, 3)), (nn.Swish(), (2, 3)), (nn.Flatten(), (2, 3, 4))):
    layer.initialize(init.One())
    x = nd.array(rng.normal(size=shape)) if not isinstance(layer, nn.Embedding) else nd.array(rng.randint(0, 4, shape))
    y = layer(x)
    print(type(layer).__name__, y.shape, float(y.sum().asscalar()), {n.split("_", 1)[1]: p.shape for n, p in layer.collect_params().items()})
# %%
class Hooked(nn.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.stats = nn.HybridSequential()
        self.stats.add(nn.Dense(2), nn.BatchNorm())
    def hybrid_forward(self, F, x):
        y = self.stats(x)
        return F.concat(F.softmax(y), F.log_softmax(y), F.zeros_like(y), F.ones_like(y), dim=1)
h = Hooked()
h.initialize(init.One())
h(nd.ones((2, 3))), h
# %%
print(nn.Sequential(), nn.HybridSequential(prefix="p_"), gluon.loss.L1Loss())
