"""Gradients through copies, views, devices, outputs given, and odd uses."""

import numpy as np
import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
def grads(f, *shapes):
    xs = [nd.array(np.arange(1, int(np.prod(s)) + 1).reshape(s)) for s in shapes]
    for x in xs:
        x.attach_grad()
    with autograd.record():
        y = f(*xs)
    y.backward()
    return [x.grad for x in xs]
# %%
grads(lambda x: x.copyto(mx.cpu(1)) * 2, (3,))
# %%
grads(lambda x: x.as_in_context(mx.cpu(1)) * 2, (3,)), grads(lambda x: x.as_in_context(mx.cpu(0)) * 2, (3,))
# %%
grads(lambda x: x.copyto(nd.zeros((3,))) * 2, (3,))
# %%
def into(x):
    z = nd.zeros((3,), ctx=mx.cpu(1))
    x.copyto(z)
    return z * 5
grads(into, (3,))
# %%
grads(lambda x: x.copy() * 3, (2,)), grads(lambda x: x.astype("float64").astype("float32") ** 2, (2,)), grads(lambda x: nd.identity(x), (2,))
# %%
def out_given(x):
    z = nd.zeros((3,))
    nd.elemwise_mul(x, x, out=z)
    return z
grads(out_given, (3,))
# %%
def chain_out(x):
    z = nd.zeros((3,))
    nd.broadcast_mul(x, x, out=z)
    w = nd.exp(z * 0.1)
    return w.sum() + z.sum()
grads(chain_out, (3,))
# %%
def overwrite(x):
    z = x * 2
    nd.elemwise_mul(x, x, out=z)
    return z
grads(overwrite, (3,))
# %%
grads(lambda x: x[1:3].sum() * 2 + x[0] ** 2, (4,)), grads(lambda x: x[::2] * 3, (4,)), grads(lambda x: x[::-1] * nd.arange(4), (4,)), grads(lambda x: x[nd.array([0, 0, 2])], (4,)), grads(lambda x: x[[1, 1]] * 2, (4,))
# %%
grads(lambda x: x[:, 1] * x[0], (2, 2)), grads(lambda x: x[0, 1] * x[1, 0] + x[-1, -1], (2, 2)), grads(lambda x: x[..., 0].sum() + x[None].sum(), (2, 2))
# %%
grads(lambda x: x.T[0] * 2, (2, 3)), grads(lambda x: x.reshape((3, 2))[1] * 2, (2, 3)), grads(lambda x: x.reshape((-1,)).reshape((1, 6)).T.sum(), (2, 3)), grads(lambda x: x.expand_dims(1).squeeze() ** 2, (2, 2)), grads(lambda x: x.flatten().sum(), (1, 2, 2))
# %%
def rows(x):
    total = 0
    for i, row in enumerate(x):
        total = total + row * (i + 1)
    return total
grads(rows, (3, 2))
# %%
def loop(x):
    h = x
    for i in range(5):
        h = nd.tanh(h * 0.5 + x)
    return h
grads(loop, (3,))
# %%
def branch(x):
    return x * 2 if x.sum().asscalar() > 3 else x * 5
grads(branch, (2,)), grads(branch, (1,))
# %%
grads(lambda x, y: nd.concat(x, y, dim=1).mean(axis=1), (2, 2), (2, 1)), grads(lambda x, y: nd.stack(x, y, axis=1) * nd.arange(4).reshape((2, 2)), (2,), (2,)), grads(lambda x: nd.split(x, num_outputs=2, axis=0)[1] * 7, (2, 2))
# %%
grads(lambda x, y: x + y * x, (2, 2), (1, 2)), grads(lambda x, y: x / y - y, (2, 1), (1, 2)), grads(lambda x, y: nd.dot(x, y), (2, 3), (3, 2)), grads(lambda x, y: nd.batch_dot(x, y), (1, 2, 2), (1, 2, 2)), grads(lambda x, y: nd.broadcast_maximum(x, y), (2, 2), (1, 2))
# %%
grads(lambda x: nd.max(x, axis=1), (2, 3)), grads(lambda x: nd.min(x), (2, 3)), grads(lambda x: nd.prod(x, axis=0), (2, 3)), grads(lambda x: nd.norm(x, axis=1), (2, 3)), grads(lambda x: nd.mean(x, axis=0, exclude=True), (2, 3)), grads(lambda x: nd.max(nd.array([1.0, 1.0]) * x), (1,))
# %%
grads(lambda x: nd.tile(x, (2, 2)), (2,)), grads(lambda x: nd.repeat(x, 3), (2,)), grads(lambda x: nd.broadcast_to(x, (3, 2)), (1, 2)), grads(lambda x: nd.flip(x, axis=0) * nd.arange(3), (3,)), grads(lambda x: nd.transpose(x, (1, 0)) * nd.array([[1, 2], [3, 4], [5, 6]]), (2, 3)), grads(lambda x: nd.slice_axis(x, 1, 1, 2), (2, 2)), grads(lambda x: nd.pad(x, mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 1, 1)) * 2, (1, 1, 2, 2)), grads(lambda x: nd.where(x > 2, x * 2, x), (4,))
# %%
grads(lambda x: nd.clip(x, 2, 3), (4,)), grads(lambda x: nd.smooth_l1(x - 2.5, scalar=1), (4,)), grads(lambda x: nd.gather_nd(x, nd.array([[0, 1], [1, 1]])), (2, 2)), grads(lambda x: nd.pick(x, nd.array([1, 0])), (2, 2)), grads(lambda x: nd.one_hot(nd.array([0, 1]), 2) * x, (2, 2)), grads(lambda x: nd.Embedding(nd.array([1, 1]), x, 2, 2), (2, 2)), grads(lambda x: nd.diag(x), (2, 2)), grads(lambda x: nd.swapaxes(x, 0, 1)[0], (2, 2))
# %%
grads(lambda x, g, b: nd.LayerNorm(x, g, b) * nd.arange(6).reshape((2, 3)), (2, 3), (3,), (3,))
# %%
def bn(x, g, b):
    with autograd.train_mode():
        return nd.BatchNorm(x * x, g, b, nd.zeros(2), nd.ones(2), fix_gamma=False) * nd.arange(8).reshape((4, 2))
