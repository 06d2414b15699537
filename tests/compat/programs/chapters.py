"""What later chapters of courses do with arrays and layers."""

import collections
import math
import random
import time
import numpy as np
import mxnet as mx
from mxnet import autograd, gluon, init, nd
from mxnet.gluon import data as gdata, loss as gloss, nn, utils as gutils
rng = np.random.RandomState(4)
# %%
def log_rmse(net, features, labels):
    clipped_preds = nd.clip(net(features), 1, float("inf"))
    rmse = nd.sqrt(2 * loss(clipped_preds.log(), labels.log()).mean())
    return rmse.asscalar()
loss = gloss.L2Loss()
net = nn.Sequential()
net.add(nn.Dense(1))
net.initialize(init.Constant(0.5))
features, labels = nd.array(rng.uniform(1, 4, (12, 3))), nd.array(rng.uniform(1, 9, (12, 1)))
log_rmse(net, features, labels)
# %%
def get_k_fold_data(k, i, X, y):
    assert k > 1
    fold_size = X.shape[0] // k
    X_train, y_train = None, None
    for j in range(k):
        idx = slice(j * fold_size, (j + 1) * fold_size)
        X_part, y_part = X[idx, :], y[idx]
        if j == i:
            X_valid, y_valid = X_part, y_part
        elif X_train is None:
            X_train, y_train = X_part, y_part
        else:
            X_train = nd.concat(X_train, X_part, dim=0)
            y_train = nd.concat(y_train, y_part, dim=0)
    return X_train, y_train, X_valid, y_valid
for i in range(3):
    print([v.shape for v in get_k_fold_data(3, i, features, labels)])
def train(net, train_features, train_labels, num_epochs, learning_rate, weight_decay, batch_size):
    train_ls = []
    train_iter = gdata.DataLoader(gdata.ArrayDataset(train_features, train_labels), batch_size, shuffle=False)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": learning_rate, "wd": weight_decay})
    for epoch in range(num_epochs):
        for X, y in train_iter:
            with autograd.record():
                l = loss(net(X), y)
            l.backward()
            trainer.step(batch_size)
        train_ls.append(float(log_rmse(net, train_features, train_labels)))
    return train_ls
train(net, features, labels, 4, 0.05, 0.01, 4)
# %%
poly = nd.concat(features[:, :1], nd.power(features[:, :1], 2), nd.power(features[:, :1], 3))
(true_w, true_b) = [1.2, -3.4, 5.6], 5
y = (true_w[0] * poly[:, 0] + true_w[1] * poly[:, 1] + true_w[2] * poly[:, 2] + true_b)
y += nd.array(rng.normal(scale=0.1, size=y.shape))
poly[:2], y[:2]
# %%
def l2_penalty(w):
    return (w ** 2).sum() / 2
w = nd.array([[1.0], [2]])
w.attach_grad()
with autograd.record():
    l = nd.dot(nd.ones((3, 2)), w).sum() + 3 * l2_penalty(w)
l.backward()
w.grad
# %%
class Optimizers:
    pass
def get_data():
    data = rng.normal(size=(40, 5))
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    return nd.array(data[:, :-1]), nd.array(data[:, -1])
features, labels = get_data()
def sgd_momentum(params, states, hyperparams):
    for p, v in zip(params, states):
        v[:] = hyperparams["momentum"] * v + hyperparams["lr"] * p.grad
        p[:] -= v
def adagrad(params, states, hyperparams):
    eps = 1e-6
    for p, s in zip(params, states):
        s[:] += p.grad.square()
        p[:] -= hyperparams["lr"] * p.grad / (s + eps).sqrt()
def adadelta(params, states, hyperparams):
    rho, eps = hyperparams["rho"], 1e-5
    for p, (s, delta) in zip(params, states):
        s[:] = rho * s + (1 - rho) * p.grad.square()
        g = ((delta + eps).sqrt() / (s + eps).sqrt()) * p.grad
        p[:] -= g
        delta[:] = rho * delta + (1 - rho) * g * g
