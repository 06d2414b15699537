"""Networks from scratch: the programs of early tutorials, with made-up data."""

from __future__ import print_function
import math
import random
import numpy as np
import mxnet as mx
from mxnet import nd, autograd, gluon
mx.random.seed(1)
data_ctx = mx.cpu()
model_ctx = mx.cpu()
np.random.seed(1)
num_inputs, num_outputs, num_examples = 2, 1, 200
def real_fn(X):
    return 2 * X[:, 0] - 3.4 * X[:, 1] + 4.2
X = nd.array(np.random.normal(size=(num_examples, num_inputs)), ctx=data_ctx)
noise = 0.1 * nd.array(np.random.normal(size=(num_examples,)), ctx=data_ctx)
y = real_fn(X) + noise
print(X[0], y[0], 2 * X[0, 0] - 3.4 * X[0, 1] + 4.2)
# %%
batch_size = 4
train_data = gluon.data.DataLoader(gluon.data.ArrayDataset(X, y), batch_size=batch_size, shuffle=False)
for i, (data, label) in enumerate(train_data):
    print(data, label)
    break
len(train_data)
# %%
w = nd.ones(shape=(num_inputs, num_outputs), ctx=model_ctx) * 0.1
b = nd.zeros(shape=num_outputs, ctx=model_ctx)
params = [w, b]
for param in params:
    param.attach_grad()
def net(X):
    return mx.nd.dot(X, w) + b
def square_loss(yhat, y):
    return nd.mean((yhat - y) ** 2)
def SGD(params, lr):
    for param in params:
        param[:] = param - lr * param.grad
losses = []
for e in range(3):
    cumulative_loss = 0
    for i, (data, label) in enumerate(train_data):
        data = data.as_in_context(model_ctx)
        label = label.as_in_context(model_ctx).reshape((-1, 1))
        with autograd.record():
            output = net(data)
            loss = square_loss(output, label)
        loss.backward()
        SGD(params, .0005 * 100)
        cumulative_loss += loss.asscalar()
    print("Epoch %d, batch %d. Mean loss: %s" % (e, i, round(float(cumulative_loss / len(train_data)), 4)))
    losses.append(cumulative_loss / len(train_data))
params
# %%
num_inputs, num_hidden, num_outputs = 16, 12, 3
inputs = nd.array(np.random.normal(size=(90, num_inputs)))
targets = nd.array((np.arange(90) % 3).astype("float32"))
inputs = inputs + targets.reshape((-1, 1))
W1 = nd.array(np.random.normal(scale=.1, size=(num_inputs, num_hidden)))
b1 = nd.zeros((num_hidden,))
W2 = nd.array(np.random.normal(scale=.1, size=(num_hidden, num_outputs)))
b2 = nd.zeros(num_outputs)
params = [W1, b1, W2, b2]
for param in params:
    param.attach_grad()
def relu(X):
    return nd.maximum(X, nd.zeros_like(X))
def softmax(y_linear):
    exp = nd.exp(y_linear - nd.max(y_linear, axis=1).reshape((-1, 1)))
    partition = nd.nansum(exp, axis=0, exclude=True).reshape((-1, 1))
    return exp / partition
def cross_entropy(yhat, y):
    return -nd.nansum(y * nd.log(yhat), axis=0, exclude=True)
def softmax_cross_entropy(yhat_linear, y):
    return -nd.nansum(y * nd.log_softmax(yhat_linear), axis=0, exclude=True)
def net(X):
    h1 = relu(nd.dot(X, W1) + b1)
    return nd.dot(h1, W2) + b2
def evaluate_accuracy(data_iterator, net):
    numerator = 0.
    denominator = 0.
    for i, (data, label) in enumerate(data_iterator):
        output = net(data.reshape((-1, num_inputs)))
        predictions = nd.argmax(output, axis=1)
        numerator += nd.sum(predictions == label)
        denominator += data.shape[0]
    return (numerator / denominator).asscalar()
batches = gluon.data.DataLoader(gluon.data.ArrayDataset(inputs, targets), 15)
for e in range(4):
    cumulative_loss = 0
    for i, (data, label) in enumerate(batches):
        label_one_hot = nd.one_hot(label, 3)
        with autograd.record():
            output = net(data)
            loss = softmax_cross_entropy(output, label_one_hot)
        loss.backward()
        SGD(params, .01)
        cumulative_loss += nd.sum(loss).asscalar()
    print("Epoch %s. Loss: %.3f, Train_acc %.3f" % (e, cumulative_loss / 90, evaluate_accuracy(batches, net)))
