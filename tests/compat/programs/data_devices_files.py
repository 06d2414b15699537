"""Datasets, loaders, devices, files, the engine, and small helpers."""

import os
import numpy as np
import mxnet as mx
from mxnet import autograd, context, gluon, nd
from mxnet.gluon import nn
from mxnet.gluon.data import ArrayDataset, BatchSampler, DataLoader, Dataset, RandomSampler, SequentialSampler, SimpleDataset
# %%
X = nd.arange(20).reshape((10, 2))
y = nd.arange(10)
ds = ArrayDataset(X, y)
len(ds), ds[3], type(ds[3]), type(ds[3][1])
# %%
for data, label in DataLoader(ds, batch_size=4):
    print(data, label)
# %%
[d[0].shape for d in DataLoader(ds, 4, last_batch="discard")], len(DataLoader(ds, 4)), len(DataLoader(ds, 4, last_batch="discard"))
# %%
loader = DataLoader(ds, 4, last_batch="rollover")
[len(list(loader)) for _ in range(3)], len(loader)
# %%
sorted(float(v) for d, l in DataLoader(ds, 3, shuffle=True) for v in l.asnumpy())
# %%
DataLoader(ds)
# %%
DataLoader(ds, 4, shuffle=True, sampler=SequentialSampler(10))
# %%
DataLoader(ds, 4, batch_sampler=BatchSampler(SequentialSampler(10), 3))
# %%
[b[1] for b in DataLoader(ds, batch_sampler=BatchSampler(SequentialSampler(10), 6))]
# %% differs: refused at once
DataLoader(ds, 4, last_batch="strange")
# %%
list(BatchSampler(SequentialSampler(7), 3, "keep")), list(BatchSampler(SequentialSampler(7), 3, "discard")), sorted(RandomSampler(4)), len(RandomSampler(4)), list(SequentialSampler(3))
# %%
s = BatchSampler(SequentialSampler(7), 3, "rollover")
list(s), list(s), len(s)
# %%
class Squares(Dataset):
    def __len__(self):
        return 5
    def __getitem__(self, i):
        if i >= len(self):  # MXNet's filter() walks until this
            raise IndexError(i)
        return i, np.array([i * i, 1], dtype="float32")
sq = Squares()
for a, b in DataLoader(sq, 2):
    print(a, b, a.dtype, b.dtype)
# %%
t = sq.transform(lambda i, v: (i + 1, v * 2))
t[2], len(t), sq.transform_first(lambda i: i * 100)[2], SimpleDataset([1, 2]).transform(lambda v: v + 1, lazy=False)[1]
# %%
[int(a) for a, b in sq.filter(lambda s: s[0] % 2)], [s[0] for s in sq.take(2)], [s[0] for s in sq.shard(2, 0)], len(sq.shard(2, 1)), [s[0] for s in sq.sample(SequentialSampler(2))]
# %%
SimpleDataset([1, 2, 3])[1], SimpleDataset([1, 2, 3]).transform(lambda v: v * 2)[2], ArrayDataset([1, 2, 3])[0], ArrayDataset(np.ones((3, 2)), [1, 2, 3])[2]
# %%
ArrayDataset(np.ones(3), np.ones(4))
# %%
def batchify(samples):
    return nd.array([s[0] for s in samples]).sum()
[v.asscalar() for v in DataLoader(sq, 2, batchify_fn=batchify)]
# %%
for d in DataLoader(ArrayDataset(np.arange(6, dtype="int32").reshape((3, 2))), 2):
    print(d, d.dtype)
# %%
for d in DataLoader(SimpleDataset([(1, (2.5, 3)), (4, (5.5, 6))]), 2):
    print(d)
# %%
from mxnet.gluon.data.vision import transforms
img = nd.array(np.arange(12).reshape((2, 2, 3)), dtype="uint8")
transforms.ToTensor()(img), transforms.Cast("float32")(img).dtype
# %%
comp = transforms.Compose([transforms.ToTensor(), transforms.Normalize([0.5, 0.5, 0.5], (1, 2, 4))])
comp(img)
# %%
len(DataLoader(ArrayDataset(X, y).transform_first(lambda d: d / 2), 5, num_workers=0))
# %%
mx.cpu(), mx.gpu(1), mx.cpu() == mx.cpu(0), mx.cpu(1) == mx.cpu(0), mx.gpu() == mx.cpu(), str(mx.cpu(2)), mx.Context("cpu", 1), mx.Context(mx.cpu(3)), hash(mx.cpu(0)) == hash(mx.cpu())
# %%
mx.cpu().device_type, mx.gpu(2).device_id, mx.cpu().device_typeid, mx.cpu_pinned(), mx.current_context(), mx.context.current_context(), context.Context.devtype2str[1], mx.Context.devstr2type["gpu"]
# %%
with mx.cpu(1):
    a = nd.ones(2)
    print(a.context, mx.current_context())
with mx.Context("cpu", 2):
    print(nd.zeros(1).context, nd.array([1]).context, nd.random.uniform(shape=2).context)
