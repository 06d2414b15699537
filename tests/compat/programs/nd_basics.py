"""Arrays: making them, looking at them, operating on them."""

import numpy as np
import mxnet as mx
from mxnet import nd
# %%
x = nd.array(((1, 2, 3), (5, 6, 7)))
x
# %%
print(x)
# %%
nd.ones((2, 3))
# %%
y = nd.random.uniform(-1, 1, (2, 3))
y.shape, y.dtype
# %%
nd.full((2, 3), 2.0)
# %%
(x.shape, x.size, x.dtype, x.context, x.ndim, len(x), x.stype)
# %%
x * nd.ones((2, 3)) + 1
# %%
nd.dot(x, x.T)
# %%
x[1, 2]
# %%
x[:, 1:3]
# %%
x[:, 1:3] = 2
x
# %%
x[1:2, 0:2] = 4
x
# %%
a = x.asnumpy()
(type(a), a)
# %%
nd.array(a)
# %%
nd.arange(12)
# %%
nd.arange(2, 20, 3), nd.arange(5, 0, -1), nd.arange(1, 4, repeat=2)
# %%
nd.arange(0, 1, 0.25, dtype="float64")
# %%
nd.zeros((2, 3, 4)).shape
# %%
nd.array([[2, 1, 4, 3], [1, 2, 3, 4], [4, 3, 2, 1]])
# %%
x = nd.arange(12)
x.reshape((3, 4))
# %%
x.reshape(3, 4), x.reshape((-1, 4)), x.reshape(3, -1), x.reshape((2, 3, 2))
# %%
X = nd.arange(12).reshape((3, 4))
Y = nd.array([[2, 1, 4, 3], [1, 2, 3, 4], [4, 3, 2, 1]])
X + Y, X * Y, X / Y, X - Y, X ** 2, X % 3
# %%
X == Y, X < Y, X >= 5, X != Y, X <= Y, X > Y
# %%
Y.exp()
# %%
nd.concat(X, Y, dim=0), nd.concat(X, Y, dim=1)
# %%
X.sum(), X.sum().asscalar(), X.norm().asscalar(), X.mean(), X.max(), X.min()
# %%
A = nd.arange(3).reshape((3, 1))
B = nd.arange(2).reshape((1, 2))
A + B
# %%
X[1:3]
# %%
X[1, 2] = 9
X[0:2, :] = 12
X
# %%
before = id(Y)
Y = Y + X
id(Y) == before
# %%
Z = Y.zeros_like()
before = id(Z)
Z[:] = X + Y
id(Z) == before
# %%
nd.elemwise_add(X, Y, out=Z)
(id(Z) == before, Z)
# %%
before = id(X)
X += Y
(id(X) == before, X)
# %%
P = np.ones((2, 3))
D = nd.array(P)
D.asnumpy(), D.dtype
# %%
nd.array(np.arange(3)), nd.array(np.arange(3)).dtype
# %%
nd.array(np.arange(3), dtype="int32"), nd.array([1, 2], dtype=np.uint8).dtype
# %%
nd.array([1, 2, 3]).astype("int32") + nd.array([1, 2, 3], dtype="int32")
# %%
nd.array([1, 2], dtype="int32") + nd.array([1.0, 2.0])
# %%
nd.array([7, 8, 9], dtype="int32") / 2, nd.array([7, 8, 9], dtype="int32") * 1.5
# %%
nd.array([1, 2, 3]) + nd.array([1, 2])
# %%
nd.array([[1, 2], [3, 4]]).asscalar()
# %%
bool(nd.array([2])), bool(nd.array([0])), bool(nd.array([]).size)
# %%
bool(nd.array([1, 2]))
# %%
float(nd.array([2.5]).asscalar()), int(nd.array([2.5]).asscalar())
# %%
for row in nd.array([[1, 2], [3, 4]]):
    print(row)