softmax(net(inputs[:2])), cross_entropy(softmax(net(inputs[:2])), nd.one_hot(targets[:2], 3))
# %%
def dropout(X, drop_probability):
    keep_probability = 1 - drop_probability
    mask = nd.random_uniform(0, 1.0, X.shape, ctx=X.context) < keep_probability
    if keep_probability > 0.0:
        scale = (1 / keep_probability)
    else:
        scale = 0.0
    return mask * X * scale
A = nd.arange(20).reshape((5, 4))
dropout(A, 0.0), dropout(A, 1.0), dropout(A, 0.5).shape
# %%
def pure_batch_norm(X, gamma, beta, eps=1e-5):
    if len(X.shape) not in (2, 4):
        raise ValueError("only supports dense or 2dconv")
    if len(X.shape) == 2:
        mean = nd.mean(X, axis=0)
        variance = nd.mean((X - mean) ** 2, axis=0)
        X_hat = (X - mean) * 1.0 / nd.sqrt(variance + eps)
        out = gamma * X_hat + beta
    elif len(X.shape) == 4:
        N, C, H, W = X.shape
        mean = nd.mean(X, axis=(0, 2, 3))
        variance = nd.mean((X - mean.reshape((1, C, 1, 1))) ** 2, axis=(0, 2, 3))
        X_hat = (X - mean.reshape((1, C, 1, 1))) * 1.0 / nd.sqrt(variance.reshape((1, C, 1, 1)) + eps)
        out = gamma.reshape((1, C, 1, 1)) * X_hat + beta.reshape((1, C, 1, 1))
    return out
A = nd.array([1, 7, 5, 4, 6, 10], ctx=model_ctx).reshape((3, 2))
B = nd.array([1, 6, 5, 7, 4, 3, 2, 5, 6, 3, 2, 4, 5, 3, 2, 5, 6], ctx=model_ctx)[0:16].reshape((2, 2, 2, 2))
pure_batch_norm(A, gamma=nd.array([1, 1]), beta=nd.array([0, 0])), pure_batch_norm(B, nd.array([1, 1]), nd.array([0, 0]))
# %%
weight_scale = .1
W1 = nd.array(np.random.normal(scale=weight_scale, size=(4, 1, 3, 3)))
b1 = nd.array(np.random.normal(scale=weight_scale, size=4))
W2 = nd.array(np.random.normal(scale=weight_scale, size=(5, 4, 3, 3)))
b2 = nd.array(np.random.normal(scale=weight_scale, size=5))
W3 = nd.array(np.random.normal(scale=weight_scale, size=(20, 8)))
b3 = nd.array(np.random.normal(scale=weight_scale, size=8))
params = [W1, b1, W2, b2, W3, b3]
for param in params:
    param.attach_grad()
def net(X, debug=False):
    h1_conv = nd.Convolution(data=X, weight=W1, bias=b1, kernel=(3, 3), num_filter=4)
    h1_activation = relu(h1_conv)
    h1 = nd.Pooling(data=h1_activation, pool_type="avg", kernel=(2, 2), stride=(2, 2))
    if debug:
        print("h1 shape: %s" % (np.array(h1.shape)))
    h2_conv = nd.Convolution(data=h1, weight=W2, bias=b2, kernel=(3, 3), num_filter=5)
    h2 = nd.Pooling(data=relu(h2_conv), pool_type="max", kernel=(2, 2), stride=(2, 2))
    if debug:
        print("h2 shape: %s" % (np.array(h2.shape)))
    h2 = nd.flatten(h2)
    if debug:
        print("Flat h2 shape: %s" % (np.array(h2.shape)))
    return nd.dot(h2, W3) + b3
images = nd.array(np.random.normal(size=(6, 1, 14, 14)))
with autograd.record():
    out = net(images, debug=True)
    loss = softmax_cross_entropy(out, nd.one_hot(nd.arange(6), 8))
loss.backward()
out, loss, [p.grad.norm().asscalar() for p in params]
# %%
vocab, hidden = 5, 4
Wxh = nd.array(np.random.normal(size=(vocab, hidden))) * .1
Whh = nd.array(np.random.normal(size=(hidden, hidden))) * .1
bh = nd.zeros(hidden)
Why = nd.array(np.random.normal(size=(hidden, vocab))) * .1
by = nd.zeros(vocab)
params = [Wxh, Whh, bh, Why, by]
for param in params:
    param.attach_grad()