grads(bn, (4, 2), (2,), (2,))
# %%
grads(lambda x, w: nd.FullyConnected(x, w, no_bias=True, num_hidden=2, flatten=False) ** 2, (2, 2, 3), (2, 3))
# %%
def twice(x):
    with autograd.record():
        y = x * x
    return y.sum()
grads(twice, (2,))
# %%
x = nd.array([1.0, 2.0])
x.attach_grad()
with autograd.record():
    y = x * 2
with autograd.record():
    z = y * y
z.backward()
x.grad
# %%
with autograd.record():
    y = x * 2
z = y * 3
z.backward()
# %%
with autograd.record():
    y = x * 2
    z = y.detach()
    z.attach_grad()
    w = z * z
w.backward()
x.grad, z.grad
# %%
y = x * 2
y.attach_grad()
with autograd.record():
    z = y * y
z.backward()
y.grad
# %%
x.attach_grad()
with autograd.record():
    y = x * x
x[:] = 100
y.backward()
x.grad
# %%
g = x.grad
with autograd.record():
    y = x * 3
y.backward()
g
# %%
x.grad[:] = 7
x.grad
# %%
x = nd.array([1.0])
x.attach_grad(grad_req="add")
with autograd.record():
    y = x * 2
    z = x * 3
autograd.backward([y, z])
y2 = None
with autograd.record():
    y2 = x * 10
y2.backward()
x.grad
# %%
with autograd.record():
    y = nd.zeros((2, 2))
    y[0, 0] = 1
    y[:] = 2
y
# %%
x = nd.ones((2, 2))
x.attach_grad()
with autograd.record():
    buffer = nd.zeros((2, 2))
    buffer[0] = x[0]
    loss = buffer.sum()
loss.backward()
# %%
with autograd.record():
    print(autograd.is_recording())
    try:
        raise ValueError("inside")
    except ValueError:
        pass
try:
    with autograd.record():
        raise ValueError("through")
except ValueError:
    pass
autograd.is_recording(), autograd.is_training()
# %%
net = nn.Dense(1, in_units=2)
net.initialize(mx.init.One())
x = nd.array([[1.0, 2.0]])
x.attach_grad()
with autograd.record():
    y = net(x)
    gx = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]
gx
# %%
params = [p.data() for p in net.collect_params().values()]
with autograd.record():
    y = net(x) ** 2
autograd.grad(y, params)
# %%
net.weight.grad(), net.weight.data().grad
# %%
with autograd.record():
    y = net(x)
autograd.grad(y, [nd.ones(1)])
# %%
other = nd.ones(1)
other.attach_grad()
with autograd.record():
    y = net(x)
autograd.grad(y, [other])
# %%
x = nd.array([2.0])
x.attach_grad()
with autograd.record():
    y = x * 2
    z = y * 3
z.backward()
with autograd.record():
    w = y * x
w.backward()
x.grad
# %%
state = nd.zeros((2,))
w = nd.array([0.5, 0.5])
w.attach_grad()
for step in range(3):
    with autograd.record():
        state = state * w + 1
        loss = state.sum()
    loss.backward()
    print(w.grad)
# %%
for step in range(3):
    state = state.detach()
    with autograd.record():
        state = state * w + 1
        loss = state.sum()
    loss.backward()
    print(w.grad)
# %%
with autograd.record():
    y = x * 2
    z1 = y * 3
    z2 = y * 5
z1.backward()
print(x.grad)
z2.backward()
# %%
with autograd.record():
    a = x * 2
    b = x * 3
a.backward()
print(x.grad)
b.backward()
print(x.grad)
# %%
losses = []
with autograd.record():
    for i in range(3):
        losses.append((x * i).sum())
for l in losses:
    l.backward()
    print(x.grad)
# %%
with autograd.record():
    y = x * 2
    h = y.sum()
    g = (y * y).sum()
h.backward(retain_graph=True)
g.backward()
x.grad
# %% differs: powers have second derivatives
with autograd.record():
    y = x ** 3
    gy = autograd.grad(y, x, create_graph=True, retain_graph=True)[0]
    total = y + gy
total.backward()
x.grad
