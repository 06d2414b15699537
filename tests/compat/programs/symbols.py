"""Graphs that are written down: names, composition, inference, executors, files."""

import copy
import json
import pickle
import numpy as np
import mxnet as mx
rng = np.random.RandomState(7)
# %%
data = mx.sym.Variable("data")
net = mx.sym.FullyConnected(data, num_hidden=8, name="fc1")
net = mx.sym.Activation(net, act_type="relu", name="relu1")
net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
net = mx.sym.SoftmaxOutput(net, name="softmax")
net.list_arguments(), net.list_outputs(), net.list_auxiliary_states(), net.name, repr(net)
# %%
net.infer_shape(data=(4, 5))
# %%
net.infer_shape_partial(softmax_label=(4,))
# %%
[list(map(str, part)) for part in net.infer_type(data="float64")]
# %%
net.get_internals().list_outputs()
# %%
net.get_internals()["relu1_output"].list_arguments()
# %%
net.get_children().list_outputs(), data.get_children()
# %%
ex = net.simple_bind(mx.cpu(), data=(4, 5))
for name in sorted(ex.arg_dict):
    ex.arg_dict[name][:] = mx.nd.array(rng.uniform(-1, 1, ex.arg_dict[name].shape))
ex.arg_dict["softmax_label"][:] = mx.nd.array([0, 2, 1, 1])
ex.forward(is_train=True)[0]
# %%
ex.backward()
ex.grad_dict["fc1_weight"]
# %%
ex.grad_dict["softmax_label"]
# %%
ex.forward(is_train=False, data=mx.nd.ones((4, 5)) * 2)
ex.outputs[0]
# %%
held = ex.outputs[0]
ex.forward(data=np.zeros((4, 5)))
held
# %%
sorted(ex.output_dict), len(ex.arg_arrays), len(ex.aux_arrays)
# %%
small = ex.reshape(data=(2, 5), softmax_label=(2,))
small.arg_dict["data"][:] = 1
small.forward()[0]
# %%
ex.forward(data=mx.nd.ones((3, 5)))
# %%
ex.forward(nonsense=mx.nd.ones((3, 5)))
# %%
ex.copy_params_from({"fc1_bias": mx.nd.ones((8,)) * 3})
ex.arg_dict["fc1_bias"]
# %%
ex.copy_params_from({"nonsense": mx.nd.ones((8,))})
# %%
ex.copy_params_from({"nonsense": mx.nd.ones((8,))}, allow_extra_params=True)
# %%
seen = []
ex.set_monitor_callback(lambda name, array: seen.append(name if isinstance(name, str) else name.decode()))
ex.forward()
seen
# %%
with mx.name.NameManager():
    a, b = mx.sym.var("a"), mx.sym.var("b")
    made = [a + b, a - b, a * b, a / b, a % b, a ** b, a + 1, 1 - a, 2 / a, a / 2, 2 ** a, a % 2, 3 % a, -a, abs(a)]
    print([s.name for s in made])
# %%
with mx.name.NameManager():
    made = [a == b, a != b, a > b, a >= b, a < b, a <= b, a == 1, a != 1, a > 1, a >= 1, a < 1, a <= 1]
    print([s.name for s in made])
# %%
with mx.name.NameManager():
    made = [mx.sym.maximum(a, b), mx.sym.minimum(a, 2), mx.sym.hypot(a, b), mx.sym.power(2, a), mx.sym.zeros((2,)), mx.sym.concat(a, b), mx.sym.split(a, num_outputs=2), mx.sym.contrib.box_nms(a), mx.sym.linalg.gemm2(a, b), mx.sym.random.normal(0, 1, shape=(2,)), mx.sym.flatten(a), a.reshape((1, -1)), a.astype("float16"), mx.sym.Convolution(a, kernel=(1, 1), num_filter=1)]
    print([s.name for s in made])
# %%
with mx.name.Prefix("left_"):
    print(mx.sym.FullyConnected(data, num_hidden=2, name="fc").list_arguments())
    print(mx.sym.relu(data).name.startswith("left_relu"))
# %%
values = {"a": mx.nd.array([1.0, 5.0, 7.0]), "b": mx.nd.array([2.0, 5.0, 4.0])}
for s in [a + b, a - b, a * b, a / b, a % b, a ** b, 3 - a, 3 / a, 3 % a, 2 ** a, a > b, a == b, a <= 5, 5 > a]:
    known = {n: values[n] for n in s.list_arguments()}
    print(s.eval(ctx=mx.cpu(), **known)[0].asnumpy())
