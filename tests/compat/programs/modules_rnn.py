# %% set-up
import mxnet as mx
import numpy as np
def weights(symbol, **shapes):
    found, _, _ = symbol.infer_shape(**shapes)
    names = symbol.list_arguments()
    return {
        name: mx.nd.array(np.sin(np.arange(int(np.prod(shape))) * 0.7 + k).reshape(shape) * 0.5)
        for k, (name, shape) in enumerate(zip(names, found))
    }
def run(cell, steps=3, **kwargs):
    outputs, states = cell.unroll(steps, mx.sym.var("data"), merge_outputs=True, **kwargs)
    args = weights(outputs, data=(2, steps, 4))
    return outputs.bind(mx.cpu(), args).forward()[0]
# %% cells
run(mx.rnn.RNNCell(5, prefix="a_"))
# %%
run(mx.rnn.LSTMCell(5, prefix="b_"))
# %%
run(mx.rnn.GRUCell(5, prefix="c_"))
# %% stacks
stack = mx.rnn.SequentialRNNCell()
stack.add(mx.rnn.LSTMCell(4, prefix="l0_"))
stack.add(mx.rnn.ResidualCell(mx.rnn.GRUCell(4, prefix="l1_")))
run(stack)
# %%
run(mx.rnn.BidirectionalCell(mx.rnn.LSTMCell(3, prefix="l_"), mx.rnn.LSTMCell(3, prefix="r_")))
# %% names
outputs, states = mx.rnn.LSTMCell(5, prefix="lstm_").unroll(2, [mx.sym.var("x"), mx.sym.var("y")])
mx.sym.Group(outputs).list_outputs(), [s.name for s in states]
# %%
sorted(mx.sym.Group(outputs).list_arguments())
# %% the fused operator and its gates
fused = mx.rnn.FusedRNNCell(3, num_layers=2, mode="gru", prefix="g_")
run(fused)
# %%
whole = {"g_parameters": mx.nd.arange(3 * (3 * (4 + 3 + 2) + 3 * (3 + 3 + 2)))}
parts = fused.unpack_weights(whole)
[(name, parts[name].shape) for name in sorted(parts)]
# %%
(fused.pack_weights(parts)["g_parameters"] == whole["g_parameters"]).asnumpy().all()
# %%
fused.unfuse().unroll(2, mx.sym.var("data"))[0][0].name
# %% sentences
mx.rnn.encode_sentences([["a", "b"], ["b", "c", "a"]], start_label=1, invalid_label=0)
# %% differs: MXNet warns that it left out 0 sentences
it = mx.rnn.BucketSentenceIter([[1, 2], [3, 4], [5, 6]], 3, buckets=[4], invalid_label=0)
batch = it.next()
batch.bucket_key, batch.data[0].shape, sorted(batch.label[0].asnumpy()[:, 0].tolist()), it.provide_data
# %% classes that were drawn hand back their gradient
p = mx.nd.array([[0.0, 1.0], [1.0, 0.0]])
p.attach_grad()
with mx.autograd.record():
    drawn, likelihood = mx.nd.random.multinomial(p, shape=3, get_prob=True)
    likelihood.backward()
drawn, likelihood, p.grad
# %% a symbol that is called
op = mx.nd.CachedOp(mx.sym.var("a") * 2 + mx.sym.var("b"))
op(mx.nd.ones(2), mx.nd.ones(2))
# %% gradients as they were asked for once
both = mx.contrib.autograd.grad_and_loss(lambda x: x * x)
both(mx.nd.array([3.0]))
