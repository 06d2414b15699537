# %% numbers for every parameter
import math
import numpy as onp
import mxnet as mx
from mxnet import autograd, gluon, init, nd
from mxnet.gluon import nn, rnn
def filled(shape, k=0, scale=0.4):
    n = int(onp.prod(shape)) if shape else 1
    return nd.array((onp.sin(onp.arange(n) * 0.7 + k) * scale).reshape(shape).astype("float32"))
def fill(net):
    for k, p in enumerate(net.collect_params().values()):
        if p.name.endswith("gamma") or p.name.endswith("running_var"):
            p.set_data(nd.ones(p.shape))
        elif p.name.endswith("running_mean"):
            p.set_data(nd.zeros(p.shape))
        else:
            p.set_data(filled(p.shape, k, 1.0 / math.sqrt(max(1, int(onp.prod(p.shape[1:]))))))
def numbers(net):
    return [round(float(p.data().abs().sum().asscalar()), 3) for p in net.collect_params().values()]
# %% a dense block
class DenseBlock(nn.HybridBlock):
    def __init__(self, convs, channels, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.net = nn.HybridSequential(prefix="")
            for _ in range(convs):
                part = nn.HybridSequential(prefix="")
                part.add(nn.BatchNorm(), nn.Activation("relu"),
                         nn.Conv2D(channels, kernel_size=3, padding=1))
                self.net.add(part)
    def hybrid_forward(self, F, x):
        for part in self.net:
            x = F.concat(x, part(x), dim=1)
        return x
net = nn.HybridSequential()
net.add(nn.Conv2D(4, 3, padding=1), DenseBlock(2, 3), nn.GlobalAvgPool2D(), nn.Dense(5))
net.initialize()
x = filled((2, 1, 8, 8), 3, 1.0)
net(x)
fill(net)
net(x)
# %%
net.hybridize()
net(x), numbers(net)
# %%
loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-3})
labels = nd.array([1, 4])
seen = []
for _ in range(4):
    with autograd.record():
        loss = loss_of(net(x), labels)
    loss.backward()
    trainer.step(2)
    seen.append(loss.mean().asscalar())
[round(float(v), 4) for v in seen], numbers(net)
# %% inception
class Inception(gluon.HybridBlock):
    def __init__(self, c1, c2, c3, c4, **kwargs):
        super().__init__(**kwargs)
        self.p1_1 = nn.Conv2D(c1, kernel_size=1, activation="relu")
        self.p2_1 = nn.Conv2D(c2[0], kernel_size=1, activation="relu")
        self.p2_2 = nn.Conv2D(c2[1], kernel_size=3, padding=1, activation="relu")
        self.p3_1 = nn.Conv2D(c3[0], kernel_size=1, activation="relu")
        self.p3_2 = nn.Conv2D(c3[1], kernel_size=5, padding=2, activation="relu")
        self.p4_1 = nn.MaxPool2D(pool_size=3, strides=1, padding=1)
        self.p4_2 = nn.Conv2D(c4, kernel_size=1, activation="relu")
    def hybrid_forward(self, F, x):
        p1 = self.p1_1(x)
        p2 = self.p2_2(self.p2_1(x))
        p3 = self.p3_2(self.p3_1(x))
        p4 = self.p4_2(self.p4_1(x))
        return F.concat(p1, p2, p3, p4, dim=1)
blk = Inception(2, (2, 3), (1, 2), 2)
blk.initialize()
x = filled((1, 3, 6, 6), 1, 1.0)
blk(x)
fill(blk)
y = blk(x)
y.shape, y[0, :, 2, 2]
# %%
blk.hybridize(static_alloc=True, static_shape=True)
x.attach_grad()
for _ in range(2):
    with autograd.record():
        y = blk(x)
        s = (y * y).sum()
    s.backward()
s, x.grad[0, 1]
# %% attention and a transformer's layer
class Attention(gluon.HybridBlock):
    def __init__(self, units, heads, **kwargs):
        super().__init__(**kwargs)
        self.heads = heads
        self.q = nn.Dense(units, use_bias=False, flatten=False)
        self.k = nn.Dense(units, use_bias=False, flatten=False)
        self.v = nn.Dense(units, use_bias=False, flatten=False)
        self.out = nn.Dense(units, use_bias=False, flatten=False)
    def split(self, F, x):
        x = F.reshape(x, shape=(0, 0, self.heads, -1))
        x = F.transpose(x, axes=(0, 2, 1, 3))
        return F.reshape(x, shape=(-1, 0, 0), reverse=True)
    def hybrid_forward(self, F, query, key, value, lens):
        q, k, v = (self.split(F, a) for a in (self.q(query), self.k(key), self.v(value)))
        scores = F.batch_dot(q, k, transpose_b=True) / 2
        lens = F.repeat(lens, repeats=self.heads, axis=0)
        weights = F.softmax(scores, axis=-1, length=F.broadcast_like(F.expand_dims(lens, 1), F.slice_axis(scores, axis=2, begin=0, end=1).squeeze(axis=2)).astype("int32"), use_length=True)
        out = F.batch_dot(weights, v)
        out = F.reshape(out, shape=(-1, self.heads, 0, 0), reverse=True)
        out = F.transpose(out, axes=(0, 2, 1, 3))
        return self.out(F.reshape(out, shape=(0, 0, -1)))