# %%
nd.array([1, 2, 3]).sum(axis=0), nd.array([[1, 2], [3, 4]]).sum(axis=1, keepdims=True)
# %%
nd.array([[1, 2], [3, 4]]).mean(axis=(0, 1)), nd.mean(nd.ones((2, 3, 4)), axis=1, exclude=True)
# %%
nd.ones((2, 3)).T.shape, nd.ones((2, 3, 4)).transpose((1, 0, 2)).shape, nd.ones((2, 3, 4)).transpose().shape
# %%
nd.ones((2, 3, 4)).swapaxes(0, 2).shape, nd.ones((2, 3)).expand_dims(axis=1).shape, nd.ones((2, 1, 3)).squeeze().shape
# %%
nd.ones((2, 3, 4)).flatten().shape, nd.Flatten(nd.ones((2, 3, 4))).shape
# %%
nd.stack(nd.array([1, 2]), nd.array([3, 4]), axis=1)
# %%
nd.split(nd.arange(6).reshape((2, 3)), num_outputs=3, axis=1, squeeze_axis=True)
# %%
nd.SliceChannel(nd.arange(6).reshape((2, 3)), num_outputs=3)
# %%
nd.arange(6).reshape((2, 3)).split(3, 1)
# %%
nd.Concat(nd.ones((2, 1)), nd.zeros((2, 2)), dim=1), nd.concatenate([nd.ones((1, 2)), nd.zeros((1, 2))])
# %%
nd.tile(nd.array([1, 2]), reps=(2, 2)), nd.repeat(nd.array([1, 2]), repeats=2), nd.array([1, 2]).tile(2)
# %%
nd.clip(nd.arange(5), 1, 3), nd.arange(5).clip(1, 3), nd.clip(nd.arange(5), a_min=1, a_max=2)
# %%
nd.one_hot(nd.array([0, 2]), 3), nd.one_hot(nd.array([1]), depth=3, on_value=5, off_value=-1)
# %%
nd.pick(nd.array([[1, 2], [3, 4]]), nd.array([0, 1])), nd.pick(nd.array([[1, 2], [3, 4]]), nd.array([0, 1]), axis=0)
# %%
nd.take(nd.array([[1, 2], [3, 4], [5, 6]]), nd.array([0, 2]))
# %%
nd.where(nd.array([1, 0, 1]), nd.array([1, 2, 3]), nd.array([-1, -2, -3]))
# %%
nd.maximum(nd.array([1, 5]), nd.array([3, 2])), nd.maximum(nd.array([1, 5]), 2), nd.minimum(2, nd.array([1, 5]))
# %%
nd.add(nd.array([1, 2]), 3), nd.subtract(3, nd.array([1, 2])), nd.multiply(nd.array([1, 2]), nd.array([3, 4])), nd.divide(nd.array([1, 2]), 2), nd.power(nd.array([1, 2]), 2), nd.modulo(nd.array([5, 7]), 3), nd.true_divide(nd.array([1.0]), 4)
# %%
nd.equal(nd.array([1, 2]), 2), nd.not_equal(nd.array([1, 2]), nd.array([1, 3])), nd.greater(nd.array([1, 2]), 1), nd.lesser(nd.array([1, 2]), 2), nd.greater_equal(nd.array([1, 2]), 2), nd.lesser_equal(nd.array([1, 2]), 1)
# %%
nd.logical_and(nd.array([1, 0]), nd.array([1, 1])), nd.logical_or(nd.array([1, 0]), 0), nd.logical_xor(nd.array([1, 0]), nd.array([1, 1])), nd.logical_not(nd.array([1, 0]))
# %%
nd.argmax(nd.array([[1, 3, 2], [4, 0, 5]]), axis=1), nd.array([[1, 3, 2]]).argmax(axis=1), nd.argmin(nd.array([3, 1, 2]), axis=0)
# %%
nd.topk(nd.array([[1, 3, 2], [4, 0, 5]]), k=2), nd.topk(nd.array([[1, 3, 2]]), k=2, ret_typ="value"), nd.topk(nd.array([[1, 3, 2]]), k=2, ret_typ="both"), nd.topk(nd.array([[1, 3, 2]]), k=2, ret_typ="mask", is_ascend=True)
# %%
nd.sort(nd.array([3, 1, 2])), nd.argsort(nd.array([3, 1, 2])), nd.sort(nd.array([3, 1, 2]), is_ascend=False), nd.array([3, 1, 2]).sort()
# %%
nd.flip(nd.array([[1, 2], [3, 4]]), axis=1), nd.reverse(nd.array([1, 2, 3]), axis=0)
# %%
nd.norm(nd.array([3, 4])), nd.norm(nd.array([[3, 4]]), ord=1, axis=1), nd.L2Normalization(nd.array([[3, 4]]))
# %%
nd.abs(nd.array([-1, 2])), abs(nd.array([-1, 2])), -nd.array([1, 2]), nd.sign(nd.array([-3, 0, 3])), nd.negative(nd.array([1.0]))
# %%
nd.round(nd.array([1.5, -1.5, 2.4])), nd.rint(nd.array([1.5, -1.5])), nd.ceil(nd.array([1.2])), nd.floor(nd.array([1.7])), nd.trunc(nd.array([-1.7])), nd.fix(nd.array([-1.7]))
# %%
nd.softmax(nd.array([[1, 2, 3]])), nd.log_softmax(nd.array([[1, 2, 3]])), nd.relu(nd.array([-1, 1])), nd.sigmoid(nd.array([0])), nd.softsign(nd.array([1.0])), nd.softmin(nd.array([1, 2]))
# %%
nd.batch_dot(nd.ones((2, 3, 4)), nd.ones((2, 4, 5))).shape, nd.dot(nd.ones((3, 2)), nd.ones((3, 4)), transpose_a=True).shape
# %%
nd.eye(3), nd.eye(2, 3, 1), nd.linspace(0, 1, 5)
# %%
nd.zeros_like(nd.ones((2, 2))), nd.ones_like(nd.zeros((2,))), nd.zeros(3), nd.ones(2, dtype="int32")
# %%
nd.empty((2, 2)).shape, nd.full((2,), 7, dtype="int32"), nd.full(3, 1.5)
# %%
nd.broadcast_to(nd.array([[1], [2]]), shape=(2, 3)), nd.array([1, 2]).broadcast_to((2, 2)), nd.broadcast_axis(nd.ones((1, 2)), axis=0, size=3).shape, nd.broadcast_like(nd.ones((1, 2)), nd.ones((3, 2))).shape
# %%
nd.slice(nd.arange(12).reshape((3, 4)), begin=(0, 1), end=(2, 3)), nd.slice_axis(nd.arange(12).reshape((3, 4)), axis=1, begin=1, end=3), nd.slice(nd.arange(6), begin=(None,), end=(4,), step=(2,))
# %%
nd.crop(nd.arange(12).reshape((3, 4)), begin=(0, 1), end=(2, 3))
# %%
nd.pad(nd.ones((1, 1, 2, 2)), mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 1, 1), constant_value=7)
# %%
nd.cast(nd.array([1.7]), dtype="int32"), nd.Cast(nd.array([1.7]), "float64").dtype
# %%
nd.moveaxis(nd.ones((2, 3, 4)), 0, 2).shape, nd.moveaxis(nd.ones((2, 3, 4)), (0, 1), (1, 0)).shape
# %%
nd.sum(nd.array([[1, 2], [3, 4]]), axis=0, keepdims=True), nd.nansum(nd.array([1, float("nan")])), nd.prod(nd.array([2, 3])), nd.nanprod(nd.array([2, float("nan")]))
# %%
nd.add_n(nd.ones(2), nd.ones(2), nd.ones(2)), nd.ElementWiseSum(nd.ones(2), nd.ones(2))
# %%
nd.waitall()
nd.array([1]).wait_to_read()
# %%
x = nd.ones((2, 2))
y = x
z = x.copy()
y[:] = 3
x, z
# %%
x.copyto(z)
z
# %%
w = x.copyto(mx.cpu(0))
(w is x, w.context, x.as_in_context(mx.cpu(0)) is x)
# %%
nd.array(nd.ones((2,), dtype="int32")).dtype, nd.array([True, False]).dtype, nd.array(np.array([1.0], dtype="float64")).dtype, nd.array(np.array([1], dtype="int64")).dtype
# %%
nd.array(5), nd.array(np.float32(3))
# %%
nd.array([]).shape
# %%
np.mean(nd.array([1, 2, 3]).asnumpy()), np.array(nd.array([1, 2]).asnumpy())
# %%
x = nd.array([1, 2, 3])
x += 1
x *= 2
x -= 1
x /= 3
x
# %%
x **= 2
x
# %%
2 ** nd.array([1, 2, 3]), 5 % nd.array([2, 3]), 1 / nd.array([2.0, 4.0]), 10 - nd.array([1]), 3 > nd.array([1, 5])
# %%
x = nd.array([5, 7])
x %= 4
x
# %% differs: an array is simply not equal to None
nd.array([1, 2]) == None, nd.array([1, 2]) != None
# %%
str(nd.array([1.123456789, 1e10])), repr(nd.array([True], dtype="bool"))
# %%
print(nd.zeros((1, 0)))
# %%
nd.array(["a", "b"])
# %%
nd.random.normal(0, 1, shape=(2, 2)).shape, nd.random.randint(0, 10, shape=(3,)).dtype, nd.random.randn(2, 3).shape, nd.random_uniform(low=0, high=1, shape=(2,)).shape, nd.random_normal(shape=(2, 2), scale=2).shape, nd.normal(shape=3).shape, nd.uniform(shape=(3,)).shape
# %%
mx.random.seed(3)
a = nd.random.uniform(shape=(3,)).asnumpy()
mx.random.seed(3)
b = nd.random.uniform(shape=(3,)).asnumpy()
(a == b).all()
# %%
nd.shuffle(nd.arange(5)).sort()
# %%
nd.random.multinomial(nd.array([[0.0, 1.0], [1.0, 0.0]]))
# %%
nd.random.multinomial(nd.array([0, 0, 1.0]), shape=4), nd.random.multinomial(nd.array([0, 1.0]), get_prob=True)
# %%
nd.random.uniform(nd.array([0, 10]), nd.array([1, 11]), shape=3).shape
# %%
nd.random.exponential(2, shape=3).shape, nd.random.gamma(9, 0.5, shape=(2, 2)).shape, nd.random.poisson(4, shape=2).dtype, nd.random.negative_binomial(10, 0.5, shape=2).shape
# %%
nd.Embedding(nd.array([1, 0]), nd.array([[1, 2], [3, 4]]), input_dim=2, output_dim=2)
# %%
nd.gather_nd(nd.array([[1, 2], [3, 4]]), nd.array([[0, 1], [1, 0]])), nd.scatter_nd(nd.array([1, 2]), nd.array([[0, 1], [1, 0]]), shape=(2, 2))
# %%
nd.diag(nd.array([1, 2])), nd.diag(nd.array([[1, 2], [3, 4]])), nd.diag(nd.array([1]), k=1)
# %%
nd.linalg.gemm2(nd.ones((2, 3)), nd.ones((3, 2))), nd.linalg_gemm2(nd.ones((2, 3)), nd.ones((2, 3)), transpose_b=True)
# %%
nd.smooth_l1(nd.array([0.5, 2.0]), scalar=1), nd.hard_sigmoid(nd.array([0.5])), nd.LeakyReLU(nd.array([-1.0, 1]), slope=0.1), nd.LeakyReLU(nd.array([-1.0, 1]), act_type="elu", slope=1.0)
# %%
nd.square(nd.array([2, 3])), nd.sqrt(nd.array([4])), nd.rsqrt(nd.array([4])), nd.cbrt(nd.array([8])), nd.rcbrt(nd.array([8])), nd.reciprocal(nd.array([4])), nd.log2(nd.array([8])), nd.log10(nd.array([100])), nd.log1p(nd.array([0])), nd.expm1(nd.array([0])), nd.erf(nd.array([0.5])), nd.erfinv(nd.array([0.5])), nd.gamma(nd.array([4.0])), nd.gammaln(nd.array([4.0]))
# %%
nd.sin(nd.array([1.0])), nd.arctan(nd.array([1.0])), nd.sinh(nd.array([1.0])), nd.arccosh(nd.array([2.0])), nd.degrees(nd.array([1.0])), nd.radians(nd.array([180.0])), nd.hypot(nd.array([3.0]), nd.array([4.0])), nd.broadcast_hypot(nd.array([3.0]), nd.array([4.0])), nd.arctan2(nd.array([3.0]), nd.array([4.0]))
# %%
nd.BlockGrad(nd.array([1])), nd.stop_gradient(nd.array([1])), nd.identity(nd.array([1])), nd.make_loss(nd.array([1])), nd.MakeLoss(nd.array([1]))
# %%
nd.shape_array(nd.ones((2, 3))), nd.size_array(nd.ones((2, 3))), nd.ones((2, 3)).shape_array()
# %%
nd.shape_array(nd.ones((2, 3))), nd.reshape_like(nd.arange(4), nd.ones((2, 2))), nd.ones((2, 3)).reshape_like(nd.ones((3, 2))).shape, nd.batch_take(nd.array([[1, 2], [3, 4]]), nd.array([1, 0], dtype="int32")), nd.choose_element_0index(nd.array([[1, 2], [3, 4]]), nd.array([1, 0]))
# %%
nd.depth_to_space(nd.arange(4).reshape((1, 4, 1, 1)), 2), nd.space_to_depth(nd.arange(4).reshape((1, 1, 2, 2)), 2)
# %%
"mean %f" % nd.array([1, 2]).mean().asnumpy(), float(nd.array([3.5]).asnumpy()), int(nd.array([3.5]).asnumpy())
