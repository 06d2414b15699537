# %% set-up
import logging
import mxnet as mx
import numpy as np
def network():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="one")
    net = mx.sym.Activation(net, act_type="tanh", name="act")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=2, name="two"), name="softmax")
def bound(**kwargs):
    ex = network().simple_bind(mx.cpu(), data=(4, 2), **kwargs)
    for k, (name, array) in enumerate(sorted(ex.arg_dict.items())):
        array[:] = np.sin(np.arange(array.size) * 0.7 + k).reshape(array.shape)
    for name, array in ex.aux_dict.items():
        array[:] = 1.0
    ex.arg_dict["softmax_label"][:] = mx.nd.array([0, 1, 0, 1])
    return ex
def told(found):
    return [(step, name, text) for step, name, text in found]
def named(found):
    return [(step, name) for step, name, text in found]
# %% a monitor looks every few batches, and notes what came out and what went in
monitor, ex = mx.mon.Monitor(2), bound()
monitor.install(ex)
steps = []
for _ in range(4):
    monitor.tic()
    ex.forward(is_train=False)
    steps.append(told(monitor.toc()))
steps
# %% a pattern must match from the start of a name
monitor, ex = mx.mon.Monitor(1, pattern=".*weight|act"), bound()
monitor.install(ex)
monitor.tic()
ex.forward(is_train=False)
told(monitor.toc())
# %% sorted by name
monitor, ex = mx.mon.Monitor(1, sort=True), bound()
monitor.install(ex)
monitor.tic()
ex.forward(is_train=False)
named(monitor.toc())
# %% a statistic of one's own, and several
monitor, ex = mx.mon.Monitor(1, stat_func=lambda x: mx.nd.max(x), pattern="softmax"), bound()
monitor.install(ex)
monitor.tic()
ex.forward(is_train=False)
told(monitor.toc())
# %%
monitor, ex = mx.mon.Monitor(1, stat_func=lambda x: [x.min(), x.max()], pattern="one_output|two_bias"), bound()
monitor.install(ex)
monitor.tic()
ex.forward(is_train=False)
told(monitor.toc())
# %% a statistic that is an array
monitor, ex = mx.mon.Monitor(1, stat_func=lambda x: x.sum(axis=0), pattern="one_output"), bound()
monitor.install(ex)
monitor.tic()
ex.forward(is_train=False)
told(monitor.toc())
# %% monitor_all also shows what goes into operators
monitor, ex = mx.mon.Monitor(1, monitor_all=True, pattern="(one|act|two)_"), bound()
monitor.install(ex)
monitor.tic()
ex.forward(is_train=False)
named(monitor.toc())
# %% without tic nothing is noted, and toc twice gives nothing
monitor, ex = mx.mon.Monitor(1), bound()
monitor.install(ex)
ex.forward(is_train=False)
before = monitor.toc()
monitor.tic()
ex.forward(is_train=False)
before, len(monitor.toc()) > 0, monitor.toc()
# %% two executors
monitor, ex, other = mx.mon.Monitor(1, pattern="one_bias|act"), bound(), bound()
monitor.install(ex)
monitor.install(other)
monitor.tic()
ex.forward(is_train=False)
other.forward(is_train=False)
named(monitor.toc())
# %% a batch that is looked at twice
monitor, ex = mx.mon.Monitor(1, pattern="act"), bound()
monitor.install(ex)
monitor.tic()
ex.forward(is_train=False)
ex.forward(is_train=False)
named(monitor.toc())
# %% a callback without a Monitor
ex, seen = bound(), []
ex.set_monitor_callback(lambda name, array: seen.append(name if isinstance(name, str) else name.decode()))
ex.forward(is_train=False)
seen
# %% and with everything
ex, seen = bound(), []
ex.set_monitor_callback(lambda name, array: seen.append(name if isinstance(name, str) else name.decode()), monitor_all=True)
ex.forward(is_train=False)
seen
# %% toc_print goes to the log
lines = []
class Keep(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage().split())
logging.getLogger().addHandler(Keep())
logging.getLogger().setLevel(logging.INFO)
monitor, ex = mx.mon.Monitor(1, pattern="one_bias|act"), bound()
monitor.install(ex)
monitor.tic()
ex.forward(is_train=False)
monitor.toc_print()
lines
# %% in training
ex, seen = bound(), []
ex.set_monitor_callback(lambda name, array: seen.append(name if isinstance(name, str) else name.decode()))
ex.forward(is_train=True)
seen
# %% the backward pass, watched outputs only
ex, seen = bound(grad_req="write"), []
monitor = mx.mon.Monitor(1, pattern="(one|act|two|softmax)_output")
monitor.install(ex)
monitor.tic()
ex.forward(is_train=True)
told(monitor.toc())
# %% states are looked at as well
def normed():
    net = mx.sym.BatchNorm(mx.sym.var("data"), fix_gamma=False, name="norm")
    ex = net.simple_bind(mx.cpu(), data=(4, 2))
    ex.arg_dict["data"][:] = mx.nd.arange(8).reshape((4, 2))
    ex.arg_dict["norm_gamma"][:] = 1
    ex.aux_dict["norm_moving_var"][:] = 1
    return ex
