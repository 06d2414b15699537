# %% arrays
import mxnet as mx
from mxnet import np, npx
npx.set_np()
# %%
x = np.arange(12)
x
# %%
x.shape, x.size, x.dtype
# %%
X = x.reshape(3, 4)
X
# %%
np.zeros((2, 3, 4)), np.ones((2, 3))
# %%
np.array([[2, 1, 4, 3], [1, 2, 3, 4], [4, 3, 2, 1]])
# %%
x = np.array([1, 2, 4, 8])
y = np.array([2, 2, 2, 2])
x + y, x - y, x * y, x / y, x ** y
# %%
np.exp(x)
# %%
X = np.arange(12).reshape(3, 4)
Y = np.array([[2, 1, 4, 3], [1, 2, 3, 4], [4, 3, 2, 1]])
np.concatenate([X, Y], axis=0), np.concatenate([X, Y], axis=1)
# %%
X == Y
# %%
X.sum()
# %%
a = np.arange(3).reshape(3, 1)
b = np.arange(2).reshape(1, 2)
a + b
# %%
X[-1], X[1:3]
# %%
X[1, 2] = 9
X[0:2, :] = 12
X
# %%
Z = np.zeros_like(Y)
before = id(Z)
Z[:] = X + Y
id(Z) == before
# %%
A = X.asnumpy()
B = np.array(A)
type(A).__name__, type(B).__name__, type(B).__module__.split(".")[0] in ("mxnet",)
# %%
a = np.array([3.5])
a, a.item(), float(a), int(a)
# %% linear algebra
A = np.arange(20).reshape(5, 4)
A, A.T
# %%
B = np.array([[1, 2, 3], [2, 0, 4], [3, 4, 5]])
B == B.T
# %%
A.sum(axis=0), A.sum(axis=1), A.sum(axis=[0, 1])
# %%
A.mean(), A.sum() / A.size, A.mean(axis=0)
# %%
A / A.sum(axis=1, keepdims=True)
# %%
A.cumsum(axis=0)
# %%
x = np.arange(4)
y = np.ones(4)
np.dot(x, y), np.sum(x * y), np.dot(A, x), np.dot(A, np.ones((4, 3)))
# %%
u = np.array([3, -4])
np.linalg.norm(u), np.abs(u).sum(), np.linalg.norm(np.ones((4, 9)))
# %% derivatives
from mxnet import autograd
x = np.arange(4.0)
x.attach_grad()
x.grad
# %%
with autograd.record():
    y = 2 * np.dot(x, x)
y
# %%
y.backward()
x.grad, x.grad == 4 * x
# %%
with autograd.record():
    y = x.sum()
y.backward()
x.grad
# %%
with autograd.record():
    y = x * x
    u = y.detach()
    z = u * x
z.backward()
x.grad == u
# %%
def f(a):
    b = a * 2
    while np.linalg.norm(b) < 1000:
        b = b * 2
    if b.sum() > 0:
        c = b
    else:
        c = 100 * b
    return c

a = np.array(0.37)
a.attach_grad()
with autograd.record():
    d = f(a)
d.backward()
a.grad == d / a
# %% plots are made of numbers
x = np.arange(0, 3, 0.5)
x, np.sin(x), 3 * x ** 2 - 4 * x
# %% probability
fair = [1.0 / 6] * 6
counts = np.random.multinomial(1000, fair, size=(3,))
counts.shape, counts.sum(axis=1)
# %%
cum = np.cumsum(np.array([[1, 0, 2], [0, 3, 1]]), axis=0)
cum / cum.sum(axis=1, keepdims=True)
# %% regression by hand
def synthetic(w, b, n):
    X = np.array([[((i * 7 + j * 3) % 11) / 5.0 - 1 for j in range(len(w))] for i in range(n)])
    y = np.dot(X, w) + b
    return X, y.reshape((-1, 1))

