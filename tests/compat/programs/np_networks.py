# %% set-up
import math
import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn, rnn
npx.set_np()
def filled(shape, k=0, scale=0.4):
    n = int(onp.prod(shape)) if shape else 1
    return np.array((onp.sin(onp.arange(n) * 0.7 + k) * scale).reshape(shape).astype("float32"))
def fill(net):
    for k, p in enumerate(net.collect_params().values()):
        if p.name.endswith("gamma") or p.name.endswith("running_var"):
            p.set_data(np.ones(p.shape))
        elif p.name.endswith("running_mean"):
            p.set_data(np.zeros(p.shape))
        else:
            p.set_data(filled(p.shape, k, 1.0 / math.sqrt(max(1, int(onp.prod(p.shape[1:]))))))
# %% dot-product attention with several heads
def masked_softmax(X, valid_lens):
    if valid_lens is None:
        return npx.softmax(X)
    shape = X.shape
    if valid_lens.ndim == 1:
        valid_lens = valid_lens.repeat(shape[1])
    else:
        valid_lens = valid_lens.reshape(-1)
    X = npx.sequence_mask(X.reshape(-1, shape[-1]), valid_lens, True, value=-1e6, axis=1)
    return npx.softmax(X).reshape(shape)
class DotProductAttention(nn.Block):
    def __init__(self, dropout, **kwargs):
        super().__init__(**kwargs)
        self.dropout = nn.Dropout(dropout)
    def forward(self, queries, keys, values, valid_lens=None):
        d = queries.shape[-1]
        scores = npx.batch_dot(queries, keys, transpose_b=True) / math.sqrt(d)
        self.attention_weights = masked_softmax(scores, valid_lens)
        return npx.batch_dot(self.dropout(self.attention_weights), values)
class AdditiveAttention(nn.Block):
    def __init__(self, num_hiddens, dropout, **kwargs):
        super().__init__(**kwargs)
        self.W_k = nn.Dense(num_hiddens, use_bias=False, flatten=False)
        self.W_q = nn.Dense(num_hiddens, use_bias=False, flatten=False)
        self.w_v = nn.Dense(1, use_bias=False, flatten=False)
        self.dropout = nn.Dropout(dropout)
    def forward(self, queries, keys, values, valid_lens):
        queries, keys = self.W_q(queries), self.W_k(keys)
        features = np.expand_dims(queries, axis=2) + np.expand_dims(keys, axis=1)
        scores = np.squeeze(self.w_v(np.tanh(features)), axis=-1)
        self.attention_weights = masked_softmax(scores, valid_lens)
        return npx.batch_dot(self.dropout(self.attention_weights), values)
keys = filled((2, 10, 2), 1)
values = np.arange(40).reshape(1, 10, 4).repeat(2, axis=0)
valid_lens = np.array([2, 6])
attention = DotProductAttention(0.5)
attention.initialize()
attention(filled((2, 1, 2)), keys, values, valid_lens), attention.attention_weights
# %%
attention = AdditiveAttention(8, 0.1)
attention.initialize()
attention(filled((2, 1, 20)), keys, values, valid_lens)
fill(attention)
attention(filled((2, 1, 20)), keys, values, valid_lens)
# %%
def transpose_qkv(X, num_heads):
    X = X.reshape(X.shape[0], X.shape[1], num_heads, -1).transpose(0, 2, 1, 3)
    return X.reshape(-1, X.shape[2], X.shape[3])
def transpose_output(X, num_heads):
    X = X.reshape(-1, num_heads, X.shape[1], X.shape[2]).transpose(0, 2, 1, 3)
    return X.reshape(X.shape[0], X.shape[1], -1)
class MultiHeadAttention(nn.Block):
    def __init__(self, num_hiddens, num_heads, dropout, use_bias=False, **kwargs):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.attention = DotProductAttention(dropout)
        self.W_q = nn.Dense(num_hiddens, use_bias=use_bias, flatten=False)
        self.W_k = nn.Dense(num_hiddens, use_bias=use_bias, flatten=False)
        self.W_v = nn.Dense(num_hiddens, use_bias=use_bias, flatten=False)
        self.W_o = nn.Dense(num_hiddens, use_bias=use_bias, flatten=False)
    def forward(self, queries, keys, values, valid_lens):
        queries = transpose_qkv(self.W_q(queries), self.num_heads)
        keys = transpose_qkv(self.W_k(keys), self.num_heads)
        values = transpose_qkv(self.W_v(values), self.num_heads)
        if valid_lens is not None:
            valid_lens = valid_lens.repeat(self.num_heads, axis=0)
        return self.W_o(transpose_output(self.attention(queries, keys, values, valid_lens), self.num_heads))