def train_ch7(optimizer_fn, states, hyperparams, steps=8):
    w = nd.ones((4, 1)) * 0.01
    b = nd.zeros(1)
    w.attach_grad()
    b.attach_grad()
    for i in range(0, steps * 5, 5):
        X, y = features[i:i + 5], labels[i:i + 5]
        with autograd.record():
            l = (((nd.dot(X, w) + b) - y.reshape((-1, 1))) ** 2 / 2).mean()
        l.backward()
        optimizer_fn([w, b], states, hyperparams)
    return w, b
train_ch7(sgd_momentum, (nd.zeros((4, 1)), nd.zeros(1)), {"lr": 0.02, "momentum": 0.5}), train_ch7(adagrad, (nd.zeros((4, 1)), nd.zeros(1)), {"lr": 0.1}), train_ch7(adadelta, ((nd.zeros((4, 1)), nd.zeros((4, 1))), (nd.zeros(1), nd.zeros(1))), {"rho": 0.9})
# %%
def skip_gram(center, contexts_and_negatives, embed_v, embed_u):
    v = embed_v(center)
    u = embed_u(contexts_and_negatives)
    return nd.batch_dot(v, u.swapaxes(1, 2))
embed = nn.Embedding(input_dim=6, output_dim=3)
embed.initialize(init.Constant(0.2))
embed.weight.set_data(nd.array(rng.normal(size=(6, 3))))
pred = skip_gram(nd.array([[0], [1]]), nd.array([[1, 2, 3], [4, 5, 0]]), embed, embed)
label = nd.array([[1, 0, 0], [1, 1, 0]])
mask = nd.array([[1, 1, 1], [1, 1, 0]])
bce = gloss.SigmoidBinaryCrossEntropyLoss()
pred, bce(pred.reshape(label.shape), label, mask) * mask.shape[1] / mask.sum(axis=1)
# %%
W = embed.weight.data()
x = W[2]
cos = nd.dot(W, x) / (nd.sum(W * W, axis=1) * nd.sum(x * x) + 1e-9).sqrt()
topk = nd.topk(cos, k=3, ret_typ="indices").asnumpy().astype("int32")
topk, [round(float(cos[int(i)].asscalar()), 4) for i in topk]
# %%
def knn(W, x, k):
    cos = nd.dot(W, x.reshape((-1,))) / ((nd.sum(W * W, axis=1) + 1e-9).sqrt() * nd.sum(x * x).sqrt())
    topk = nd.topk(cos, k=k, ret_typ="indices").asnumpy().astype("int32")
    return topk, [cos[int(i)].asscalar() for i in topk]
knn(W, W[1], 2)
# %%
def attention_model(attention_size):
    model = nn.Sequential()
    model.add(nn.Dense(attention_size, activation="tanh", use_bias=False, flatten=False), nn.Dense(1, use_bias=False, flatten=False))
    return model
def attention_forward(model, enc_states, dec_state):
    dec_states = nd.broadcast_axis(dec_state.expand_dims(0), axis=0, size=enc_states.shape[0])
    enc_and_dec_states = nd.concat(enc_states, dec_states, dim=2)
    e = model(enc_and_dec_states)
    alpha = nd.softmax(e, axis=0)
    return (alpha * enc_states).sum(axis=0)
seq_len, batch_size, num_hiddens = 5, 2, 3
model = attention_model(4)
model.initialize(init.Constant(0.3))
attention_forward(model, nd.array(rng.normal(size=(seq_len, batch_size, num_hiddens))), nd.zeros((batch_size, num_hiddens)))
# %%
corpus = [i % 7 for i in range(40)]
def data_iter_consecutive(corpus_indices, batch_size, num_steps, ctx=None):
    corpus_indices = nd.array(corpus_indices, ctx=ctx)
    data_len = len(corpus_indices)
    batch_len = data_len // batch_size
    indices = corpus_indices[0: batch_size * batch_len].reshape((batch_size, batch_len))
    epoch_size = (batch_len - 1) // num_steps
    for i in range(epoch_size):
        i = i * num_steps
        yield indices[:, i: i + num_steps], indices[:, i + 1: i + num_steps + 1]
