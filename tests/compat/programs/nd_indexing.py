"""Reading and writing parts of arrays."""

import numpy as np
import mxnet as mx
from mxnet import nd
# %%
x = nd.arange(24).reshape((2, 3, 4))
x[0].shape, x[0, 1], x[0, 1, 2], x[-1, -1, -1], x[..., 1], x[:, None].shape
# %%
x[0, ::2], x[:, ::-1].shape, x[:, 1:, ::2], x[1, -2:], x[::-1]
# %%
x[nd.array([1, 0])].shape, x[[0, 1]].shape, x[np.array([0])].shape, x[[1, 0], [2, 1]]
# %%
x[nd.array([0, 1]), :, nd.array([1, 2])], x[[0, 1], 1], x[:, [0, 2], 1:3].shape
# %%
x[2]
# %%
x[0, 0, 0, 0]
# %%
x["a"]
# %%
x[1.5]
# %%
x[nd.array([0.0, 1.0])].shape
# %%
x[()].shape, x[:].shape, x[...].shape
# %%
x[5:9].shape
# %%
y = x[1]
y[:] = 0
x[1].sum()
# %%
y = x[0, 0:2]
y[:] = -1
x[0]
# %%
y = x[:, 0]
y[:] = 100
x[:, 0]
# %%
x[0] = 1
x[1] = nd.ones((3, 4)) * 2
x[0, 1] = np.array([1, 2, 3, 4])
x[0, 2, 3] = 9
x
# %%
x[:] = 5
x[0, :, 1:3] = nd.array([7, 8])
x[1, ::2] = -1
x
# %%
x[nd.array([0, 1]), 0] = 3
x[[0, 1], [1, 2], [0, 3]] = nd.array([10, 20])
x
# %%
x[0] = [1, 2, 3, 4]
x[0]
# %%
x[0] = nd.ones((5,))
# %%
x[3] = 1
# %%
x[0, 0] += 1
x[0, 0]
# %%
a = nd.array([[1, 2], [3, 4]])
a[0], a[1] = a[1].copy(), a[0].copy()
a
# %%
a[:, 0] = nd.array([9, 8])
a[1, 1] = nd.array([7])
a
# %%
b = nd.zeros((3, 3))
b[nd.array([0, 2])] = nd.array([[1, 2, 3], [4, 5, 6]])
b[1, 1:] = 8
b
# %%
b[b > 3]
# %%
nd.where(b > 3, nd.ones_like(b), b)
# %%
b.slice_axis(axis=0, begin=1, end=None), b.slice(begin=(0, 1), end=(2, 3)), b.slice_like(nd.zeros((2, 2))), b.take(nd.array([1])), b.pick(nd.array([0, 1, 2]))
# %%
len(b), [row.shape for row in b]
# %%
iter(nd.array([1, 2])).__next__()
# %%
c = nd.arange(10)
c[2:5], c[-3:], c[:-3], c[7:2:-2], c[3], c[3:3].shape
# %%
c[nd.array([1, 3], dtype="int32")]
# %% differs: a list of truth values is a mask
c[[True, False] * 5]
# %% differs: so is an array of them
c[nd.array([1, 0] * 5, dtype="bool")]
# %%
c[c.argmax(axis=0)]
# %%
int(c[4].asscalar()), c[4:5].asscalar()
# %%
c[2:4] = c[4:6]
c
# %%
d = nd.arange(6).reshape((2, 3))
d[:, 1:2] *= 10
d
# %%
d.reshape((-1,)).shape, d.reshape((0, -1)).shape, d.reshape((-2,)).shape, d.reshape((-3,)).shape, d.reshape((-4, 1, 2, -2)).shape, d.reshape((0, 0, 1)).shape, d.reshape(shape=(3, 2)).shape, d.reshape((3, -1), reverse=True).shape
# %%
d.reshape((4, 2))
# %%
nd.Reshape(d, shape=(3, 2)), nd.reshape(d, (6,)), nd.reshape(d, shape=(-1, 1)).shape
# %%
e = d.reshape((3, 2))
e[0] = 77
d
# %%
d.at(1), d.slice(0, 1)
# %%
nd.take(d, nd.array([[0, 1], [1, 0]]), axis=1).shape, nd.take(d, nd.array([5, -1]), mode="clip"), nd.take(d, nd.array([5, -1]), mode="wrap")
# %%
nd.slice_axis(d, 1, 0, 2), nd.slice_like(nd.ones((4, 4)), nd.ones((2, 3)), axes=(0,)).shape
# %%
nd.squeeze(nd.ones((1, 2, 1)), axis=0).shape, nd.squeeze(nd.ones((1, 2, 1)), axis=(0, 2)).shape, nd.expand_dims(nd.ones((2,)), -1).shape
# %%
nd.squeeze(nd.ones((1, 2)), axis=1)
# %%
nd.split_v2(nd.arange(6), 3), nd.split_v2(nd.arange(6), (1, 4))
# %%
nd.concat(nd.ones((2, 2)), nd.ones((3, 3)), dim=0)
# %%
nd.dot(nd.ones((2, 3)), nd.ones((2, 3)))
# %%
nd.dot(nd.array([1, 2, 3]), nd.array([4, 5, 6])), nd.dot(nd.ones((2, 3)), nd.ones(3)), nd.dot(nd.ones((2, 3, 4)), nd.ones((4, 2))).shape
# %%
nd.array([1, 2]).reshape((1, 2, 1)).broadcast_to((3, 2, 2)).sum()
# %%
nd.broadcast_to(nd.ones((2, 3)), (4, 3))
# %%
nd.ones((2, 3)).tile((2, 1)).shape, nd.ones((2, 3)).repeat(2, axis=1).shape, nd.ones((2, 3)).repeat(2).shape
# %%
nd.ones((2, 3)).sum(axis=5)
# %%
nd.ones((2, 3)).sum(axis=-1), nd.ones((2, 3)).sum((0, 1)), nd.max(nd.arange(4), axis=0), nd.ones((2, 3)).argmax(0), nd.ones((2, 3)).norm(2, 1)
# %%
nd.argmax(nd.ones((2, 3))), nd.argmax(nd.ones((2, 3)), axis=0, keepdims=True).shape, nd.argmax_channel(nd.ones((2, 3)))
# %%
nd.topk(nd.array([[1, 3, 2], [4, 0, 5]]), axis=0), nd.topk(nd.array([[1, 3, 2], [4, 0, 5]]), axis=None, k=2), nd.array([[1, 3, 2]]).topk(k=1), nd.topk(nd.array([1, 3, 2]), k=2, dtype="int32")
# %%
nd.argsort(nd.array([[1, 3, 2]]), is_ascend=0), nd.argsort(nd.array([1, 3, 2]), dtype="int32"), nd.sort(nd.array([[3, 1], [2, 0]]), axis=0), nd.sort(nd.array([[3, 1], [2, 0]]), axis=None)
