# %% set-up
import tempfile
import mxnet as mx
import numpy as np
rng = np.random.RandomState(7)
def numbers(*shape):
    return rng.randn(*shape).astype("float32")
def start(symbol, **shapes):
    found, _, states = symbol.infer_shape(**shapes)
    args = {
        name: mx.nd.array(np.sin(np.arange(int(np.prod(shape))) * 0.7 + k).reshape(shape) * 0.5)
        for k, (name, shape) in enumerate(zip(symbol.list_arguments(), found))
        if name not in shapes and "label" not in name
    }
    aux = {
        name: mx.nd.ones(shape) * ("var" in name)
        for name, shape in zip(symbol.list_auxiliary_states(), states)
    }
    return args, aux
def show(mod):
    args, aux = mod.get_params()
    return [(name, array.shape, array) for name, array in sorted({**args, **aux}.items())]
def network():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=6, name="one")
    net = mx.sym.BatchNorm(net, fix_gamma=False, name="norm")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="relu"), num_hidden=3, name="two")
    return mx.sym.SoftmaxOutput(net, name="softmax")
X, Y = numbers(20, 4), np.arange(20) % 3
two = [mx.cpu(0), mx.cpu(1)]
# %% a module on two devices
mod = mx.mod.Module(network(), context=two)
it = mx.io.NDArrayIter(X, Y, 10, label_name="softmax_label")
mod.bind(it.provide_data, it.provide_label)
mod.data_names, mod.label_names, mod.output_names, mod.data_shapes, mod.output_shapes
# %%
args, aux = start(network(), data=(10, 4))
mod.init_params(arg_params=args, aux_params=aux)
mod.init_optimizer(kvstore="device", optimizer_params={"learning_rate": 0.3, "momentum": 0.9})
batch = next(it)
mod.forward(batch, is_train=True)
mod.get_outputs()[0], [part.shape for part in mod.get_outputs(merge_multi_context=False)[0]]
# %%
mod.backward()
mod.update()
show(mod)
# %% where the optimizer is
mod._update_on_kvstore, mod._optimizer.rescale_grad, sorted(mod._optimizer.idx2name.items())[:3]
# %% metrics are told device by device
metric = mx.metric.create(["acc", "mse"])
mod.update_metric(mx.metric.create("acc"), batch.label)
mx.metric.Accuracy().get()
# %% fit, with everything that it calls
told = []
it.reset()
mod = mx.mod.Module(network(), context=two)
mod.fit(
    it, eval_data=it, eval_metric="ce", num_epoch=2, arg_params=args, aux_params=aux,
    optimizer="sgd", optimizer_params={"learning_rate": 0.3},
    batch_end_callback=lambda p: told.append(("batch", p.epoch, p.nbatch)),
    epoch_end_callback=lambda epoch, symbol, args, aux: told.append(("epoch", epoch, sorted(args))),
    eval_batch_end_callback=lambda p: told.append(("eval", p.epoch, p.nbatch)),
    eval_end_callback=lambda p: told.append(("end", p.epoch)),
)
told
# %%
show(mod)
# %%
mod.score(it, ["acc", "ce"])
# %%
mod.predict(it)
# %%
seven = mx.io.NDArrayIter(X[:7], Y[:7], 5, label_name="softmax_label")
[(number, outs[0].shape, b.pad) for outs, number, b in mod.iter_predict(seven)]
# %%
mod.predict(seven, merge_batches=False)[1][0]
# %% differs: MXNet wants labels where batches have another size
mod.predict(mx.io.NDArrayIter(X[:7], None, 4)).shape
# %% where the devices run the optimizer themselves
for store in ("local", None):
    again = mx.mod.Module(network(), context=two, work_load_list=[3, 2])
    again.bind(it.provide_data, it.provide_label)
    again.init_params(arg_params=args, aux_params=aux)
    again.init_optimizer(kvstore=store, optimizer="adam", optimizer_params={"learning_rate": 0.1})
    it.reset()
    for batch in it:
        again.forward_backward(batch)
        again.update()