def softmax_t(y_linear, temperature=1.0):
    lin = (y_linear - nd.max(y_linear, axis=1).reshape((-1, 1))) / temperature
    exp = nd.exp(lin)
    partition = nd.sum(exp, axis=0, exclude=True).reshape((-1, 1))
    return exp / partition
def simple_rnn(inputs, state, temperature=1.0):
    outputs = []
    h = state
    for X in inputs:
        h_linear = nd.dot(X, Wxh) + nd.dot(h, Whh) + bh
        h = nd.tanh(h_linear)
        yhat_linear = nd.dot(h, Why) + by
        outputs.append(softmax_t(yhat_linear, temperature=temperature))
    return (outputs, h)
def average_ce_loss(outputs, labels):
    assert len(outputs) == len(labels)
    total_loss = nd.array([0.], ctx=model_ctx)
    for (output, label) in zip(outputs, labels):
        total_loss = total_loss + cross_entropy(output, label).mean()
    return total_loss / len(outputs)
seq = nd.one_hot(nd.array([[0, 1], [2, 3], [4, 0]]), vocab)
labels = nd.one_hot(nd.array([[1, 2], [3, 4], [0, 1]]), vocab)
losses = []
for step in range(5):
    with autograd.record():
        outputs, state = simple_rnn(seq, nd.zeros((2, hidden)))
        loss = average_ce_loss(outputs, labels)
    loss.backward()
    norm = nd.array([0.0])
    for param in params:
        norm += nd.sum(param.grad ** 2)
    norm = nd.sqrt(norm).asscalar()
    if norm > 0.2:
        for param in params:
            param.grad[:] *= 0.2 / norm
    SGD(params, 1.0)
    losses.append(float(loss.asscalar()))
losses
# %%
sqrs = [nd.zeros_like(p) for p in params]
vs = [p.zeros_like() for p in params]
def adam(params, vs, sqrs, lr, t, batch_size, beta1=0.9, beta2=0.999, eps_stable=1e-8):
    for param, v, sqr in zip(params, vs, sqrs):
        g = param.grad / batch_size
        v[:] = beta1 * v + (1. - beta1) * g
        sqr[:] = beta2 * sqr + (1. - beta2) * nd.square(g)
        v_bias_corr = v / (1. - beta1 ** t)
        sqr_bias_corr = sqr / (1. - beta2 ** t)
        div = lr * v_bias_corr / (nd.sqrt(sqr_bias_corr) + eps_stable)
        param[:] = param - div
def rmsprop(params, sqrs, lr, gamma, batch_size):
    for param, sqr in zip(params, sqrs):
        g = param.grad / batch_size
        sqr[:] = gamma * sqr + (1. - gamma) * nd.square(g)
        param[:] -= lr * g / nd.sqrt(sqr + 1e-8)
adam(params, vs, sqrs, 0.01, 1, 2)
rmsprop(params, sqrs, 0.01, 0.9, 2)
by, bh
# %%
def allreduce(data):
    for i in range(1, len(data)):
        data[0][:] += data[i].as_in_context(data[0].context)
    for i in range(1, len(data)):
        data[0].copyto(data[i])
data = [nd.ones((1, 2), ctx=mx.cpu(i)) * (i + 1) for i in range(2)]
allreduce(data)
data
# %%
def get_params(params, ctx):
    new_params = [p.copyto(ctx) for p in params]
    for p in new_params:
        p.attach_grad()
    return new_params
new = get_params([by, bh], mx.cpu(1))
[(p.context, p.grad) for p in new]
# %%
probabilities = nd.ones(6) / 6
nd.sample_multinomial(probabilities).shape, nd.sample_multinomial(probabilities, shape=(10)).shape, nd.sample_multinomial(probabilities, shape=(5, 10)).shape
# %%
rolls = nd.sample_multinomial(probabilities, shape=(1000))
counts = nd.zeros((6, 1000))
totals = nd.zeros(6)
for i, roll in enumerate(rolls[:50]):
    totals[int(roll.asscalar())] += 1
    counts[:, i] = totals
totals.sum(), counts[:, 49].sum(), (totals / 50).shape
# %%
u = nd.array([1, 2])
A = nd.array([[1, 2, 3], [4, 5, 6]])
nd.dot(u, u), nd.sum(A), nd.mean(A), nd.sum(A) / A.size, A.T, nd.norm(u), nd.sum(nd.abs(u)), A * 2 + 1, nd.dot(A.T, u)
# %%
def euclid(a, b):
    return nd.sqrt(nd.sum((a - b) ** 2))
euclid(u, nd.array([4, 6])).asscalar(), math.sqrt(euclid(u, u).asscalar())
# %%
def fill(W, i):
    W[i, :] = i
    W[:, 0] = -1
    return W