class Layer(gluon.HybridBlock):
    def __init__(self, units, heads, hidden, **kwargs):
        super().__init__(**kwargs)
        self.attention = Attention(units, heads)
        self.norm1 = nn.LayerNorm()
        self.ffn = nn.HybridSequential()
        self.ffn.add(nn.Dense(hidden, flatten=False, activation="relu"), nn.Dense(units, flatten=False))
        self.norm2 = nn.LayerNorm()
        self.dropout = nn.Dropout(0.5)
    def hybrid_forward(self, F, x, lens):
        y = self.norm1(x + self.dropout(self.attention(x, x, x, lens)))
        return self.norm2(y + self.ffn(y))
layer = Layer(8, 2, 12)
layer.initialize()
x, lens = filled((2, 4, 8), 2, 1.0), nd.array([3, 2])
layer(x, lens)
fill(layer)
layer(x, lens)
# %%
layer.hybridize()
layer(x, lens)
# %%
for p in layer.collect_params().values():
    print(p.name.split("_", 1)[1], p.shape)
# %% generator and discriminator
G = nn.HybridSequential()
G.add(nn.Conv2DTranspose(4, kernel_size=4, use_bias=False), nn.BatchNorm(), nn.Activation("relu"),
      nn.Conv2DTranspose(1, kernel_size=4, strides=2, padding=1, use_bias=False), nn.Activation("tanh"))
D = nn.HybridSequential()
D.add(nn.Conv2D(4, kernel_size=4, strides=2, padding=1, use_bias=False), nn.BatchNorm(), nn.LeakyReLU(0.2),
      nn.Conv2D(1, kernel_size=4, use_bias=False))
G.initialize(); D.initialize()
Z, X = filled((3, 5, 1, 1), 0, 1.0), filled((3, 1, 8, 8), 5, 1.0)
D(G(Z))
fill(G); fill(D)
hyper = {"learning_rate": 0.01, "beta1": 0.5}
trainers = gluon.Trainer(D.collect_params(), "adam", hyper), gluon.Trainer(G.collect_params(), "adam", hyper)
loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
ones, zeros = nd.ones((3,)), nd.zeros((3,))
seen = []
for _ in range(3):
    with autograd.record():
        fake = G(Z)
        loss_D = (loss(D(X), ones) + loss(D(fake.detach()), zeros)) / 2
    loss_D.backward()
    trainers[0].step(3)
    with autograd.record():
        loss_G = loss(D(G(Z)), ones)
    loss_G.backward()
    trainers[1].step(3)
    seen.append((round(float(loss_D.sum().asscalar()), 3), round(float(loss_G.sum().asscalar()), 3)))
seen
# %%
fake
# %% boxes: anchors, targets, detections
feature = nd.zeros((1, 4, 3, 3))
anchors = nd.contrib.MultiBoxPrior(feature, sizes=(0.3, 0.5), ratios=(1, 2, 0.5))
anchors.shape, anchors[0, :5]
# %%
truth = nd.array([[[0, 0.1, 0.08, 0.52, 0.92], [1, 0.55, 0.2, 0.9, 0.88]]])
boxes = nd.array([[[0, 0.1, 0.2, 0.3], [0.15, 0.2, 0.4, 0.4], [0.63, 0.05, 0.88, 0.98],
                   [0.66, 0.45, 0.8, 0.8], [0.57, 0.3, 0.92, 0.9]]])