[e.arg_dict["data"].shape for e in again._exec_group.execs], again.get_outputs()[0].shape
# %% gradients of the data, and those that add up
line = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="one")
mod = mx.mod.Module(line, label_names=None, context=two, fixed_param_names=["one_bias"])
mod.bind([("data", (4, 4))], inputs_need_grad=True, grad_req="add")
args1, _ = start(line, data=(4, 4))
mod.init_params(arg_params=args1)
for _ in range(2):
    mod.forward(mx.io.DataBatch([mx.nd.array(X[:4])]), is_train=True)
    mod.backward([mx.nd.ones((4, 2))])
mod.get_input_grads()
# %%
mod._exec_group.execs[0].grad_dict["one_weight"], mod._exec_group.execs[0].grad_dict["one_bias"]
# %% batches of other sizes
mod.forward(mx.io.DataBatch([mx.nd.array(X[:10])]), is_train=False)
mod.get_outputs()[0], mod.data_shapes
# %%
mod.reshape([("data", (6, 4))])
mod.data_shapes, mod.output_shapes
# %% states
sym = mx.sym.elemwise_add(mx.sym.var("data") * 2, mx.sym.var("s"))
mod = mx.mod.Module(sym, label_names=None, state_names=["s"], context=two)
mod.bind([("data", (4, 2))], for_training=False)
mod.init_params()
mod.set_states(value=3)
mod.forward(mx.io.DataBatch([mx.nd.ones((4, 2))]))
mod.get_outputs()[0], mod.get_states(merge_multi_context=False)[0][0].shape
# %%
mod.set_states(states=[[mx.nd.ones((2, 2)), mx.nd.zeros((2, 2))]])
mod.forward(mx.io.DataBatch([mx.nd.ones((4, 2))]))
mod.get_outputs(), mod.get_states(merge_multi_context=False)
# %% what is missing, and what is too much
mod = mx.mod.Module(network())
mod.bind([("data", (2, 4))], [("softmax_label", (2,))])
mod.init_params(arg_params={"one_weight": args["one_weight"]}, aux_params=aux)
# %%
mod.init_params(mx.init.One(), arg_params={"one_weight": args["one_weight"], "other": mx.nd.ones(1)}, aux_params=aux, allow_missing=True, force_init=True)
show(mod)
# %%
mod.set_params({"other": mx.nd.ones(1)}, {}, allow_missing=True)
# %%
mod.set_params({"two_bias": mx.nd.ones(3) * 7}, {}, allow_missing=True)
mod.get_params()[0]["two_bias"], mod.get_params()[0]["one_weight"]
# %%
mod.bind([("data", (2, 5))], [("softmax_label", (2,))], force_rebind=True)
# %% checkpoints
folder = tempfile.mkdtemp() + "/kept"
mod = mx.mod.Module(network(), context=two)
mod.bind(it.provide_data, it.provide_label)
mod.init_params(arg_params=args, aux_params=aux)
mod.init_optimizer(optimizer_params={"learning_rate": 0.3, "momentum": 0.9})
it.reset()
mod.forward_backward(next(it))
mod.update()
mod.save_checkpoint(folder, 3, save_optimizer_states=True)
again = mx.mod.Module.load(folder, 3, load_optimizer_states=True, context=two)
again.bind(it.provide_data, it.provide_label)
again.init_optimizer(optimizer_params={"learning_rate": 0.3, "momentum": 0.9})
it.reset()
for one in (mod, again):
    it.reset()
    one.forward_backward(next(it))
    one.update()
all((a == b).asnumpy().all() for (_, _, a), (_, _, b) in zip(show(mod), show(again)))
# %% a bucketing LSTM
hidden, words, embedding = 5, 9, 4
def sym_gen(length):
    data, label = mx.sym.var("data"), mx.sym.var("softmax_label")
    net = mx.sym.Embedding(data, input_dim=words, output_dim=embedding, name="embed")
    stack = mx.rnn.SequentialRNNCell()
    for i in range(2):
        stack.add(mx.rnn.LSTMCell(hidden, prefix="lstm_l%d_" % i))
    outputs, _ = stack.unroll(length, inputs=net, merge_outputs=True)
    net = mx.sym.FullyConnected(mx.sym.reshape(outputs, shape=(-1, hidden)), num_hidden=words, name="pred")
    return mx.sym.SoftmaxOutput(net, mx.sym.reshape(label, shape=(-1,)), name="softmax"), ("data",), ("softmax_label",)