mx.current_context()
# %% differs: arrays of two devices do not meet
a = nd.ones(2, ctx=mx.cpu(1))
a + nd.ones(2)
# %%
(a.as_in_context(mx.cpu(0)) + nd.ones(2)).context, a.copyto(mx.cpu(2)).context, a.copyto(nd.zeros(2)).context
# %%
a.copyto(nd.zeros(3))
# %% differs: no error of minimx is a KeyError
mx.Context("tpu")
# %% differs: a device may be named
nd.ones(2, ctx="cpu")
# %%
nd.save("one.nd", nd.ones((2, 3)))
nd.load("one.nd")
# %%
nd.save("many", [nd.ones(2), nd.zeros((1, 2), dtype="int32")])
nd.load("many")
# %%
nd.save("dict", {"x": nd.ones(2), "y": nd.zeros(3, dtype="float64")})
loaded = nd.load("dict")
sorted(loaded), loaded["y"]
# %%
nd.load_frombuffer(open("dict", "rb").read())["x"]
# %%
nd.load("nothing_here")
# %%
open("bad", "wb").write(b"not an array file at all, sorry")
nd.load("bad")
# %%
nd.save("x", 3)
# %% differs: a ValueError
nd.save("x", [1, 2])
# %%
import pickle, copy
a = nd.array([[1, 2]])
pickle.loads(pickle.dumps(a)), copy.deepcopy(a), copy.copy(a)
# %%
with mx.engine.bulk(10):
    x = nd.ones((10,))
    for i in range(20):
        x = x + 1
x
# %%
mx.engine.set_bulk_size(15), mx.engine.set_bulk_size(15)
# %%
nd.random.normal(loc=0, scale=-1, shape=(2, 2)).asnumpy()
# %%
a = nd.random.normal(0, -1, (10, 2)).copyto(mx.cpu())
a.asnumpy()
# %%
nd.waitall()
# %%
nd.nothing
# %%
nd.ones((2, 2)).nothing
# %%
nd.Convolution(nd.ones((1, 1, 5, 5)), nd.ones((1, 1, 3, 3)), nd.zeros(1), kernel=(3, 3), num_filter=1)
# %%
nd.Convolution(data=nd.ones((1, 1, 5, 5)), weight=nd.ones((1, 1, 3, 3)), no_bias=True, kernel="(3, 3)", num_filter="1", stride=(2, 2), pad=(1, 1)), nd.FullyConnected(nd.ones((1, 2)), nd.ones((3, 2)), nd.zeros(3), num_hidden=3)
# %%
nd.Convolution(nd.ones((1, 1, 5, 5)), nd.ones((1, 1, 3, 3)), nd.zeros(1), kernel=(3, 3))
# %%
nd.FullyConnected(nd.ones((1, 2)), nd.ones((3, 4)), nd.zeros(3), num_hidden=3)
# %%
nd.Pooling(nd.arange(16).reshape((1, 1, 4, 4)), pool_type="max", kernel=(2, 2), stride=(2, 2)), nd.Pooling(nd.arange(16).reshape((1, 1, 4, 4)), pool_type="avg", global_pool=True, kernel=(1, 1)), nd.Activation(nd.array([-1, 1]), act_type="relu"), nd.Activation(nd.array([-1, 1]), "tanh")
# %%
nd.Activation(nd.ones(1), act_type="nothing")
# %%
nd.BatchNorm(nd.array([[1.0, 2], [3, 4]]), nd.ones(2), nd.zeros(2), nd.zeros(2), nd.ones(2))
# %%
nd.BatchNorm(nd.array([[1.0, 2], [3, 4]]), nd.ones(2) * 5, nd.zeros(2), nd.zeros(2), nd.ones(2), fix_gamma=False, use_global_stats=True)
# %%
nd.LayerNorm(nd.array([[1.0, 2], [3, 5]]), nd.ones(2), nd.zeros(2)), nd.Dropout(nd.ones(3))
# %%
nd.sum(nd.ones(2), axis="x")
# %%
nd.sum(nd.ones(2), nothing=3)
# %%
nd.dot("a", nd.ones(2))
# %%
nd.zeros((2, 3), dtype="float31")
# %%
nd.zeros((-1, 3))
# %%
nd.array([1, 2]).reshape((3,))
# %%
x = nd.array([1.0, 2.0])
nd.sqrt(x, out=x)
x
# %%
nd.broadcast_add(nd.ones((2, 1)), nd.ones((1, 3))), nd.elemwise_mul(nd.ones(2), nd.ones(2)), nd.broadcast_sub(nd.ones(1), nd.ones((1, 1))).shape
# %%
nd.elemwise_add(nd.ones(2), nd.ones(3))
# %%
nd.broadcast_add(lhs=nd.ones(2), rhs=nd.ones(2)), nd.sum(data=nd.ones(3)), nd.relu(data=nd.array([-1.0]))
# %%
mx.nd.ndarray.NDArray is mx.nd.NDArray, mx.ndarray is mx.nd, isinstance(nd.ones(1), mx.nd.NDArray), mx.nd.NDArray.__name__, mx.base.MXNetError is mx.MXNetError
# %%
type(mx.__version__), mx.random.seed(3), mx.random.uniform(0, 1, shape=2).shape, mx.random.normal(shape=(2, 2)).shape
# %%
cb = mx.callback.Speedometer(1, 50)
type(cb).__name__
# %%
x = nd.ones((2,))
x.asnumpy()[0] = 5
x
# %%
import mxnet.ndarray as F
F.sum(nd.ones(3)), F.NDArray is nd.NDArray
# %%
from mxnet.gluon import nn, loss as gloss, data as gdata, utils as gutils, Trainer, Parameter
from mxnet.gluon.nn import Dense
from mxnet.gluon.loss import SoftmaxCrossEntropyLoss
from mxnet.gluon.data.vision import transforms
from mxnet.ndarray import NDArray
from mxnet.base import MXNetError
from mxnet.initializer import Xavier
from mxnet.optimizer import SGD
from mxnet.metric import Accuracy
from mxnet.lr_scheduler import FactorScheduler
from mxnet.context import cpu, gpu
from mxnet.autograd import record
from mxnet.gluon.block import HybridBlock
from mxnet.gluon.parameter import ParameterDict
from mxnet.gluon.nn import HybridSequential
