# %% set-up
import json
import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn
npx.set_np()
A = np.array((onp.arange(12).reshape(3, 4) % 5 + 1).astype("float32"))
def call(function, *arrays):
    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F, x, *rest):
            return function(F, x, *rest)
    net = Net()
    net.hybridize()
    return net(*(arrays or (A,)))
# %% statistics
call(lambda F, x: F.np.std(x, axis=1)), call(lambda F, x: F.np.var(x, axis=0, ddof=1, keepdims=True))
# %%
call(lambda F, x: F.np.average(x, axis=0)), call(lambda F, x, w: F.np.average(x, axis=1, weights=w), A, A * 2)
# %%
call(lambda F, x: F.np.argmax(x, axis=1)), call(lambda F, x: F.np.cumsum(x, axis=0))
# %%
call(lambda F, x: F.np.sum(x, axis=(0, 1), dtype="float64")), call(lambda F, x: F.np.mean(x, keepdims=True))
# %% types that differ
call(lambda F, x, y: F.np.add(x, y), A, np.ones((3, 4), dtype="float64")).dtype
# %%
call(lambda F, x: x == 2), call(lambda F, x: x > x.mean()), call(lambda F, x, y: x == y, A, A + 0)
# %%
call(lambda F, x: F.np.true_divide(x, 4), np.array([1, 2, 7], dtype="int32"))
# %%
call(lambda F, x: 7 % x + 2 ** x - 1 / x)
# %% cutting and joining
call(lambda F, x: F.np.hsplit(x, 2)[1]), call(lambda F, x: F.np.vsplit(x, (1,))[1])
# %%
call(lambda F, x: F.np.split(x, 2, axis=1)[0]), call(lambda F, x: F.np.append(x, x, axis=0))
# %% differs: in MXNet the graph of an insertion needs a gradient that it has not
call(lambda F, x: F.np.insert(x, 1, 9, axis=0)), call(lambda F, x: F.np.delete(x, 1, axis=1))
# %%
call(lambda F, x: F.np.flip(x, 1)), call(lambda F, x: F.np.fliplr(x)), call(lambda F, x: F.np.flipud(x))
# %% making
call(lambda F, x: x * F.np.eye(3, 4, 1)), call(lambda F, x: F.np.full_like(x, 3))
# %%
call(lambda F, x: x + F.np.linspace(0, 3, 4)), call(lambda F, x: x + F.np.arange(4)), call(lambda F, x: F.np.hanning(4) + x)
# %%
call(lambda F, x: F.np.clip(x, 2, 4)), call(lambda F, x: F.np.around(x / 3, 1))
# %% linear algebra
call(lambda F, x: F.np.linalg.norm(x)), call(lambda F, x: F.np.linalg.norm(x, axis=1)), call(lambda F, x: F.np.linalg.norm(x, "fro"))
# %%
call(lambda F, x: F.np.linalg.eigvalsh(F.np.dot(x, x.T)).astype("int32"))
# %%
call(lambda F, x: F.np.polyval(x[0], x[1]))
# %% differs: in MXNet no gradient flows through std
x = A.copy()
x.attach_grad()
with autograd.record():
    y = call(lambda F, x: F.np.std(x, axis=1) * F.np.average(x, axis=1), x)
y.backward()
x.grad
# %% random numbers
mx.random.seed(1)
call(lambda F, x: F.np.random.gamma(x, 1.0)).shape, call(lambda F, x: F.np.random.choice(4, size=(2, 3)) + x[0, 0] * 0).shape
# %% files
s = mx.sym.np.std(mx.sym.var("x").as_np_ndarray(), axis=1, ddof=1)
[node["op"] for node in json.loads(s.tojson())["nodes"]], s.infer_shape(x=(3, 4))[1]
# %%
g = mx.sym.load_json(s.tojson())
g.bind(mx.cpu(), {"x": A}).forward()[0].asnumpy()