for X, Y in data_iter_consecutive(corpus, 2, 6):
    print("X:", X, "\nY:", Y, "\n")
# %%
def to_onehot(X, size):
    return [nd.one_hot(x, size) for x in X.T]
inputs = to_onehot(X, 7)
len(inputs), inputs[0].shape
# %%
def grad_clipping(params, theta, ctx):
    norm = nd.array([0], ctx)
    for param in params:
        norm += (param.grad ** 2).sum()
    norm = norm.sqrt().asscalar()
    if norm > theta:
        for param in params:
            param.grad[:] *= theta / norm
p = nd.array([3.0, 4.0])
p.attach_grad()
with autograd.record():
    (p * p).sum().backward()
grad_clipping([p], 1, mx.cpu())
p.grad
# %%
def gru(inputs, state, params):
    W_xz, W_hz, b_z, W_xh, W_hh, b_h = params
    H, = state
    outputs = []
    for X in inputs:
        Z = nd.sigmoid(nd.dot(X, W_xz) + nd.dot(H, W_hz) + b_z)
        H_tilda = nd.tanh(nd.dot(X, W_xh) + nd.dot(Z * H, W_hh) + b_h)
        H = Z * H + (1 - Z) * H_tilda
        outputs.append(H)
    return outputs, (H,)
def three(i, o):
    return nd.array(rng.normal(scale=0.1, size=(i, o))), nd.array(rng.normal(scale=0.1, size=(o, o))), nd.zeros(o)
outs, (state,) = gru(inputs, (nd.zeros((2, 3)),), three(7, 3) + three(7, 3))
nd.concat(*outs, dim=0).shape, state
# %%
def _get_batch(batch, ctx):
    features, labels = batch
    if labels.dtype != features.dtype:
        labels = labels.astype(features.dtype)
    return (gutils.split_and_load(features, ctx), gutils.split_and_load(labels, ctx), features.shape[0])
def evaluate_accuracy(data_iter, net, ctx=[mx.cpu()]):
    if isinstance(ctx, mx.Context):
        ctx = [ctx]
    acc_sum, n = nd.array([0]), 0
    for batch in data_iter:
        features, labels, _ = _get_batch(batch, ctx)
        for X, y in zip(features, labels):
            y = y.astype("float32")
            acc_sum += (net(X).argmax(axis=1) == y).sum().copyto(mx.cpu())
            n += y.size
        acc_sum.wait_to_read()
    return acc_sum.asscalar() / n
images, classes = rng.rand(24, 1, 8, 8).astype("float32"), (np.arange(24) % 3).astype("int32")
images[classes == 1] += 1
images[classes == 2, :, :4] -= 1
dataset = gdata.ArrayDataset(images, classes)
net = nn.Sequential()
net.add(nn.Conv2D(channels=4, kernel_size=3, activation="sigmoid"), nn.MaxPool2D(pool_size=2, strides=2), nn.Conv2D(4, 2, activation="relu"), nn.Dense(6, activation="relu"), nn.Dense(3))
ctx = [mx.cpu(0), mx.cpu(1)]
net.initialize(force_reinit=True, ctx=ctx, init=init.Xavier())
for X in gutils.split_and_load(nd.array(images[:2]), ctx):
    net(X)
for i, q in enumerate(net.collect_params().values()):
    q.set_data(nd.sin(nd.arange(q.data(ctx[0]).size) * (i + 1)).reshape(q.shape) / 2)