true_w, true_b = np.array([2, -3.4]), 4.2
features, labels = synthetic(true_w, true_b, 100)
features[:2], labels[:2]
# %%
w = np.zeros((2, 1))
b = np.zeros(1)
w.attach_grad()
b.attach_grad()
for epoch in range(20):
    for i in range(0, 100, 10):
        X, y = features[i:i + 10], labels[i:i + 10]
        with autograd.record():
            l = (np.dot(X, w) + b - y) ** 2 / 2
        l.backward()
        for param in [w, b]:
            param[:] = param - 0.1 * param.grad / 10
w, b, l.mean()
# %% regression with gluon
from mxnet import gluon, init
from mxnet.gluon import nn
net = nn.Sequential()
net.add(nn.Dense(1))
net.initialize(init.Constant(0.01))
loss = gluon.loss.L2Loss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
dataset = gluon.data.ArrayDataset(features, labels)
data_iter = gluon.data.DataLoader(dataset, 10, shuffle=False)
X, y = next(iter(data_iter))
type(X).__name__, X.shape, y.shape
# %%
for epoch in range(3):
    for X, y in data_iter:
        with autograd.record():
            l = loss(net(X), y)
        l.backward()
        trainer.step(10)
    print(epoch, float(loss(net(features), labels).mean()))
# %%
net[0].weight.data(), net[0].bias.data()
# %%
net.collect_params()
# %% softmax regression by hand
X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
X.sum(0, keepdims=True), X.sum(1, keepdims=True)
# %%
def softmax(X):
    X_exp = np.exp(X)
    return X_exp / X_exp.sum(1, keepdims=True)
prob = softmax(X)
prob, prob.sum(1)
# %%
y = np.array([0, 2])
y_hat = np.array([[0.1, 0.3, 0.6], [0.3, 0.2, 0.5]])
y_hat[[0, 1], y], - np.log(y_hat[range(len(y_hat)), y])
# %%
def accuracy(y_hat, y):
    if len(y_hat.shape) > 1 and y_hat.shape[1] > 1:
        y_hat = y_hat.argmax(axis=1)
    cmp = y_hat.astype(y.dtype) == y
    return float(cmp.astype(y.dtype).sum())
accuracy(y_hat, y) / len(y)
# %% layers
x = np.arange(-2.0, 2.0, 0.5)
x.attach_grad()
with autograd.record():
    y = npx.relu(x)
y.backward()
y, x.grad
# %%
with autograd.record():
    y = npx.sigmoid(x)
y.backward()
y, x.grad
# %%
with autograd.record():
    y = np.tanh(x)
y.backward()
x.grad
# %%
class MLP(nn.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.hidden = nn.Dense(4, activation="relu")
        self.out = nn.Dense(2)

    def forward(self, X):
        return self.out(self.hidden(X))

net = MLP()
net.initialize(init.Constant(0.1))
net(np.ones((2, 5)))
# %%
net
# %%
class CenteredLayer(nn.Block):
    def forward(self, X):
        return X - X.mean()
CenteredLayer()(np.array([1, 2, 3, 4, 5]))
# %%
class MyDense(nn.Block):
    def __init__(self, units, in_units, **kwargs):
        super().__init__(**kwargs)
        self.weight = self.params.get("weight", shape=(in_units, units))
        self.bias = self.params.get("bias", shape=(units,))

    def forward(self, x):
        linear = np.dot(x, self.weight.data(ctx=x.ctx)) + self.bias.data(ctx=x.ctx)
        return npx.relu(linear)
dense = MyDense(units=3, in_units=5)
dense.initialize(init.One())
dense(np.ones((2, 5)))
# %%
x = np.arange(4)
npx.save("x-file", x)
npx.load("x-file")
# %%
npx.save("x-files", {"x": x, "y": np.zeros(2)})
npx.load("x-files")
# %% convolution by hand
def corr2d(X, K):
    h, w = K.shape
    Y = np.zeros((X.shape[0] - h + 1, X.shape[1] - w + 1))
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            Y[i, j] = (X[i:i + h, j:j + w] * K).sum()
    return Y
corr2d(np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]]), np.array([[0, 1], [2, 3]]))
# %%
def comp_conv2d(conv2d, X):
    conv2d.initialize()
    X = X.reshape((1, 1) + X.shape)
    Y = conv2d(X)
    return Y.reshape(Y.shape[2:])
