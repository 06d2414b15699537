"""Recording and gradients, as the tutorials teach them."""

import numpy as np
import mxnet as mx
from mxnet import autograd, nd
# %%
x = nd.arange(4).reshape((4, 1))
x.attach_grad()
with autograd.record():
    y = 2 * nd.dot(x.T, x)
y.backward()
assert (x.grad - 4 * x).norm().asscalar() == 0
x.grad
# %%
print(autograd.is_training())
with autograd.record():
    print(autograd.is_training(), autograd.is_recording())
with autograd.record(train_mode=False):
    print(autograd.is_training(), autograd.is_recording())
    with autograd.train_mode():
        print(autograd.is_training())
    with autograd.pause():
        print(autograd.is_recording(), autograd.is_training())
with autograd.predict_mode():
    print(autograd.is_training())
# %%
def f(a):
    b = a * 2
    while b.norm().asscalar() < 1000:
        b = b * 2
    if b.sum().asscalar() > 0:
        c = b
    else:
        c = 100 * b
    return c

a = nd.array([0.37])
a.attach_grad()
with autograd.record():
    c = f(a)
c.backward()
a.grad == c / a
# %%
x = nd.array([[1, 2], [3, 4]])
x.attach_grad()
with autograd.record():
    y = x * 2
    z = y * x
z.backward()
x.grad
# %%
with autograd.record():
    y = x * 2
    z = y * x
head_gradient = nd.array([[10, 1.], [.1, .01]])
z.backward(head_gradient)
x.grad
# %%
z.backward()
# %%
with autograd.record():
    z = x * x
z.backward(retain_graph=True)
z.backward()
x.grad
# %%
x = nd.array([1.0, 2])
x.attach_grad(grad_req="add")
for _ in range(3):
    with autograd.record():
        y = x ** 2
    y.backward()
x.grad
# %%
x.grad[:] = 0
x.attach_grad("null")
x.grad
# %%
x = nd.ones(2)
y = x * 2
y.backward()
# %%
x.attach_grad()
y = x * 2
y.backward()
# %%
with autograd.record():
    y = x * 2
y.detach().shape, (y.detach() is y)
# %%
with autograd.record():
    y = x * 2
    z = y.detach() * x
z.backward()
x.grad
# %%
with autograd.record():
    y = nd.BlockGrad(x * 3) * x + nd.stop_gradient(x)
y.backward()
x.grad
# %% differs: products have second derivatives
x = nd.array([1.0, 2, 3])
x.attach_grad()
with autograd.record():
    y = x * x * x
    dy = autograd.grad(y, x, create_graph=True, retain_graph=True)
    z = dy[0].sum()
z.backward()
(type(dy), dy, x.grad)
# %%
with autograd.record():
    y = nd.exp(x)
autograd.grad(y, [x], head_grads=nd.array([1, 2, 3]))
# %%
with autograd.record():
    z = nd.sin(x)
    gs = autograd.grad(heads=[z], variables=[x], create_graph=True)
    g2 = autograd.grad(gs[0], x, create_graph=True)[0]
g2.backward()
x.grad
# %%
autograd.backward([z], retain_graph=True)
# %%
with autograd.record():
    y = x * 2
    z = x * 3
autograd.backward([y, z])
x.grad
# %%
with autograd.record():
    y = x * 2
    z = x * 3
autograd.backward([y, z], [nd.ones(3), nd.ones(3) * 10])
x.grad
# %%
grads = [nd.zeros(3)]
w = nd.ones(3)
autograd.mark_variables([w], grads)
with autograd.record():
    out = (w * 5).sum()
out.backward()
grads[0]
# %%
class sigmoid(autograd.Function):
    def forward(self, x):
        y = 1 / (1 + nd.exp(-x))
        self.save_for_backward(y)
        return y

    def backward(self, dy):
        y, = self.saved_tensors
        return dy * y * (1 - y)

func = sigmoid()
x = nd.array([0.5, -1])
x.attach_grad()
with autograd.record():
    m = func(x)
m.backward()
m, x.grad
# %%
class two(autograd.Function):
    def forward(self, a, b):
        return a + b, a * b
    def backward(self, da, db):
        return da + db, da - db
a, b = nd.ones(2), nd.ones(2)
a.attach_grad()
b.attach_grad()
with autograd.record():
    s, p = two()(a, b)
    out = s + 2 * p
out.backward()
a.grad, b.grad
# %% differs: scopes are decorators too
@autograd.record()
def g():
    return autograd.is_recording()
g()
# %% differs: scopes are decorators too
@autograd.train_mode()
def g():
    return autograd.is_training()
g()
# %%
x = nd.ones((2, 2))
x.attach_grad()
with autograd.record():
    x[:] = 3
# %%
with autograd.record():
    y = x * 2
    y += 1
# %%
with autograd.record():
    y = x * 2
    y[0] = 1
    z = y * x
z.backward()
x.grad
# %%
with autograd.record():
    x += 1