def sentences(length, seed):
    x = np.random.RandomState(seed).randint(0, words, (4, length + 1))
    return mx.io.DataBatch(
        [mx.nd.array(x[:, :-1])], [mx.nd.array(x[:, 1:])], bucket_key=length,
        provide_data=[mx.io.DataDesc("data", (4, length))],
        provide_label=[mx.io.DataDesc("softmax_label", (4, length))],
    )
def bucketing(**kwargs):
    mod = mx.mod.BucketingModule(sym_gen, default_bucket_key=7, **kwargs)
    mod.bind([("data", (4, 7))], [("softmax_label", (4, 7))])
    args, _ = start(sym_gen(7)[0], data=(4, 7))
    mod.init_params(arg_params=args, aux_params={})
    mod.init_optimizer(kvstore="device", optimizer="adam", optimizer_params={"learning_rate": 0.02})
    return mod
mod = bucketing()
mod.symbol.list_arguments(), mod.data_names, mod.data_shapes, mod.output_names
# %%
perplexity = mx.metric.Perplexity(None)
for step in range(12):
    batch = sentences((7, 3, 5)[step % 3], step)
    mod.forward_backward(batch)
    mod.update()
    mod.update_metric(perplexity, batch.label)
perplexity.get(), sorted(mod._buckets), mod.data_shapes, mod.output_shapes
# %%
show(mod)
# %%
mod.forward(sentences(3, 99), is_train=False)
mod.get_outputs()
# %%
mod.prepare(sentences(4, 1))
mod.data_shapes, sorted(mod._buckets)
# %% the same on two devices
mod = bucketing(context=two)
for step in range(6):
    mod.forward_backward(sentences((7, 3)[step % 2], step))
    mod.update()
show(mod)
# %%
folder = tempfile.mkdtemp() + "/buckets"
mod.save_checkpoint(folder, 1)
again = mx.mod.BucketingModule.load(folder, 1, sym_gen, default_bucket_key=7)
again.bind([("data", (4, 7))], [("softmax_label", (4, 7))], for_training=False)
again.forward(sentences(3, 5), is_train=False)
again.get_outputs()[0], sorted(int(key) for key in again._buckets)
# %% buckets whose gradients add up
def weighted(_):
    weight = mx.sym.var("a", shape=(1,), init=mx.init.One())
    return mx.sym.make_loss(mx.sym.broadcast_mul(mx.sym.var("data"), weight)), ("data",), None
mod = mx.mod.BucketingModule(weighted, default_bucket_key=10)
mod.bind([("data", (2,))], grad_req="add")
mod.init_params()
for key in (10, 5, 10):
    mod.forward_backward(mx.io.DataBatch([mx.nd.ones((2,))], None, bucket_key=key, provide_data=[mx.io.DataDesc("data", (2,), layout="N")]))
mod._curr_module._exec_group.execs[0].grad_dict["a"]
# %% a chain that ends in Python
def slope(scores, labels):
    probs = mx.nd.softmax(scores).asnumpy()
    probs[np.arange(len(probs)), labels.asnumpy().astype(int)] -= 1
    return probs
one = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="one")
two_ = mx.sym.FullyConnected(mx.sym.var("mid"), num_hidden=3, name="two")
chain = mx.mod.SequentialModule()
chain.add(mx.mod.Module(mx.sym.tanh(one, name="t"), label_names=None))
chain.add(mx.mod.Module(two_, ["mid"], label_names=None), auto_wiring=True)
chain.add(mx.mod.PythonLossModule(grad_func=slope), take_labels=True, auto_wiring=True)
chain.bind([("data", (5, 4))], [("softmax_label", (5,))])
args, _ = start(one, data=(5, 4))
more, _ = start(two_, mid=(5, 5))
chain.init_params(arg_params={**args, **more}, aux_params={})
chain.init_optimizer(optimizer_params={"learning_rate": 0.5})
batch = mx.io.DataBatch([mx.nd.array(X[:5])], [mx.nd.array(Y[:5])])
for _ in range(3):
    chain.forward(batch, is_train=True)
    chain.backward()
    chain.update()
chain.get_outputs()[0], chain.data_names, chain.output_names, chain.output_shapes
# %%
show(chain)
# %%
metric = mx.metric.Accuracy()
chain.update_metric(metric, batch.label)
metric.get()
# %%
chain.add(chain, takes_labels=True)