monitor, ex = mx.mon.Monitor(1, pattern="norm_(moving|gamma|output)"), normed()
monitor.install(ex)
monitor.tic()
ex.forward(is_train=False)
told(monitor.toc())
# %% mean and deviation inside a BatchNorm are shown
ex, seen = normed(), []
ex.set_monitor_callback(lambda name, array: seen.append(name if isinstance(name, str) else name.decode()))
ex.forward(is_train=False)
seen
# %% a module with a monitor: forward
X, Y = np.sin(np.arange(16)).reshape(8, 2).astype("float32"), np.arange(8) % 2
it = mx.io.NDArrayIter(X, Y, 4, label_name="softmax_label")
mod = mx.mod.Module(network())
mod.bind(it.provide_data, it.provide_label)
mod.init_params(mx.init.One())
monitor = mx.mon.Monitor(1, pattern=".*output|.*weight")
mod.install_monitor(monitor)
monitor.tic()
mod.forward(next(it), is_train=False)
told(monitor.toc())
# %% fit with a monitor
def fitted(pattern):
    it.reset()
    mod = mx.mod.Module(network())
    lines.clear()
    mod.fit(it, num_epoch=1, monitor=mx.mon.Monitor(2, pattern=pattern),
            initializer=mx.init.One(), optimizer_params={"learning_rate": 0.1})
    return [line[:3] for line in lines if line and line[0] == "Batch:"]
fitted("two_bias|act_output")
# %% and what operators of the backward pass compute
fitted("act_")
# %% the backward pass of a network of layers
def filled(net, **given):
    reqs = given.pop("grad_req", "write")
    ex = net.simple_bind(mx.cpu(), grad_req=reqs, **given)
    for k, (name, array) in enumerate(sorted(ex.arg_dict.items())):
        array[:] = np.sin(np.arange(array.size) * 0.7 + k).reshape(array.shape)
        if reqs == "add":
            ex.grad_dict[name][:] = 10
    for name in ex.arg_dict:
        if name.endswith("label"):
            ex.arg_dict[name][:] = 1
    for array in ex.aux_dict.values():
        array[:] = 1
    return ex
def watched(ex, heads=None, steps=1, train=True, interval=1, **kwargs):
    monitor, found = mx.mon.Monitor(interval, stat_func=lambda x: x + 0, **kwargs), []
    monitor.install(ex)
    for _ in range(steps):
        monitor.tic()
        ex.forward(is_train=train)
        ex.backward(heads)
        found.append(told(monitor.toc()))
    return found
def ones(*shapes):
    return [mx.nd.ones(shape) for shape in shapes]
def only_names(found):
    return [[name for _, name, _ in step] for step in found]