# %%
x = nd.array([[1.0, 2], [3, 4]])
x.attach_grad()
with autograd.record():
    y = x[0] * 2 + x[1, 0]
    z = x[:, 1].sum()
    w = y.sum() + z
w.backward()
x.grad
# %%
with autograd.record():
    y = nd.concat(x, x * 2, dim=1).sum() + nd.stack(x, x).mean() + nd.split(x, 2)[0].sum()
y.backward()
x.grad
# %%
with autograd.record():
    y = x.reshape((4,)).max() + x.min() + x.prod() + x.norm()
y.backward()
x.grad
# %%
with autograd.record():
    y = nd.Dropout(nd.ones((100, 100)) * x[0, 0], p=0.5)
float(y.max().asscalar())
# %%
nd.Dropout(nd.ones((3,)), p=0.5)
# %%
nd.Dropout(nd.ones((30,)), p=0.5, mode="always").max()
# %%
x = nd.array([1.0, -1.0, 0.0])
x.attach_grad()
for name in ("abs", "relu", "sign", "sigmoid", "tanh", "exp", "square", "softsign", "arctan", "erf", "round", "floor", "cbrt"):
    with autograd.record():
        y = getattr(nd, name)(x + 0.25)
    y.backward()
    print(name, x.grad.asnumpy().round(4))
# %%
x = nd.array([[0.2, 0.5, 0.3]])
x.attach_grad()
for fn in (nd.softmax, nd.log_softmax, nd.softmin, nd.L2Normalization, lambda v: nd.Activation(v, act_type="softrelu"), lambda v: nd.LeakyReLU(v, act_type="gelu"), lambda v: nd.LeakyReLU(v, act_type="selu"), lambda v: nd.LeakyReLU(v), lambda v: nd.clip(v, 0.25, 0.4)):
    with autograd.record():
        y = fn(x) * nd.array([[1, 2, 3]])
    y.backward()
    print(y.asnumpy().round(4), x.grad.asnumpy().round(4))
# %%
data = nd.array([[1.0, 2.0, 3.0], [1.0, 2.0, 5.0]])
label = nd.array([0, 2])
data.attach_grad()
with autograd.record():
    out = nd.SoftmaxOutput(data, label)
out.backward()
out, data.grad
# %%
with autograd.record():
    out = nd.SoftmaxOutput(data, label, grad_scale=2, normalization="batch")
out.backward()
data.grad
# %%
with autograd.record():
    loss = nd.softmax_cross_entropy(data, label)
loss.backward()
loss, data.grad
# %%
with autograd.record():
    out = nd.LinearRegressionOutput(data, nd.ones((2, 3)))
out.backward()
out, data.grad
# %%
w = nd.array([2.0])
w.attach_grad()
with autograd.record():
    with autograd.pause():
        c = w * 10
    d = c * w
d.backward()
w.grad
# %%
w.attach_grad()
w.grad
# %%
x = nd.array([3.0])
x.attach_grad()
with autograd.record():
    y = x
y.backward()
x.grad
# %%
with autograd.record():
    y = x * 2
    y.attach_grad()
    z = y * y
z.backward()
x.grad, y.grad
# %%
x = nd.array([2], dtype="int32")
x.attach_grad()
x.grad.dtype
# %%
x = nd.array([1.0, 4.0], dtype="float64")
x.attach_grad()
with autograd.record():
    y = x.sqrt().astype("float32").sum()
y.backward()
x.grad
# %%
x = nd.ones((2,))
x.attach_grad()
with autograd.record():
    y = nd.where(nd.array([1, 0]), x * 2, x * 3)
    y = y + nd.one_hot(nd.argmax(x, axis=0), 2).sum()
y.backward()
x.grad
# %%
with autograd.record():
    y = x * nd.ones((3,))
# %%
with autograd.record():
    y = (x.expand_dims(0) * nd.ones((4, 1))).mean(axis=0)
y.backward()
x.grad
# %%
y.backward(nd.ones((3,)))
# %%
autograd.grad(x * 2, x)
# %%
autograd.set_training(True), autograd.is_training(), autograd.set_training(False), autograd.set_recording(False)
# %%
x = nd.ones((3,))
x.attach_grad()
with autograd.record():
    y = (nd.maximum(x, 0.5) + nd.minimum(x, nd.array([2, 0.5, 1])) + nd.broadcast_power(x, x) + 2 ** x + nd.modulo(x, 2)).sum()
y.backward()
x.grad
# %%
with autograd.record():
    y = (x > 0.5) * x
y.backward()
x.grad
# %%
emb = nd.ones((4, 2))
emb.attach_grad()
with autograd.record():
    out = nd.Embedding(nd.array([0, 2, 2]), emb, 4, 2)
out.backward()
emb.grad
# %%
with autograd.record():
    out = nd.take(emb, nd.array([1, 1])).sum() + nd.pick(emb, nd.array([0, 1, 0, 1])).sum() + nd.gather_nd(emb, nd.array([[0], [1]])).sum()
out.backward()
emb.grad