attention = MultiHeadAttention(8, 2, 0.5)
attention.initialize()
X = filled((2, 4, 8), 1)
attention(X, X, X, np.array([3, 2]))
fill(attention)
attention(X, X, X, np.array([3, 2]))
# %% a transformer trains
class PositionalEncoding(nn.Block):
    def __init__(self, num_hiddens, max_len=100):
        super().__init__()
        self.P = np.zeros((1, max_len, num_hiddens))
        X = np.arange(max_len).reshape(-1, 1) / np.power(10000, np.arange(0, num_hiddens, 2) / num_hiddens)
        self.P[:, :, 0::2] = np.sin(X)
        self.P[:, :, 1::2] = np.cos(X)
    def forward(self, X):
        return X + self.P[:, : X.shape[1], :].as_in_ctx(X.ctx)
class AddNorm(nn.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.ln = nn.LayerNorm()
    def forward(self, X, Y):
        return self.ln(Y + X)
class EncoderBlock(nn.Block):
    def __init__(self, num_hiddens, ffn, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.attention = MultiHeadAttention(num_hiddens, num_heads, 0)
        self.addnorm1, self.addnorm2 = AddNorm(), AddNorm()
        self.ffn = nn.Sequential()
        self.ffn.add(nn.Dense(ffn, flatten=False, activation="relu"), nn.Dense(num_hiddens, flatten=False))
    def forward(self, X, valid_lens):
        Y = self.addnorm1(X, self.attention(X, X, X, valid_lens))
        return self.addnorm2(Y, self.ffn(Y))
class Classifier(nn.Block):
    def __init__(self, vocab, num_hiddens, blocks, **kwargs):
        super().__init__(**kwargs)
        self.num_hiddens = num_hiddens
        self.embedding = nn.Embedding(vocab, num_hiddens)
        self.pos = PositionalEncoding(num_hiddens)
        self.blks = nn.Sequential()
        for _ in range(blocks):
            self.blks.add(EncoderBlock(num_hiddens, 16, 2))
        self.head = nn.Dense(2)
    def forward(self, tokens, valid_lens):
        X = self.pos(self.embedding(tokens) * math.sqrt(self.num_hiddens))
        for blk in self.blks:
            X = blk(X, valid_lens)
        return self.head(X[:, 0, :])
net = Classifier(9, 8, 2)
net.initialize()
tokens, lens, labels = np.array([[1, 2, 3, 0], [4, 5, 0, 0], [6, 7, 8, 1]]), np.array([3, 2, 4]), np.array([0, 1, 1])
net(tokens, lens)
fill(net)
loss = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
seen = []
for _ in range(4):
    with autograd.record():
        l = loss(net(tokens, lens), labels)
    l.backward()
    trainer.step(3)
    seen.append(round(float(l.mean()), 4))
seen
# %% residual network
class Residual(nn.Block):
    def __init__(self, num_channels, use_1x1conv=False, strides=1, **kwargs):
        super().__init__(**kwargs)
        self.conv1 = nn.Conv2D(num_channels, kernel_size=3, padding=1, strides=strides)
        self.conv2 = nn.Conv2D(num_channels, kernel_size=3, padding=1)
        self.conv3 = nn.Conv2D(num_channels, kernel_size=1, strides=strides) if use_1x1conv else None
        self.bn1, self.bn2 = nn.BatchNorm(), nn.BatchNorm()
    def forward(self, X):
        Y = npx.relu(self.bn1(self.conv1(X)))
        Y = self.bn2(self.conv2(Y))
        if self.conv3:
            X = self.conv3(X)
        return npx.relu(Y + X)
net = nn.Sequential()
net.add(nn.Conv2D(4, kernel_size=3, padding=1), nn.BatchNorm(), nn.Activation("relu"),
        Residual(4), Residual(6, use_1x1conv=True, strides=2), nn.GlobalAvgPool2D(), nn.Dense(3))
net.initialize()
X, y = filled((2, 1, 8, 8), 4, 1.0), np.array([0, 2])
net(X)
fill(net)
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
for _ in range(3):
    with autograd.record():
        l = loss(net(X), y)
    l.backward()
    trainer.step(2)
    print(l)
# %%
net(X), [(p.name.split("_")[-1], p.data().shape) for p in net.collect_params().values()][:8]
# %% masked language model
class MaskLM(nn.Block):
    def __init__(self, vocab, num_hiddens, **kwargs):
        super().__init__(**kwargs)
        self.mlp = nn.Sequential()
        self.mlp.add(nn.Dense(num_hiddens, flatten=False, activation="relu"), nn.LayerNorm(), nn.Dense(vocab, flatten=False))
    def forward(self, X, pred_positions):
        num_pred = pred_positions.shape[1]
        pred_positions = pred_positions.reshape(-1)
        batch_idx = np.repeat(np.arange(0, X.shape[0]), num_pred)
        return self.mlp(X[batch_idx, pred_positions].reshape((X.shape[0], num_pred, -1)))
mlm = MaskLM(7, 6)
mlm.initialize()
X, places = filled((2, 5, 6), 3, 1.0), np.array([[1, 3], [0, 4]])
mlm(X, places)
fill(mlm)
X.attach_grad()
with autograd.record():
    l = loss(mlm(X, places).reshape((-1, 7)), np.array([1, 2, 3, 4]))
l.backward()
l, X.grad[:, 1]
# %% skip-gram
center, contexts = np.array([[1], [2]]), np.array([[0, 3, 4], [2, 2, 1]])
embed_v, embed_u = nn.Embedding(6, 4), nn.Embedding(6, 4)
for e in (embed_v, embed_u):
    e.initialize()
    fill(e)
pred = npx.batch_dot(embed_v(center), embed_u(contexts).swapaxes(1, 2))
mask, label = np.array([[1, 1, 0], [1, 1, 1]]), np.array([[1, 0, 0], [1, 0, 0]])
l = gluon.loss.SigmoidBCELoss()(pred.reshape(label.shape), label, mask)
pred, l * mask.shape[1] / mask.sum(axis=1)
# %% recurrent network by hand, with clipping
def rnn_step(inputs, state, params):
    W_xh, W_hh, b_h, W_hq, b_q = params
    H, = state
    outputs = []
    for X in inputs:
        H = np.tanh(np.dot(X, W_xh) + np.dot(H, W_hh) + b_h)
        outputs.append(np.dot(H, W_hq) + b_q)
    return np.concatenate(outputs, axis=0), (H,)
params = [filled(s, k) for k, s in enumerate([(5, 4), (4, 4), (4,), (4, 5), (5,)])]
for p in params:
    p.attach_grad()
X, Y = np.array([[0, 1, 2], [3, 4, 0]]), np.array([[1, 2, 3], [4, 0, 1]])
seen = []
for _ in range(3):
    with autograd.record():
        out, _state = rnn_step(npx.one_hot(X.T, 5), (np.zeros((2, 4)),), params)
        l = loss(out, Y.T.reshape(-1)).mean()
    l.backward()
    norm = math.sqrt(sum((p.grad ** 2).sum() for p in params))
    if norm > 0.1:
        for p in params:
            p.grad[:] *= 0.1 / norm
    for p in params:
        p[:] = p - 5 * p.grad
    seen.append((round(float(l), 4), round(norm, 4)))
seen
# %% an own layer, an own initializer
class MyInit(init.Initializer):
    def _init_weight(self, name, data):
        data[:] = filled(data.shape, 1, 2.0)
        data *= np.abs(data) >= 0.5
class MyDense(nn.Block):
    def __init__(self, units, in_units, **kwargs):
        super().__init__(**kwargs)
        self.weight = self.params.get("weight", shape=(in_units, units))
        self.bias = self.params.get("bias", shape=(units,))
    def forward(self, x):
        return npx.relu(np.dot(x, self.weight.data(ctx=x.ctx)) + self.bias.data(ctx=x.ctx))
dense = MyDense(units=3, in_units=5)
dense.initialize(MyInit())
dense(filled((2, 5))), dense.weight.data()
# %% shared parameters
net = nn.Sequential()
shared = nn.Dense(8, activation="relu", in_units=8)
net.add(nn.Dense(8, activation="relu", in_units=4), shared, nn.Dense(8, activation="relu", params=shared.params, in_units=8), nn.Dense(2, in_units=8))
net.initialize()
fill(net)
net(filled((2, 4)))
net[1].weight.data()[0] == net[2].weight.data()[0]
# %%
net[1].weight.data()[0, 0] = 100
net[1].weight.data()[0] == net[2].weight.data()[0], len(list(net.collect_params()))
# %% hybrid blocks in NumPy's manner
class Hybrid(nn.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.hidden = nn.Dense(6, in_units=4)
        self.output = nn.Dense(2, in_units=6)
    def hybrid_forward(self, F, x):
        x = F.npx.relu(self.hidden(x))
        x = F.np.exp(x * 0.1) - F.np.mean(x, axis=1, keepdims=True)
        return self.output(x)
net = Hybrid()
net.initialize()
fill(net)
a = net(filled((3, 4)))
net.hybridize()
b = net(filled((3, 4)))
float(np.abs(a - b).max()), b
# %%
x = filled((3, 4))
x.attach_grad()
with autograd.record():
    l = np.sum(net(x) ** 2)
l.backward()
x.grad
# %% deep recurrent networks
for layer in (rnn.LSTM(5, 2), rnn.GRU(4, bidirectional=True), rnn.RNN(4, activation="tanh", layout="NTC")):
    layer.initialize()
    X = filled((3, 2, 6), 2, 1.0)
    state = layer.begin_state(batch_size=X.shape[0 if layer._layout == "NTC" else 1])
    layer(X, state)
    fill(layer)
    Y, state = layer(X, state)
    print(Y.shape, [s.shape for s in state], Y[-1, 0], state[0][0, 0])
# %% convolutions of text
conv = nn.Conv1D(3, 2)
conv.initialize()
X = filled((2, 4, 6), 0, 1.0)
conv(X)
fill(conv)
np.squeeze(nn.GlobalMaxPool1D()(npx.relu(conv(X))), axis=-1)
# %% upsampling with bilinear weights
def bilinear_kernel(in_channels, out_channels, size):
    factor = (size + 1) // 2
    center = factor - 1 if size % 2 == 1 else factor - 0.5
    og = (np.arange(size).reshape(-1, 1), np.arange(size).reshape(1, -1))
    filt = (1 - np.abs(og[0] - center) / factor) * (1 - np.abs(og[1] - center) / factor)
    weight = np.zeros((in_channels, out_channels, size, size))
    weight[range(in_channels), range(out_channels), :, :] = filt
    return np.array(weight)
trans = nn.Conv2DTranspose(2, kernel_size=4, padding=1, strides=2)
trans.initialize(init.Constant(bilinear_kernel(2, 2, 4)))
trans(filled((1, 2, 3, 3), 0, 1.0))
# %% boxes by hand
def box_iou(boxes1, boxes2):
    area = lambda b: (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    upper_left = np.maximum(boxes1[:, None, :2], boxes2[:, :2])
    lower_right = np.minimum(boxes1[:, None, 2:], boxes2[:, 2:])
    inter = (lower_right - upper_left).clip(min=0)
    inter = inter[:, :, 0] * inter[:, :, 1]
    return inter / (area(boxes1)[:, None] + area(boxes2) - inter)
anchors = np.array([[0, 0.1, 0.2, 0.3], [0.15, 0.2, 0.4, 0.4], [0.63, 0.05, 0.88, 0.98], [0.66, 0.45, 0.8, 0.8], [0.57, 0.3, 0.92, 0.9]])
truth = np.array([[0.1, 0.08, 0.52, 0.92], [0.55, 0.2, 0.9, 0.88]])
iou = box_iou(anchors, truth)
iou, np.argmax(iou, axis=1), np.max(iou, axis=1)
# %%
best = np.nonzero(np.max(iou, axis=1) >= 0.1)[0]
assigned = np.full((5,), -1, dtype=np.int32)
assigned[best] = np.argmax(iou, axis=1)[best].astype(np.int32)
assigned
# %% files
import os, tempfile
folder = tempfile.mkdtemp()
npx.save(os.path.join(folder, "x.npy"), [filled((2,)), filled((3,))])
npx.load(os.path.join(folder, "x.npy"))
# %%
npx.save(os.path.join(folder, "d"), {"a": filled((2, 2)), "b": np.arange(3)})
sorted(npx.load(os.path.join(folder, "d")).items())
# %% summary of a network
net = nn.HybridSequential()
net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.MaxPool2D(2), nn.Dense(5))
net.initialize()
net.summary(np.zeros((1, 1, 8, 8)))