def train(train_iter, net, loss, trainer, ctx, num_epochs):
    for epoch in range(num_epochs):
        train_l_sum, train_acc_sum, n, m = 0.0, 0.0, 0, 0
        for i, batch in enumerate(train_iter):
            Xs, ys, batch_size = _get_batch(batch, ctx)
            with autograd.record():
                y_hats = [net(X) for X in Xs]
                ls = [loss(y_hat, y) for y_hat, y in zip(y_hats, ys)]
            for l in ls:
                l.backward()
            trainer.step(batch_size)
            train_l_sum += sum([l.sum().asscalar() for l in ls])
            n += sum([l.size for l in ls])
            train_acc_sum += sum([(y_hat.argmax(axis=1) == y).sum().asscalar() for y_hat, y in zip(y_hats, ys)])
            m += sum([y.size for y in ys])
        test_acc = evaluate_accuracy(train_iter, net, ctx)
        print("epoch %d, loss %.4f, train acc %.3f, test acc %.3f" % (epoch + 1, train_l_sum / n, train_acc_sum / m, test_acc))
train(gdata.DataLoader(dataset, 8), net, gloss.SoftmaxCrossEntropyLoss(), gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2, "momentum": 0.9}), ctx, 3)
# %%
net[0].weight.data(ctx[1])[0], net[0].weight.grad(ctx[0]).shape
# %%
X = nd.random.uniform(shape=(1, 1, 8, 8))
for layer in net:
    X = layer(X)
    print(layer.name.rstrip("0123456789"), "output shape:\t", X.shape)
# %%
class MyInit(init.Initializer):
    def _init_weight(self, name, data):
        data[:] = 1
        data[0] = 5
d = nn.Dense(2, in_units=3)
d.initialize(MyInit())
d.weight.data(), d.bias.data()
# %%
pretrained = nn.Sequential(prefix="big_")
with pretrained.name_scope():
    pretrained.add(nn.Dense(4, in_units=3, activation="relu"), nn.Dense(2, in_units=4))
pretrained.initialize(init.One())
finetune = nn.Sequential(prefix="new_")
with finetune.name_scope():
    finetune.features = pretrained[0]
    finetune.add(pretrained[0], nn.Dense(5))
finetune[1].initialize(init.Constant(0.1))
finetune.collect_params("new_.*").setattr("lr_mult", 10)
finetune(nd.ones((1, 3))), [(n, p.lr_mult) for n, p in finetune.collect_params().items()]
# %%
def cross_entropy(y_hat, y):
    return -nd.pick(y_hat, y).log()
def accuracy(y_hat, y):
    return (y_hat.argmax(axis=1) == y.astype("float32")).mean().asscalar()
y_hat = nd.array([[0.1, 0.3, 0.6], [0.3, 0.2, 0.5]])
y = nd.array([0, 2], dtype="int32")
nd.pick(y_hat, y), cross_entropy(y_hat, y), accuracy(y_hat, y)
# %%
def gram(X):
    num_channels, n = X.shape[1], X.size // X.shape[1]
    X = X.reshape((num_channels, n))
    return nd.dot(X, X.T) / (num_channels * n)
def tv_loss(Y_hat):
    return 0.5 * ((Y_hat[:, :, 1:, :] - Y_hat[:, :, :-1, :]).abs().mean() + (Y_hat[:, :, :, 1:] - Y_hat[:, :, :, :-1]).abs().mean())
class GeneratedImage(nn.Block):
    def __init__(self, img_shape, **kwargs):
        super(GeneratedImage, self).__init__(**kwargs)
        self.weight = self.params.get("weight", shape=img_shape)
    def forward(self):
        return self.weight.data()
gen = GeneratedImage((1, 2, 4, 4))
gen.initialize(init.Constant(nd.array(np.arange(32).reshape((1, 2, 4, 4)) % 5)), ctx=mx.cpu(), force_reinit=True)
trainer = gluon.Trainer(gen.collect_params(), "adam", {"learning_rate": 0.1})
for _ in range(3):
    with autograd.record():
        out = gen()
        l = tv_loss(out) + nd.square(gram(out) - 1).mean()
    l.backward()
    trainer.step(1)
    print(round(float(l.asscalar()), 4), trainer.learning_rate)
gen().sum()
# %%
def transpose_list(data):
    return list(zip(*data))
start = time.time()
nd.waitall()
time.time() - start < 5, transpose_list([(1, 2), (3, 4)])