scores = nd.array([[[0.1, 0.2, 0.3, 0.1, 0.2], [0.6, 0.5, 0.4, 0.3, 0.2], [0.3, 0.3, 0.3, 0.6, 0.6]]])
nd.contrib.MultiBoxTarget(boxes, truth, scores)
# %%
probs = nd.array([[[0] * 4, [0.9, 0.8, 0.7, 0.1], [0.1, 0.2, 0.3, 0.9]]])
anchors = nd.array([[[0.1, 0.08, 0.52, 0.92], [0.08, 0.2, 0.56, 0.95], [0.15, 0.3, 0.62, 0.91], [0.55, 0.2, 0.9, 0.88]]])
nd.contrib.MultiBoxDetection(probs, nd.zeros((1, 16)), anchors, nms_threshold=0.5)
# %% a loss on an image
content = filled((1, 3, 8, 8), 1, 1.0)
class Image(nn.Block):
    def __init__(self, shape, **kwargs):
        super().__init__(**kwargs)
        self.weight = self.params.get("weight", shape=shape)
    def forward(self):
        return self.weight.data()
image = Image(content.shape)
image.initialize(init.Constant(content * 0.5))
extractor = nn.HybridSequential()
extractor.add(nn.Conv2D(4, 3, activation="relu"), nn.Conv2D(4, 3, activation="relu"))
extractor.initialize()
extractor(content)
fill(extractor)
def gram(x):
    flat = x.reshape((x.shape[1], -1))
    return nd.dot(flat, flat.T) / flat.size
def tv(x):
    return 0.5 * ((x[:, :, 1:, :] - x[:, :, :-1, :]).abs().mean() + (x[:, :, :, 1:] - x[:, :, :, :-1]).abs().mean())
wanted = extractor(content)
trainer = gluon.Trainer(image.collect_params(), "adam", {"learning_rate": 0.05})
seen = []
for epoch in range(4):
    with autograd.record():
        y = extractor(image())
        total = (y - wanted).square().mean() + (gram(y) - gram(wanted)).square().mean() + tv(image())
    total.backward()
    trainer.step(1)
    if epoch == 1:
        trainer.set_learning_rate(trainer.learning_rate * 0.1)
    seen.append(round(float(total.asscalar()), 5))
seen
# %% matrix factorization
class MF(nn.Block):
    def __init__(self, factors, users, items, **kwargs):
        super().__init__(**kwargs)
        self.P = nn.Embedding(users, factors)
        self.Q = nn.Embedding(items, factors)
        self.user_bias = nn.Embedding(users, 1)
        self.item_bias = nn.Embedding(items, 1)
    def forward(self, user, item):
        return ((self.P(user) * self.Q(item)).sum(axis=1) + self.user_bias(user).squeeze() + self.item_bias(item).squeeze()).flatten()
net = MF(3, 6, 7)
net.initialize()
users, items, ratings = nd.array([0, 5, 2, 3]), nd.array([1, 6, 6, 0]), nd.array([3, 1, 5, 4])
fill(net)
trainer = gluon.Trainer(net.collect_params(), "adagrad", {"learning_rate": 0.1, "wd": 1e-3})
for _ in range(3):
    with autograd.record():
        out = net(users, items)
        l = gluon.loss.L2Loss()(out, ratings)
    l.backward()
    trainer.step(4)
out, l, numbers(net)
# %% sequence to sequence
class Seq2Seq(gluon.Block):
    def __init__(self, vocab, embed, hidden, **kwargs):
        super().__init__(**kwargs)
        self.embedding = nn.Embedding(vocab, embed)
        self.encoder = rnn.GRU(hidden, num_layers=2, input_size=embed)
        self.decoder = rnn.GRU(hidden, num_layers=2, input_size=embed + hidden)
        self.dense = nn.Dense(vocab, flatten=False)
    def forward(self, source, target):
        X = self.embedding(source).swapaxes(0, 1)
        _, state = self.encoder(X, self.encoder.begin_state(batch_size=source.shape[0]))
        Y = self.embedding(target).swapaxes(0, 1)
        context = nd.broadcast_to(state[0][-1].expand_dims(0), (Y.shape[0], Y.shape[1], state[0].shape[2]))
        out, state = self.decoder(nd.concat(Y, context, dim=2), state)
        return self.dense(out).swapaxes(0, 1), state
net = Seq2Seq(6, 4, 5)
net.initialize()
source, target = nd.array([[1, 2, 3], [3, 4, 5]]), nd.array([[2, 1], [0, 3]])
net(source, target)
fill(net)
out, state = net(source, target)
out, state[0]
# %%
def masked(out, labels, lens):
    weights = nd.SequenceMask(nd.ones_like(labels).expand_dims(-1), lens, use_sequence_length=True, axis=1)
    return gluon.loss.SoftmaxCELoss()(out, labels, weights)
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
seen = []
for _ in range(3):
    with autograd.record():
        l = masked(net(source, target)[0], nd.array([[1, 0], [3, 2]]), nd.array([1, 2]))
    l.backward()
    gluon.utils.clip_global_norm([p.grad() for p in net.collect_params().values() if p.grad_req != "null"], 1)
    trainer.step(2)
    seen.append([round(float(v), 4) for v in l.asnumpy()])