conv2d = nn.Conv2D(1, kernel_size=(5, 3), padding=(2, 1))
comp_conv2d(conv2d, np.ones((8, 8))).shape
# %%
X = np.arange(16).reshape(1, 1, 4, 4)
nn.MaxPool2D(3)(X), nn.MaxPool2D(3, padding=1, strides=2)(X)
# %%
X = np.concatenate((X, X + 1), axis=1)
nn.MaxPool2D(3, padding=1, strides=2)(X)
# %% batch norm by hand
def batch_norm(X, gamma, beta, moving_mean, moving_var, eps, momentum):
    if not autograd.is_training():
        X_hat = (X - moving_mean) / np.sqrt(moving_var + eps)
    else:
        mean = X.mean(axis=(0, 2, 3), keepdims=True)
        var = ((X - mean) ** 2).mean(axis=(0, 2, 3), keepdims=True)
        X_hat = (X - mean) / np.sqrt(var + eps)
        moving_mean = momentum * moving_mean + (1.0 - momentum) * mean
        moving_var = momentum * moving_var + (1.0 - momentum) * var
    return gamma * X_hat + beta, moving_mean, moving_var
shape = (1, 2, 1, 1)
with autograd.train_mode():
    out = batch_norm(X, np.ones(shape), np.zeros(shape), np.zeros(shape), np.ones(shape), 1e-12, 0.9)
out[0][0, 0], out[1], out[2]
# %% LeNet
net = nn.Sequential()
net.add(nn.Conv2D(channels=6, kernel_size=5, padding=2, activation="sigmoid"),
        nn.AvgPool2D(pool_size=2, strides=2),
        nn.Conv2D(channels=16, kernel_size=5, activation="sigmoid"),
        nn.AvgPool2D(pool_size=2, strides=2),
        nn.Dense(120, activation="sigmoid"),
        nn.Dense(84, activation="sigmoid"),
        nn.Dense(10))
X = np.ones((1, 1, 28, 28))
net.initialize()
for layer in net:
    X = layer(X)
    print(layer.name.rstrip("0123456789"), "output shape:", X.shape)
# %% text
tokens = "the time machine by the time traveller".split()
vocab = {t: i for i, t in enumerate(sorted(set(tokens)))}
corpus = np.array([vocab[t] for t in tokens])
npx.one_hot(corpus, len(vocab)).shape, npx.one_hot(np.array([0, 2]), 3)
# %%
X = np.arange(10).reshape((2, 5))
npx.one_hot(X.T, 28).shape
# %% recurrent by hand
W_xh, W_hh, b_h = np.ones((3, 4)) * 0.1, np.ones((4, 4)) * 0.2, np.zeros(4)
H = np.zeros((2, 4))
for X in npx.one_hot(np.array([[0, 1, 2], [2, 1, 0]]).T, 3):
    H = np.tanh(np.dot(X, W_xh) + np.dot(H, W_hh) + b_h)
H
# %% recurrent layers
from mxnet.gluon import rnn
layer = rnn.RNN(4)
layer.initialize(init.Constant(0.1))
state = layer.begin_state(batch_size=2)
len(state), state[0].shape
# %%
Y, state_new = layer(np.ones((3, 2, 5)), state)
Y.shape, len(state_new), Y[2], state_new[0].shape
# %%
for cell in (rnn.GRU(4), rnn.LSTM(4, num_layers=2)):
    cell.initialize(init.Constant(0.1))
    Y, state = cell(np.ones((3, 2, 5)), cell.begin_state(batch_size=2))
    print(Y.shape, [s.shape for s in state], Y[2, 0])
# %% attention
queries, keys = np.ones((2, 1, 4)), np.ones((2, 6, 4))
scores = npx.batch_dot(queries, keys, transpose_b=True) / 2
npx.softmax(scores)
# %%
def sequence_mask(X, valid_len, value=0):
    return npx.sequence_mask(X, valid_len, True, value=value, axis=0)
