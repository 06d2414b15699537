# %% set-up
import mxnet as mx
import numpy as np
from mxnet import gluon
from mxnet.contrib import quantization as q
q.stats = True  # it wants scipy for a threshold, and does not use it
rng = np.random.RandomState(0)
x = mx.nd.array(rng.uniform(-1, 1, (16, 4, 10, 10)))
def network():
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Conv2D(8, 3, padding=1), gluon.nn.BatchNorm(), gluon.nn.Activation("relu"))
        net.add(gluon.nn.MaxPool2D(), gluon.nn.Conv2D(8, 3, activation="relu"), gluon.nn.GlobalAvgPool2D())
        net.add(gluon.nn.Flatten(), gluon.nn.Dense(12, activation="relu"), gluon.nn.Dense(5))
    net.initialize()
    net(x)
    values = np.random.RandomState(1)
    for name, parameter in sorted(net.collect_params().items()):
        low, high = (0.5, 1.5) if name.endswith(("gamma", "var")) else (-0.4, 0.4)
        parameter.set_data(mx.nd.array(values.uniform(low, high, parameter.shape)))
    return net
def batches():
    return mx.io.NDArrayIter(x, batch_size=4)
def error(found, wanted):
    return np.abs(found.asnumpy() - wanted.asnumpy()).max() / np.abs(wanted.asnumpy()).max()
def dense():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="one")
    net = mx.sym.Activation(net, act_type="relu", name="act")
    return mx.sym.FullyConnected(net, num_hidden=4, name="two")
rows = mx.nd.array(rng.uniform(-1, 1, (32, 6)))
arguments = {
    name: mx.nd.array(rng.uniform(-0.5, 0.5, shape))
    for name, shape in (("one_weight", (8, 6)), ("one_bias", (8,)), ("two_weight", (4, 8)), ("two_bias", (4,)))
}
def quantized(**more):
    kwargs = dict(label_names=None, calib_mode="none", quantize_mode="full", logger=None)
    kwargs.update(more)
    return q.quantize_model(dense(), arguments, {}, **kwargs)
def operators(sym):
    import json
    return [node["op"] for node in json.loads(sym.tojson())["nodes"] if node["op"] != "null"]
def answer(sym, args, data):
    return sym.bind(mx.cpu(), dict(args, data=data)).forward()[0]
def ranges(sym):
    import json
    nodes = json.loads(sym.tojson())["nodes"]
    attrs = [(node["name"], node.get("attrs", {})) for node in nodes]
    return [(name, round(float(a["min_calib_range"]), 4), round(float(a["max_calib_range"]), 4)) for name, a in attrs if "min_calib_range" in a]
# %% the operators of a dense network on integers
sym, args, auxs = quantized()
operators(sym), sorted(args), sym.list_outputs(), auxs
# %% its parameters on integers
args["one_weight_quantize"], args["one_weight_quantize_min"], args["two_bias_quantize_max"]
# %% it computes nearly the same
error(answer(sym, args, rows), answer(dense(), arguments, rows)) < 0.02
# %% calibrated by the smallest and largest
sym, args, auxs = quantized(calib_mode="naive", calib_data=mx.io.NDArrayIter(rows, batch_size=8))
operators(sym), ranges(sym)[0], error(answer(sym, args, rows), answer(dense(), arguments, rows)) < 0.02
# %% differs: MXNet forgets what it measured of sums, and asks for their range at each run
[name for name, low, high in ranges(sym)]
# %% calibrated by entropy
sym, args, auxs = quantized(calib_mode="entropy", calib_data=mx.io.NDArrayIter(rows, batch_size=8))
ranges(sym)[0][0], error(answer(sym, args, rows), answer(dense(), arguments, rows)) < 0.1
# %% the same data, so many examples
sym, args, auxs = quantized(calib_mode="naive", calib_data=mx.io.NDArrayIter(rows, batch_size=8), num_calib_examples=10)
ranges(sym)[0]
# %% automatic types
sym, args, auxs = quantized(calib_mode="naive", calib_data=mx.io.NDArrayIter(rows, batch_size=8), quantized_dtype="auto")
operators(sym), error(answer(sym, args, rows), answer(dense(), arguments, rows)) < 0.03
# %% what is left out
operators(quantized(excluded_sym_names=["two"])[0]), operators(quantized(excluded_op_names=["Activation"])[0])
# %% smart and full
act = mx.sym.Activation(dense(), act_type="relu", name="last")
[operators(q.quantize_model(act, arguments, {}, label_names=None, calib_mode="none", quantize_mode=mode, logger=None)[0]) for mode in ("smart", "full")]
# %% wrong settings
quantized(quantized_dtype="int4")
# %%
quantized(calib_mode="naive")
# %%
quantized(excluded_sym_names="two")
# %%
quantized(calib_mode="best", calib_data=batches())
# %%
quantized(quantize_granularity="row-wise")
# %% a network of Gluon
net = network()
wanted = net(x)
made = q.quantize_net(net, calib_mode="naive", calib_data=batches(), ctx=mx.cpu())
type(made).__name__, made(x).shape, str(made(x).dtype), error(made(x), wanted) < 0.03
# %%
loader = gluon.data.DataLoader(gluon.data.ArrayDataset(x, mx.nd.zeros(16)), batch_size=4)
made = q.quantize_net_v2(net, quantized_dtype="auto", calib_mode="entropy", calib_data=loader, ctx=mx.cpu())
error(made(x), wanted) < 0.1
# %%
made = q.quantize_net(net, calib_mode="none", data_shapes=[mx.io.DataDesc("data", (16, 4, 10, 10))], ctx=mx.cpu())
error(made(x), wanted) < 0.05
# %%
q.quantize_net(net, calib_mode="none")
# %% histograms that grow
old = tuple(np.histogram([-1.0, 0.0, 1.0], 5, (-1, 1))) + (-1.0, 1.0, 1.0)
q.combine_histogram(old, np.array([3.0]), 3.0, 3.0, 3.0)
# %%
q.combine_histogram(old, np.array([0.5, 0.9]), 0.5, 0.9, 0.9)
# %% a threshold
counts = np.histogram(np.sin(np.arange(5000.0)) ** 5, 1001, (-1, 1))
mx.nd.contrib.calibrate_entropy(mx.nd.array(counts[0]), mx.nd.array(counts[1]), num_quantized_bins=255)
# %%
mx.nd.contrib.calibrate_entropy(mx.nd.array(counts[0]), mx.nd.array(counts[1]), num_quantized_bins=511)