watched(filled(network(), data=(4, 2)))
# %% every second batch
watched(filled(network(), data=(4, 2)), steps=3, interval=2, pattern="(act|two)_backward")
# %% gradients that are added up
watched(filled(network(), data=(4, 2), grad_req="add"), pattern="(one|two|act)_backward", steps=2)
# %% inputs without gradient
some = {"data": "null", "one_weight": "null", "one_bias": "null", "softmax_label": "null", "two_weight": "write", "two_bias": "null"}
only_names(watched(filled(network(), data=(4, 2), grad_req=some)))
# %%
some = dict(some, one_bias="write", two_weight="null")
only_names(watched(filled(network(), data=(4, 2), grad_req=some)))
# %% the backward pass of a forward pass in prediction
watched(filled(network(), data=(4, 2)), train=False, pattern=".*backward")
# %% a convolutional network
def convolutional(pool_type):
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=2, pad=(1, 1), name="conv")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, fix_gamma=False, name="norm"), act_type="tanh", name="act")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type=pool_type, name="pool")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net, name="flat"), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")
watched(filled(convolutional("avg"), data=(2, 1, 4, 4)), pattern="(?!.*(act_output|conv_output|moving))")
# %% differs: the largest of a window is found without a workspace
only_names(watched(filled(convolutional("max"), data=(2, 1, 4, 4))))
# %% an input that is used twice
a, b = mx.sym.var("a"), mx.sym.var("b")
twice = mx.sym.elemwise_add(mx.sym.tanh(a, name="t"), mx.sym.elemwise_mul(a, b, name="m"), name="s")
watched(filled(mx.sym.sum(twice, name="all"), a=(2, 3), b=(2, 3)), ones(1))
# %%
watched(filled(mx.sym.sum(twice, name="all"), a=(2, 3), b=(2, 3), grad_req="add"), ones(1))
# %% outputs of which one is used inside
h = mx.sym.exp(a, name="h")
inside = mx.sym.Group([mx.sym.sin(h, name="x"), h, mx.sym.elemwise_add(mx.sym.cos(h, name="y"), mx.sym.square(h, name="z"), name="w")])
watched(filled(inside, a=(2,)), ones(2, 2, 2))
# %% the same twice, at once
t = mx.sym.tanh(a, name="t")
watched(filled(mx.sym.elemwise_mul(t, t, name="tt"), a=(2,)), ones(2))
# %%
watched(filled(mx.sym.elemwise_add(a, a, name="aa"), a=(2,)), ones(2))
# %% a gradient that two variables get
both = mx.sym.elemwise_add(mx.sym.elemwise_add(a, b, name="ab"), mx.sym.var("c"), name="abc")
watched(filled(both, a=(2,), b=(2,), c=(2,)), ones(2))
# %%
watched(filled(mx.sym.elemwise_mul(mx.sym.var("c"), mx.sym.elemwise_add(a, b, name="ab"), name="m"), a=(2,), b=(2,), c=(2,)), ones(2))
# %%
q = mx.sym.elemwise_add(a, b, name="q")
watched(filled(mx.sym.elemwise_add(mx.sym.sin(q, name="s"), q, name="x"), a=(2,), b=(2,)), ones(2))
# %% differs: with grad_req="add" the second of them is not added to the first
watched(filled(mx.sym.tanh(mx.sym.elemwise_add(a, b, name="ab"), name="t"), a=(2,), b=(2,), grad_req="add"), ones(2))
# %% many gradients that meet: they are added one by one
many = h
for k in range(9):
    many = mx.sym.elemwise_mul(many, mx.sym.sin(h + k, name="s%d" % k), name="p%d" % k)
only_names(watched(filled(many, a=(2,)), ones(2)))
# %%
many = h
for k in range(8):
    many = mx.sym.elemwise_add(many, h, name="p%d" % k)