# %%
bool(a)
# %%
a += b
# %%
a.asnumpy()
# %%
group = mx.sym.Group([net, data, a * b])
group.list_outputs()[:2], len(group), group.name, group[1].name, [s.name for s in group][:2]
# %%
mx.sym.Group([])
# %%
group["fc9_output"]
# %%
group[9]
# %%
parts = mx.sym.SliceChannel(data, num_outputs=3, name="cut")
parts.list_outputs(), parts[1].list_outputs(), parts["cut_output2"].list_outputs(), mx.sym.Concat(*list(parts), name="j").list_arguments()
# %%
one = mx.sym.FullyConnected(data, num_hidden=10, name="one")
two = mx.sym.FullyConnected(name="two", num_hidden=4)
joined = two(two_data=one, name="both")
joined.list_arguments(), joined.list_outputs(), two.list_arguments(), two.name
# %%
two(nonsense=one)
# %%
bn = mx.sym.BatchNorm(data, name="bn", fix_gamma=False)
bn.list_arguments(), bn.list_auxiliary_states(), bn.list_outputs(), bn.list_inputs()
# %%
ex = bn.simple_bind(mx.cpu(), data=(4, 3))
ex.arg_dict["data"][:] = mx.nd.array(rng.uniform(-1, 1, (4, 3)))
ex.arg_dict["bn_gamma"][:], ex.arg_dict["bn_beta"][:] = 2, 0
ex.aux_dict["bn_moving_mean"][:], ex.aux_dict["bn_moving_var"][:] = 0, 1
ex.forward(is_train=True)
ex.backward(mx.nd.array(rng.uniform(-1, 1, (4, 3))))
mx.nd.waitall()  # MXNet moves the averages here, and does not wait for it
ex.outputs[0], ex.aux_dict["bn_moving_mean"], ex.grad_dict["data"]
# %%
ex.forward(is_train=False)[0]
# %%
with mx.AttrScope(group="4", data="great"):
    x = mx.sym.Variable("x", attr={"mood": "angry", "group": "1"}, lr_mult=2)
    y = mx.sym.relu(x, name="y")
x.attr("group"), x.attr("data"), x.attr("lr_mult"), x.attr("__lr_mult__"), x.attr("nothing"), y.attr("group")
# %%
sorted(x.list_attr().items()), sorted(y.list_attr().items())
# %%
op = mx.sym.Convolution(x, kernel=(3, 3), num_filter=2, name="c", attr={"__mood__": "so so"}, lr_mult=3)
{k: sorted(v.items()) for k, v in sorted(op.attr_dict().items())}
# %%
mx.AttrScope(number=3)
# %%
x._set_attr(mood="calm", wd_mult="0.5")
x.attr("mood"), x.attr("wd_mult"), y.get_internals()["x"].attr("mood")
# %%
v = mx.sym.Variable("v", shape=(2, 0), dtype="float16", init=mx.init.One(), wd_mult=0)
sorted(v.list_attr().items())
# %%
mx.sym.Variable("v", nonsense=3)
# %%
mx.sym.Variable(3)
# %%
mx.sym.FullyConnected(data, num_hiden=3)
# %%
def written(symbol):
    graph = json.loads(symbol.tojson())
    for node in graph["nodes"]:
        print(node["op"], node["name"], sorted(node.get("attrs", {}).items()), [e[:2] for e in node["inputs"]])
    return graph["arg_nodes"], graph["heads"]
