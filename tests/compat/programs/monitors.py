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
# %% differs: what operators of the backward pass compute is not shown
fitted("act_")
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