fill(nd.zeros((3, 3)), 2)
# %%
n = nd.zeros((3, 2))
n[1:3] = nd.arange(4).reshape((2, 2))
n[0, 1] = 7
n[:, 1] += 1
n[2] *= 10
n
# %%
def corr2d(X, K):
    h, w = K.shape
    Y = nd.zeros((X.shape[0] - h + 1, X.shape[1] - w + 1))
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            Y[i, j] = (X[i: i + h, j: j + w] * K).sum()
    return Y
X = nd.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]])
K = nd.array([[0, 1], [2, 3]])
corr2d(X, K)
# %%
X = nd.ones((6, 8))
X[:, 2:6] = 0
K = nd.array([[1, -1]])
Y = corr2d(X, K)
conv2d = gluon.nn.Conv2D(1, kernel_size=(1, 2), weight_initializer="zeros")
conv2d.initialize()
X = X.reshape((1, 1, 6, 8))
Y = Y.reshape((1, 1, 6, 7))
for i in range(10):
    with autograd.record():
        Y_hat = conv2d(X)
        l = (Y_hat - Y) ** 2
    l.backward()
    conv2d.weight.data()[:] -= 3e-2 * conv2d.weight.grad()
    if (i + 1) % 2 == 0:
        print("batch %d, loss %.3f" % (i + 1, l.sum().asscalar()))
conv2d.weight.data().reshape((1, 2))
# %%
def comp_conv2d(conv2d, X):
    conv2d.initialize()
    X = X.reshape((1, 1) + X.shape)
    Y = conv2d(X)
    return Y.reshape(Y.shape[2:])
comp_conv2d(gluon.nn.Conv2D(1, kernel_size=(3, 5), padding=(0, 1), strides=(3, 4)), nd.random.uniform(shape=(8, 8))).shape
# %%
def corr2d_multi_in(X, K):
    return nd.add_n(*[corr2d(x, k) for x, k in zip(X, K)])
X = nd.array([[[0, 1, 2], [3, 4, 5], [6, 7, 8]], [[1, 2, 3], [4, 5, 6], [7, 8, 9]]])
K = nd.array([[[0, 1], [2, 3]], [[1, 2], [3, 4]]])
corr2d_multi_in(X, K), nd.stack(*[corr2d_multi_in(X, k) for k in nd.stack(K, K + 1, K + 2)]).shape
# %%
class Residual(gluon.nn.Block):
    def __init__(self, num_channels, use_1x1conv=False, strides=1, **kwargs):
        super(Residual, self).__init__(**kwargs)
        self.conv1 = gluon.nn.Conv2D(num_channels, kernel_size=3, padding=1, strides=strides)
        self.conv2 = gluon.nn.Conv2D(num_channels, kernel_size=3, padding=1)
        if use_1x1conv:
            self.conv3 = gluon.nn.Conv2D(num_channels, kernel_size=1, strides=strides)
        else:
            self.conv3 = None
        self.bn1 = gluon.nn.BatchNorm()
        self.bn2 = gluon.nn.BatchNorm()
    def forward(self, X):
        Y = nd.relu(self.bn1(self.conv1(X)))
        Y = self.bn2(self.conv2(Y))
        if self.conv3:
            X = self.conv3(X)
        return nd.relu(Y + X)
blk = Residual(6, use_1x1conv=True, strides=2)
blk.initialize()
blk(nd.random.uniform(shape=(4, 3, 6, 6))).shape, blk
# %%
class Inception(gluon.nn.Block):
    def __init__(self, c1, c2, c3, c4, **kwargs):
        super().__init__(**kwargs)
        self.p1_1 = gluon.nn.Conv2D(c1, kernel_size=1, activation="relu")
        self.p2_1 = gluon.nn.Conv2D(c2[0], kernel_size=1, activation="relu")
        self.p2_2 = gluon.nn.Conv2D(c2[1], kernel_size=3, padding=1, activation="relu")
        self.p4_1 = gluon.nn.MaxPool2D(pool_size=3, strides=1, padding=1)
        self.p4_2 = gluon.nn.Conv2D(c4, kernel_size=1, activation="relu")
    def forward(self, x):
        p1 = self.p1_1(x)
        p2 = self.p2_2(self.p2_1(x))
        p4 = self.p4_2(self.p4_1(x))
        return nd.concat(p1, p2, p4, dim=1)
i = Inception(2, (3, 4), 1, 5)
i.initialize()
i(nd.ones((1, 3, 8, 8))).shape