written(net)
# %%
written(op)
# %%
conv = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, pad=(1, 1), no_bias=True, name="conv")
conv = mx.sym.Pooling(conv, kernel=(2, 2), stride=(2, 2), pool_type="avg", name="pool")
conv = mx.sym.Flatten(mx.sym.LeakyReLU(conv, act_type="leaky", slope=0.5, name="lr"), name="flat")
conv = mx.sym.concat(conv, conv, dim=1, name="cc")
written(mx.sym.Group([conv, mx.sym.mean(conv, axis=(0,), keepdims=True, name="m")]))
# %%
again = mx.sym.load_json(net.tojson())
again.list_arguments() == net.list_arguments(), again.list_outputs(), again.tojson() == net.tojson()
# %%
twin = pickle.loads(pickle.dumps(net))
twin.tojson() == net.tojson(), copy.copy(net).tojson() == net.tojson(), copy.deepcopy(net).list_outputs()
# %%
net.save("net-symbol.json")
mx.sym.load("net-symbol.json").list_arguments()
# %%
mx.sym.load_json("{}")
# %%
mx.sym.load_json('{"nodes": [{"op": "nonsense", "name": "x", "inputs": []}], "arg_nodes": [], "heads": [[0, 0, 0]]}')
# %%
mx.sym.load("nowhere.json")
# %%
p, q = mx.sym.var("p"), mx.sym.var("q")
grads = {"p": mx.nd.ones((2,)), "q": mx.nd.ones((2,))}
ex = (p * q).bind(mx.cpu(), {"p": mx.nd.array([2, 3]), "q": mx.nd.array([5, 7])}, grads, {"p": "add", "q": "null"})
ex.forward(is_train=True)
ex.backward(mx.nd.array([1, 10]))
ex.backward(mx.nd.array([1, 10]))
grads["p"], grads["q"]
# %%
ex = (p * q).bind(mx.cpu(), [mx.nd.array([2, 3]), mx.nd.array([5, 7])], args_grad=[mx.nd.ones((2,)), mx.nd.ones((2,))])
ex.forward(is_train=True)
ex.backward(mx.nd.array([1, 10]))
ex.grad_arrays
# %%
(p * q).bind(mx.cpu(), {"p": mx.nd.ones((2,))})
# %%
(p * q).bind(mx.cpu(), [mx.nd.ones((2,))])
# %%
(p * q).simple_bind(mx.cpu(), grad_req="nonsense", p=(2,))
# %%
(p * q).infer_shape(p=(2,), q=(3,))
# %%
(p * q).infer_shape(nonsense=(2,))
# %%
(p * q).infer_shape(), (p * q).infer_shape_partial()
# %% differs: MXNet's own loop over shapes by place ends in an error of C++
(p * q).infer_shape((2,))
# %%
blocked = mx.sym.BlockGrad(p) * q
ex = blocked.simple_bind(mx.cpu(), p=(2,), q=(2,))
ex.arg_dict["p"][:] = 3
ex.grad_dict["p"][:] = 9
ex.forward(is_train=True)
ex.backward(mx.nd.ones((2,)))
ex.grad_dict["p"], ex.grad_dict["q"]
# %%
s = mx.sym.sum(mx.sym.broadcast_add(p, q), axis=1)
s.infer_shape(p=(2, 1), q=(1, 3)), s.infer_shape_partial(p=(0, 1, 4), q=(1, 3, 4))
# %% differs: an open axis that meets one of length 5 can only come out as 5
s.infer_shape_partial(p=(0, 1, 4), q=(5, 3, 4))
# %%
s = mx.sym.FullyConnected(mx.sym.var("d", shape=(0, 10)), num_hidden=21) + mx.sym.var("c", shape=(5, 0))
s.infer_shape()
# %%
s = mx.sym.Convolution(mx.sym.var("d", shape=(0, 10, 0, 0)), kernel=(3, 3), pad=(1, 1), num_filter=21, name="c") + mx.sym.var("e", shape=(5, 21, 32, 32))
s.infer_shape()
# %%
w = mx.sym.Embedding(mx.sym.var("i"), input_dim=10, output_dim=4, name="emb")
w.infer_shape(i=(2, 3))
# %%
r = mx.sym.RNN(data, state_size=3, num_layers=2, mode="lstm", state_outputs=True, name="rnn")
r.list_arguments(), r.list_outputs(), r.infer_shape(data=(5, 2, 4))
# %%
ln = mx.sym.LayerNorm(data, name="ln")
pr = mx.sym.LeakyReLU(data, act_type="prelu", name="pr")
ln.infer_shape(data=(2, 5)), pr.infer_shape(data=(2, 5, 4)), pr.list_arguments()
# %%
h = mx.sym.zeros((0, 4)) + mx.sym.FullyConnected(data, num_hidden=4, name="h")
h.infer_shape(data=(3, 2)), h.eval(data=mx.nd.ones((3, 2)), h_weight=mx.nd.ones((4, 2)), h_bias=mx.nd.zeros((4,)))[0]
# %%
mx.sym.topk(data, k=2, ret_typ="both", name="t").list_outputs(), mx.sym.linalg.slogdet(data, name="d").list_outputs()
# %%
x = mx.nd.array([1.0, 2.0, 3.0])
x.attach_grad()
with mx.autograd.record():
    z = mx.nd.broadcast_mul(x, x) + 2 * x
s = mx.autograd.get_symbol(z)
s.list_arguments(), s.eval(var0=mx.nd.array([3.0, 4.0]))[0]
# %%
ctx_of = mx.sym.dot(p, q, name="d").bind(mx.cpu(), {"p": mx.nd.ones((2, 3)), "q": mx.nd.ones((3, 2))}, group2ctx={"g": mx.cpu()})
ctx_of.forward()[0]
# %%
(p * q).gradient(["p"])
# %%
sorted((k, v) for k, v in mx.sym.Pooling(data, kernel=(2, 2), pool_type="max", global_pool=True, name="p").list_attr().items())
# %%
data.sum(axis=1, name="s").list_outputs(), data.transpose(axes=(1, 0)).infer_shape(data=(2, 3))[1], data.expand_dims(axis=0).infer_shape(data=(2,))[1]
# %%
ex = mx.sym.make_loss(mx.sym.square(p - q)).simple_bind(mx.cpu(), p=(2,), q=(2,), type_dict={"p": "float64", "q": "float64"})
ex.arg_dict["p"][:] = mx.nd.array([3, 5])
ex.forward(is_train=True)
ex.backward()
ex.outputs[0], ex.grad_dict["p"]
# %%
ex = mx.sym.Dropout(p, p=0.5).simple_bind(mx.cpu(), p=(50, 50))
ex.arg_dict["p"][:] = 1
kept = ex.forward(is_train=True)[0].asnumpy()
sorted(set(kept.ravel().tolist())), 0.4 < kept.mean() / 2 < 0.6, ex.forward(is_train=False)[0].asnumpy().mean()
# %%
mx.sym.elemwise_mul(p, q, name="product").debug_str()
# %%
mx.sym.Concat(p, q, dim=0, num_args=2, name="k").infer_shape(p=(2, 3), q=(4, 3))[1]
# %%
(p + q).simple_bind(mx.cpu(), p=(2, 3))