watched(filled(many, a=(2,)), ones(2))
# %% two towers
x = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fx")
y = mx.sym.FullyConnected(mx.sym.var("y"), num_hidden=2, name="fy")
towers = mx.sym.Concat(mx.sym.tanh(x, name="tx"), mx.sym.tanh(y, name="ty"), name="cat")
watched(filled(mx.sym.SoftmaxOutput(towers, name="softmax"), x=(2, 2), y=(2, 2)), pattern=".*backward")
# %% a way around
x = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="f0")
y = mx.sym.FullyConnected(mx.sym.tanh(mx.sym.FullyConnected(x, num_hidden=3, name="f1"), name="t1"), num_hidden=3, name="f2")
watched(filled(mx.sym.LinearRegressionOutput(y + x, name="lro"), x=(2, 2)), pattern=".*(backward|grad)")
# %% an output that nobody uses
parts = mx.sym.SliceChannel(a, num_outputs=2, name="sc")
watched(filled(mx.sym.tanh(parts[1], name="t"), a=(2, 2)), ones((2, 1)), pattern=".*(backward|zeros|grad)")
# %% gradients that are stopped
stopped = mx.sym.BlockGrad(mx.sym.elemwise_mul(mx.sym.tanh(a, name="t"), a, name="m"), name="stop")
watched(filled(mx.sym.elemwise_mul(stopped, b, name="mul"), a=(2,), b=(2,)), ones(2))
# %%
watched(filled(mx.sym.broadcast_greater(mx.sym.tanh(a, name="t"), b, name="gt") * mx.sym.sin(a, name="u"), a=(2,), b=(2,)), ones(2))
# %% operators with a gradient for each input
chosen = mx.sym.where(mx.sym.broadcast_greater(a, b, name="gt"), mx.sym.add_n(a, b, a, name="an"), mx.sym.reshape_like(b, a, name="like"), name="where")
watched(filled(mx.sym.MakeLoss(mx.sym.batch_dot(chosen, mx.sym.SwapAxis(chosen, dim1=1, dim2=2, name="swap"), name="dot"), name="loss"), a=(1, 2, 2), b=(1, 2, 2)))
# %% without a gradient anywhere, and without a backward pass
ex, seen = filled(inside, a=(2,), grad_req="null"), []
ex.set_monitor_callback(lambda name, array: seen.append(name if isinstance(name, str) else name.decode()))
ex.forward(is_train=True)
seen
# %% normalizations show what they normalize by
net = mx.sym.GroupNorm(mx.sym.LayerNorm(mx.sym.var("data"), name="layer"), num_groups=2, name="group")
watched(filled(net, data=(2, 4, 2)), ones((2, 4, 2)))
# %% differs: what goes into operators of the backward pass is not shown
only_names(watched(filled(network(), data=(4, 2)), monitor_all=True))
# %% a hybridized block: callbacks by operator
net = mx.gluon.nn.HybridSequential(prefix="net_")
with net.name_scope():
    net.add(mx.gluon.nn.Dense(3, activation="relu"), mx.gluon.nn.Dense(2))
net.initialize(mx.init.One())
net.hybridize()
net(mx.nd.ones((2, 4)))
seen = []
net.register_op_hook(lambda name, op, array: seen.append(name if isinstance(name, str) else name.decode()))
net(mx.nd.ones((2, 4)))
seen
# %% in training also what layers keep for the gradients
def hooked(*layers, **kwargs):
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(*layers)
    net.initialize(mx.init.One())
    net.hybridize()
    net(mx.nd.ones((2, 4, 2)))
    seen = []
    net.register_op_hook(lambda name, op, array: seen.append([x if isinstance(x, str) else x.decode() for x in (name, op)]), **kwargs)
    return net, seen
def normalizing():
    nn = mx.gluon.nn
    return nn.BatchNorm(), nn.LayerNorm(), nn.GroupNorm(2), nn.Activation("relu")
net, seen = hooked(*normalizing())
with mx.autograd.record():
    net(mx.nd.ones((2, 4, 2)))
mx.nd.waitall()
seen
# %%
net, seen = hooked(*normalizing(), monitor_all=True)
with mx.autograd.record(train_mode=False):
    net(mx.nd.ones((2, 4, 2)))
mx.nd.waitall()
seen
# %% but not in prediction
net, seen = hooked(*normalizing())
net(mx.nd.ones((2, 4, 2)))
with mx.autograd.train_mode():
    net(mx.nd.ones((2, 4, 2)))
mx.nd.waitall()
seen
# %% nor of blocks that are no graphs
net, seen = hooked(*normalizing())
net.hybridize(False)
net(mx.nd.ones((2, 4, 2)))
seen
# %% differs: the backward pass of a block is not shown
net, seen = hooked(*normalizing())
x = mx.nd.ones((2, 4, 2))
with mx.autograd.record():
    y = net(x)
y.backward()
mx.nd.waitall()
seen