sequence_mask(np.arange(12).reshape(4, 3), np.array([1, 3, 2]), -1)
# %%
def masked_softmax(X, valid_lens):
    shape = X.shape
    valid_lens = valid_lens.repeat(shape[1])
    X = npx.sequence_mask(X.reshape(-1, shape[-1]), valid_lens, True, value=-1e6, axis=1)
    return npx.softmax(X).reshape(shape)
masked_softmax(np.ones((2, 2, 4)), np.array([2, 3]))
# %%
P = np.zeros((1, 6, 4))
X = np.arange(6).reshape(-1, 1) / np.power(10000, np.arange(0, 4, 2) / 4)
P[:, :, 0::2] = np.sin(X)
P[:, :, 1::2] = np.cos(X)
P
# %%
ln = nn.LayerNorm()
ln.initialize()
bn = nn.BatchNorm()
bn.initialize()
X = np.array([[1, 2], [2, 3]])
with autograd.record():
    print("layer norm:", ln(X), "batch norm:", bn(X))
# %% optimizers by hand
v = np.zeros(2)
x = np.array([-5.0, -2.0])
for t in range(20):
    g = np.array([0.2 * x[0], 4 * x[1]])
    v = 0.5 * v + g
    x = x - 0.4 * v
x
# %% boxes
def box_corner_to_center(boxes):
    x1, y1, x2, y2 = boxes[:, 0], boxes[:, 1], boxes[:, 2], boxes[:, 3]
    return np.stack(((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1), axis=-1)
box_corner_to_center(np.array([[60.0, 45.0, 378.0, 516.0], [400.0, 112.0, 655.0, 493.0]]))
# %%
boxes = npx.multibox_prior(np.zeros((1, 3, 2, 2)), sizes=[0.75, 0.5], ratios=[1, 2])
boxes.shape, boxes[0, :3]
# %%
X = np.arange(16).reshape(1, 1, 4, 4)
rois = np.array([[0, 0, 0, 20, 20], [0, 0, 10, 30, 30]])
npx.roi_pooling(X, rois, pooled_size=(2, 2), spatial_scale=0.1)
# %% transposed convolution
X, K = np.array([[0.0, 1.0], [2.0, 3.0]]).reshape(1, 1, 2, 2), np.array([[0.0, 1.0], [2.0, 3.0]]).reshape(1, 1, 2, 2)
tconv = nn.Conv2DTranspose(1, kernel_size=2)
tconv.initialize(init.Constant(K))
tconv(X)
# %% embedding
embed = nn.Embedding(input_dim=20, output_dim=4)
embed.initialize(init.Constant(0.5))
embed(np.array([[1, 2, 3], [4, 5, 6]])).shape, embed.weight
# %% higher dimensions
np.meshgrid(np.linspace(-1, 1, 3), np.linspace(0, 1, 2))
# %%
a = np.random.normal(0, 1, size=(3, 4))
np.stack([a, a]).shape, np.expand_dims(a, 0).shape, np.squeeze(np.expand_dims(a, 0)).shape, np.tile(a, (2, 1)).shape
# %%
np.where(np.array([1, 0, 1]) > 0, 1.0, -1.0), np.argmax(np.array([1, 3, 2])), np.maximum(np.array([1, 5]), 3)
# %%
mask = np.array([True, False, True])
np.arange(3)[mask]
# %%
x = np.array([1, 2], dtype="int32")
x, x + 1, x / 2, x * 1.5, x.mean(), x.sum(), x.astype("float16"), x.astype(np.float64)
# %%
np.array([1.5, 2], ctx=npx.cpu()).ctx, npx.num_gpus() >= 0, npx.cpu()
# %%
x = np.ones((2, 3)) * 7
y = x.reshape(-1)
y[0] = 100
x
# %%
x = np.array([[1, 2], [3, 4]])
x.tolist(), x.flatten(), x.max(axis=1), x.argmax(), x.swapaxes(0, 1), x.astype(bool).all(), x.repeat(2, axis=0)
# %%
npx.reset_np()
mx.nd.array([1, 2]).sum()