seen
# %% schedules
schedulers = [mx.lr_scheduler.FactorScheduler(step=3, factor=0.5, base_lr=1.0),
              mx.lr_scheduler.MultiFactorScheduler(step=[2, 5], factor=0.1, base_lr=0.5),
              mx.lr_scheduler.PolyScheduler(max_update=8, base_lr=0.3, pwr=2, warmup_steps=2),
              mx.lr_scheduler.CosineScheduler(max_update=8, base_lr=0.3, final_lr=0.01, warmup_steps=3, warmup_begin_lr=0.05)]
[[round(float(s(t)), 5) for t in range(1, 11)] for s in schedulers]
# %% a network in two halves, saved and put together
import os, tempfile
folder = tempfile.mkdtemp()
net = nn.HybridSequential(prefix="whole_")
with net.name_scope():
    net.add(nn.Conv2D(3, 3, in_channels=1), nn.BatchNorm(in_channels=3), nn.PReLU(), nn.Flatten(), nn.Dense(4, in_units=108))
net.initialize()
x = filled((2, 1, 8, 8), 9, 1.0)
net(x)
fill(net)
before = net(x)
net.save_parameters(os.path.join(folder, "net.params"))
other = nn.HybridSequential(prefix="other_")
with other.name_scope():
    other.add(nn.Conv2D(3, 3), nn.BatchNorm(), nn.PReLU(), nn.Flatten(), nn.Dense(4))
other.load_parameters(os.path.join(folder, "net.params"))
float((other(x) - before).abs().max().asscalar())
# %%
net.hybridize()
net(x)
files = net.export(os.path.join(folder, "net"), epoch=3)
sorted(os.listdir(folder))
# %%
again = gluon.SymbolBlock.imports(os.path.join(folder, "net-symbol.json"), ["data"], os.path.join(folder, "net-0003.params"))
float((again(x) - before).abs().max().asscalar())
# %%
symbol, args, auxs = mx.model.load_checkpoint(os.path.join(folder, "net"), 3)
symbol.list_outputs(), sorted(args), sorted(auxs)
# %%
inner = symbol.get_internals()
inner.list_outputs()
# %%
features = gluon.SymbolBlock(inner["whole_flatten0_flatten0_output"], mx.sym.var("data"), params=again.collect_params())
features(x).shape
# %% differs: MXNet's CPU kernel moves the running means in a backward pass, which a frozen half has not
for name, p in net.collect_params(".*conv.*|.*batchnorm.*").items():
    p.grad_req = "null"
trainer = gluon.Trainer(net.collect_params(), "nadam", {"learning_rate": 0.1})
with autograd.record():
    l = gluon.loss.HuberLoss()(net(x), nd.ones((2, 4)))
l.backward()
trainer.step(2)
l, numbers(net)
# %% hooks and apply
calls = []
handle = net[0].register_forward_hook(lambda block, inputs, out: calls.append((block.name, out.shape)))
net.hybridize(active=False)
net(x)
handle.detach()
net(x)
kinds = []
net.apply(lambda block: kinds.append(type(block).__name__))
calls, kinds
# %% printing
print(net)
# %%
print(layer)
# %% batch after batch
data = gluon.data.ArrayDataset(onp.arange(10, dtype="float32").reshape(5, 2), onp.arange(5))
for X, y in gluon.data.DataLoader(data, batch_size=2, last_batch="rollover"):
    print(X, y)
# %%
whole = data.transform_first(lambda a: a * 10)
[(a.tolist(), float(b)) for a, b in (whole[i] for i in (0, 4))]
# %%
gluon.utils.split_and_load(nd.arange(7), [mx.cpu(0), mx.cpu(0)], even_split=False)
# %% half precision
net16 = nn.HybridSequential()
net16.add(nn.Dense(3, in_units=4), nn.Activation("sigmoid"), nn.Dense(2, in_units=3))
net16.initialize()
fill(net16)
net16.cast("float16")
trainer = gluon.Trainer(net16.collect_params(), "sgd", {"learning_rate": 0.1, "multi_precision": True, "momentum": 0.9})
x16 = filled((2, 4)).astype("float16")
with autograd.record():
    l = (net16(x16) ** 2).sum()
l.backward()
trainer.step(1)
l.dtype, [p.data().dtype for p in net16.collect_params().values()]
