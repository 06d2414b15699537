"""Functions of mx.np over types, axes and shapes, and the gradient through each."""

import numpy as onp
import mxnet as mx
from mxnet import autograd, np, npx
npx.set_np()
R = onp.random.RandomState(5)
FLOATS = ("float16", "float32", "float64")
INTS = ("int8", "uint8", "int32", "int64")
def told(a):
    if isinstance(a, (list, tuple)):
        return [told(one) for one in a]
    if not hasattr(a, "asnumpy"):
        return repr(a)
    numbers = a.asnumpy()
    return a.shape, str(a.dtype), numbers.astype("float64").round(3 if numbers.dtype != "float16" else 1).tolist()
def again(label):
    R.seed(sum(map(ord, str(label))))
def outcome(label, function):
    again(label)
    try:
        found = told(function())
    except Exception:
        found = "refused"
    print(label, found)
def data(shape, dtype="float32", low=-3, high=4):
    if dtype in FLOATS:
        return np.array(R.uniform(low, high, shape).round(2), dtype=dtype)
    if dtype == "bool":
        return np.array(R.randint(0, 2, shape), dtype="bool")
    return np.array(R.randint(0 if dtype == "uint8" else int(low), int(high), shape), dtype=dtype)
def slope(label, function, *arrays):
    try:
        for a in arrays:
            a.attach_grad()
        with autograd.record():
            y = function(*arrays)
            y = y[0] if isinstance(y, (list, tuple)) else y
        y.backward(np.array(onp.arange(1.0, 1.0 + y.size).reshape(y.shape), dtype=y.dtype))
        found = told([y] + [a.grad for a in arrays])
    except Exception:
        found = "refused"
    print(label, found)
    again(label)
# %% functions of one array
for name in "negative reciprocal abs absolute sign rint ceil floor trunc fix square cbrt exp expm1 sin cos tan arctan degrees radians sinh cosh tanh arcsinh".split():
    for dtype in FLOATS:
        outcome((name, dtype), lambda: getattr(np, name)(data((2, 3), dtype, 0.5, 2.5)))
# %%
for name in "sqrt log log10 log2 log1p arcsin arccos arccosh arctanh".split():
    for dtype in FLOATS[1:]:
        low, high = (1.1, 3) if name == "arccosh" else (0.1, 0.9)
        outcome((name, dtype), lambda: getattr(np, name)(data((3,), dtype, low, high)))
# %%
for name in "sqrt exp sin cos tanh log1p expm1 degrees cbrt sinh".split():
    for dtype in INTS:
        outcome((name, dtype), lambda: getattr(np, name)(data((3,), dtype, 0, 3)))
# %%
for name in "negative abs sign square rint ceil floor trunc fix around invert logical_not".split():
    for dtype in INTS:
        outcome((name, dtype), lambda: getattr(np, name)(data((4,), dtype)))
# %% functions of numbers alone
for name in "exp sqrt sin negative abs floor ceil tanh log1p square sign".split():
    outcome(name, lambda: getattr(np, name)(0.25))
# %% slopes of functions of one array
for name in "negative reciprocal abs sign rint ceil floor trunc fix square cbrt exp expm1 sin cos tan arctan degrees radians sinh cosh tanh arcsinh".split():
    slope(name, getattr(np, name), data((2, 2), low=0.5, high=2.5))
# %%
for name in "sqrt log log10 log2 log1p arcsin arccos arctanh".split():
    slope(name, getattr(np, name), data((3,), low=0.1, high=0.9))
# %%
for name in "abs square sign exp tanh".split():
    slope(name, getattr(np, name), np.array(-1.5))
# %% functions of two
for name in "add subtract multiply true_divide divide mod remainder power maximum minimum hypot arctan2 copysign".split():
    for shapes in (((2, 3), (2, 3)), ((2, 1), (1, 3)), ((3,), ()), ((2, 0), (1, 0))):
        outcome((name, shapes), lambda: getattr(np, name)(*[data(s, low=0.5, high=3) for s in shapes]))
# %%
for name in "add multiply".split():
    for a in FLOATS + INTS + ("bool",):
        for b in FLOATS + INTS + ("bool",):
            if {a, b} != {"int8", "uint8"}:
                outcome((name, a, b), lambda: getattr(np, name)(data((2,), a, 1, 3), data((2,), b, 1, 3)))
# %%
for name in "subtract true_divide".split():
    for a in FLOATS + INTS + ("bool",):
        for b in FLOATS[1:2] + (() if a == "bool" else (a,)):
            if name == "subtract" or a == b or a not in FLOATS:
                outcome((name, a, b), lambda: getattr(np, name)(data((2,), a, 1, 3), data((2,), b, 1, 3)))
# %%
for name in "mod power maximum minimum".split():
    for dtype in FLOATS + INTS:
        outcome((name, dtype), lambda: getattr(np, name)(data((3,), dtype, 1, 5), data((3,), dtype, 1, 5)))
# %%
for name in "equal not_equal less less_equal greater greater_equal".split():
    for a, b in (("float32", "float32"), ("int32", "int32"), ("float64", "float64"), ("bool", "bool")):
        outcome((name, a, b), lambda: getattr(np, name)(data((4,), a), data((4,), b)))
# %%
for name in "bitwise_and bitwise_or bitwise_xor".split():
    for dtype in ("bool", "int32", "int64", "uint8"):
        outcome((name, dtype), lambda: getattr(np, name)(data((4,), dtype), data((4,), dtype)))
# %% a number beside an array
for dtype in FLOATS + INTS + ("bool",):
    x = data((3,), dtype, 1, 4)
    for label, f in {"x + 1": lambda: x + 1, "1.5 + x": lambda: 1.5 + x, "x - 1": lambda: x - 1, "2 - x": lambda: 2 - x, "x * 2": lambda: x * 2, "x / 2": lambda: x / 2, "3 / x": lambda: 3 / x, "x ** 2": lambda: x ** 2}.items():
        outcome((dtype, label), f)
# %%
for dtype in FLOATS + ("int32", "int64"):
    x = data((3,), dtype, 1, 4)
    for label, f in {"2 ** x": lambda: 2 ** x, "x % 2": lambda: x % 2, "7 % x": lambda: 7 % x, "x > 2": lambda: x > 2, "2 >= x": lambda: 2 >= x, "x == 2": lambda: x == 2, "-x": lambda: -x, "abs": lambda: abs(x)}.items():
        outcome((dtype, label), f)
# %% in place
for dtype in ("float32", "float64", "int32"):
    x = data((3,), dtype, 1, 4)
    x += 2
    x *= 3
    x -= data((3,), dtype)
    print(dtype, told(x))
# %% slopes of functions of two
for name in "add subtract multiply true_divide power maximum minimum hypot arctan2 mod copysign".split():
    for shapes in (((2, 2), (2, 2)), ((2, 1), (1, 2)), ((2,), ())):
        slope((name, shapes), getattr(np, name), *[data(s, low=0.6, high=3) for s in shapes])
# %%
x = data((3,), low=0.5, high=2)
for label, f in {"x + 1": lambda x: x + 1, "2 - x": lambda x: 2 - x, "3 / x": lambda x: 3 / x, "x ** 3": lambda x: x ** 3, "2 ** x": lambda x: 2 ** x, "x % 1": lambda x: x % 1, "hypot": lambda x: np.hypot(x, 2), "maximum": lambda x: np.maximum(x, 1), "ldexp": lambda x: np.ldexp(x, 2)}.items():
    slope(label, f, x)
# %% reductions over axes
for name in "sum mean prod max min std var amax amin".split():
    for axis in (None, 0, 1, -1, (0, 2), (0, 1, 2)):
        for keepdims in (False, True):
            outcome((name, axis, keepdims), lambda: getattr(np, name)(data((2, 3, 2), low=-1, high=2), axis=axis, keepdims=keepdims))
# %%
for name in "sum mean prod max min".split():
    for dtype in ("float16", "float64", "int8", "int32", "int64"):
        outcome((name, dtype), lambda: getattr(np, name)(data((2, 3), dtype, 1, 4), axis=1))
# %% differs: MXNet cuts off what is behind the point
np.std(np.array([1, 2, 4], dtype="int32")), np.var(np.array([1, 2, 4], dtype="int64"))
# %%
for name in "sum mean prod".split():
    for dtype in ("float16", "float32", "float64", "int32", "int64"):
        outcome((name, dtype), lambda: getattr(np, name)(data((2, 3), "float32", 1, 4), axis=0, dtype=dtype))
# %%
for name in "argmax argmin".split():
    for dtype in ("float32", "float64", "int32"):
        for axis in (None, 0, 1, -1):
            outcome((name, dtype, axis), lambda: getattr(np, name)(data((3, 4), dtype), axis=axis))
# %%
for name in "all any".split():
    for dtype in ("bool", "float32", "int32"):
        for axis in (None, 0, (0, 1)):
            outcome((name, dtype, axis), lambda: getattr(np, name)(data((2, 3), dtype), axis=axis))
# %%
for ddof in (0, 1, 2):
    outcome(("std", ddof), lambda: np.std(data((4, 3)), axis=0, ddof=ddof))
    outcome(("var", ddof), lambda: np.var(data((4, 3)), ddof=ddof))
# %%
for axis in (None, 0, 1):
    for dtype in (None, "float64", "int32"):
        outcome(("cumsum", axis, dtype), lambda: np.cumsum(data((2, 3), "int32"), axis=axis, dtype=dtype))
# %%
for axis in (None, 0, 1):
    outcome(("average", axis), lambda: np.average(data((2, 3)), axis=axis))
    outcome(("weighted", axis), lambda: np.average(data((2, 3)), axis=axis, weights=data((2, 3), low=1, high=2)))
outcome("returned", lambda: np.average(data((2, 3)), axis=1, weights=data((2, 3), low=1, high=2), returned=True))
# %%
for q in (0, 25, 50, 100):
    outcome(q, lambda: np.percentile(data((3, 4)), q, axis=1))
outcome("several", lambda: np.quantile(data((3, 4)), np.array([0.1, 0.5]), axis=0, keepdims=True))
# %%
for norm in (None, 1, 2, onp.inf, -onp.inf, "fro", "nuc"):
    outcome(norm, lambda: np.linalg.norm(data((3, 3)), norm))
# %%
for axis in (0, 1, (0, 1), -1):
    for keepdims in (False, True):
        outcome((axis, keepdims), lambda: np.linalg.norm(data((2, 3, 2)), axis=axis, keepdims=keepdims))
# %% slopes of reductions
for name in "sum mean prod max min".split():
    for axis in (None, 0, 1, (0, 1)):
        slope((name, axis), lambda x: getattr(np, name)(x, axis=axis), data((2, 3), low=0.5, high=3))
# %%
for axis in (None, 0, 1):
    slope(("cumsum", axis), lambda x: np.cumsum(x, axis=axis), data((2, 3)))
    slope(("norm", axis), lambda x: np.linalg.norm(x, axis=axis), data((2, 3)))
    slope(("average", axis), lambda x: np.average(x, axis=axis), data((2, 3)))
# %% differs: MXNet's have no slope
slope("std", np.std, data((2, 3)))
slope("var", np.var, data((2, 3)))
# %% differs: MXNet's slope is that of another number
slope("arctan2", lambda x: np.arctan2(2, x), data((3,)))
# %% arrays without axes and without elements
z = np.array(2.5)
z.shape, z.ndim, z.size, z.item(), float(z), z + 1, z * np.ones((2,)), z.sum(), z.reshape(1), z.reshape(1, 1), np.expand_dims(z, 0)
# %%
e = np.zeros((0, 3))
e.sum(), e.sum(axis=0), e.shape, e.size, (e + 1).shape, np.concatenate([e, np.ones((2, 3))]).shape, e.T.shape, e.reshape(3, 0).shape
# %%
for f in (lambda: e.mean(), lambda: e.max(), lambda: np.dot(np.zeros((2, 0)), np.zeros((0, 3))), lambda: e[0], lambda: len(z), lambda: z[0]):
    outcome("edge", f)
# %% differs: the product of nothing is 1
e.prod()
# %% differs: there is no first axis to go along
[v for v in z]
# %%
np.array([]).shape, np.array([[]]).shape, np.array(3).dtype, np.array(True).dtype, np.array([1, 2]).dtype, np.array([1.5]).dtype, np.array(onp.array([1, 2])).dtype, np.array(onp.array([1.5])).dtype
# %% making arrays
for dtype in FLOATS + INTS + ("bool", None):
    outcome(dtype, lambda: [np.zeros((2,), dtype=dtype), np.ones((1, 2), dtype=dtype), np.full((2,), 3, dtype=dtype), np.eye(2, dtype=dtype if dtype != "bool" else "int32"), np.zeros_like(np.ones((2,)), dtype=dtype), np.ones_like(np.ones(2), dtype=dtype), np.full_like(np.ones(2), 2, dtype=dtype)])
# %%
for args in ((5,), (1, 4), (0, 1, 0.25), (5, 0, -2), (2, 2)):
    for dtype in (None, "int32", "float64"):
        outcome((args, dtype), lambda: np.arange(*args, dtype=dtype))
# %%
for endpoint in (True, False):
    outcome(endpoint, lambda: [np.linspace(0, 1, 5, endpoint=endpoint), np.linspace(2, -2, 3, endpoint=endpoint, dtype="float64"), np.logspace(0, 2, 3, endpoint=endpoint), np.linspace(0, 1, 3, retstep=True)])
# %%
for args in ((3,), (2, 3), (3, 3, 1), (3, 4, -1)):
    outcome(args, lambda: [np.eye(*args), np.identity(args[0])])
for k in (-1, 0, 1):
    outcome(k, lambda: [np.tril(np.ones((3, 3)), k), np.diag(np.arange(3), k), np.diag(np.ones((3, 3)), k), np.diagflat(np.arange(2), k)])
# %%
np.hanning(5), np.hamming(4), np.blackman(5), np.indices((2, 2)), np.full((2, 2), 7), np.empty((2, 3)).shape, np.zeros((), dtype="int32"), np.float32, np.pi
# %% shapes
x = np.arange(24).reshape(2, 3, 4)
for shape in ((4, 6), (-1,), (2, -1), (24, 1), (-1, 2, 3), (5, 5), (-1, -1)):
    outcome(shape, lambda: x.reshape(shape))
# %%
x.reshape((6, 4), order="C"), x.flatten("C"), np.ravel(x, "C"), x.flatten(order="C")
# %%
for axes in (None, (0, 1, 2), (2, 0, 1), (1, 0, 2), (-1, 0, 1), (0, 0, 1)):
    outcome(axes, lambda: np.transpose(x, axes))
x.T.shape, x.transpose(2, 1, 0).shape, x.swapaxes(0, 2).shape, np.moveaxis(x, 0, -1).shape, np.moveaxis(x, [0, 1], [1, 2]).shape, np.rollaxis(x, 2).shape, np.rollaxis(x, 1, 3).shape
# %%
y = np.ones((1, 2, 1))
for axis in (None, 0, 2, (0, 2), -1, 1):
    outcome(axis, lambda: np.squeeze(y, axis))
for axis in (0, 1, 3, -1, -4, 4):
    outcome(axis, lambda: np.expand_dims(y, axis).shape)
# %%
np.broadcast_to(np.arange(3), (2, 3)), np.broadcast_arrays(np.arange(2).reshape(2, 1), np.arange(2)), np.atleast_1d(np.array(1)), np.atleast_2d(np.arange(2)), np.atleast_3d(np.ones((2, 2))).shape, np.meshgrid(np.arange(2), np.arange(3), indexing="ij")
# %%
for f in (lambda: np.flip(x, 0), lambda: np.flip(x, (1, 2)), lambda: np.flip(x), lambda: np.fliplr(x), lambda: np.flipud(x), lambda: np.rot90(x[0]), lambda: np.rot90(x, 2, (1, 2)), lambda: np.roll(x, 1), lambda: np.roll(x, 2, axis=1), lambda: np.roll(x, (1, 2), axis=(0, 2))):
    outcome("turned", f)
# %% joining and cutting
a, b = np.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3) * 10
for axis in (0, 1, -1, None):
    outcome(axis, lambda: np.concatenate([a, b], axis=axis))
for axis in (0, 1, 2, -1):
    outcome(axis, lambda: np.stack([a, b], axis=axis))
np.vstack([a, b]), np.hstack([a, b]), np.dstack([a, b]).shape, np.column_stack([np.arange(2), np.ones(2)]), np.append(a, b), np.append(a, b, axis=0)
# %%
for parts, axis in ((2, 0), (3, 1), ([1, 2], 1), ([1], 0), (4, 1)):
    outcome((parts, axis), lambda: np.split(a, parts, axis))
    outcome(("uneven", parts, axis), lambda: np.array_split(a, parts, axis))
np.hsplit(a, 3)[1], np.vsplit(a, 2)[0], np.dsplit(np.ones((1, 2, 4)), 2)[0].shape
# %%
np.tile(a, 2), np.tile(a, (2, 1)), np.repeat(a, 2), np.repeat(a, 2, axis=0), np.pad(a, ((1, 1), (1, 1))).shape
# %% differs: MXNet pads with 0 whatever is asked for
np.pad(a, ((0, 1), (2, 0)), constant_values=9)
# %%
for mode in ("constant", "edge", "reflect", "symmetric", "maximum", "minimum"):
    outcome(mode, lambda: np.pad(data((2, 3)), ((1, 1), (1, 0)), mode=mode))
# %%
for obj, axis in ((1, None), (1, 0), (np.array([0, 2], dtype="int64"), 1), (slice(0, 2), 1), (-1, 1)):
    outcome((obj, axis), lambda: np.delete(a, obj, axis=axis))
for obj, values, axis in ((1, 9, None), (1, 9, 0), (2, [7, 8], 1), (-1, 5, 1)):
    outcome((obj, values, axis), lambda: np.insert(a, obj, np.array(values), axis=axis))
# %% slopes of rearranging
for label, f in {"reshape": lambda x: x.reshape(3, 2), "transpose": lambda x: x.T, "flip": lambda x: np.flip(x, 1), "roll": lambda x: np.roll(x, 1), "tile": lambda x: np.tile(x, 2), "repeat": lambda x: np.repeat(x, 2, axis=1), "pad": lambda x: np.pad(x, ((1, 1), (0, 1))), "split": lambda x: np.split(x, 3, axis=1), "squeeze": lambda x: np.squeeze(np.expand_dims(x, 1)), "tril": lambda x: np.tril(x), "diag": lambda x: np.diag(x), "broadcast": lambda x: np.broadcast_to(x, (2, 2, 3)), "swapaxes": lambda x: x.swapaxes(0, 1), "moveaxis": lambda x: np.moveaxis(x, 0, 1), "ravel": lambda x: np.ravel(x), "where": lambda x: np.where(x > 0, x, 2 * x), "clip": lambda x: np.clip(x, -1, 1), "take": lambda x: np.take(x, np.array([0, 2]), axis=1)}.items():
    slope(label, f, data((2, 3)))
# %% differs: MXNet turns the slope the wrong way
slope("rot90", np.rot90, data((2, 3)))
# %%
for label, f in {"concatenate": lambda a, b: np.concatenate([a, b]), "stack": lambda a, b: np.stack([a, b], 1), "vstack": lambda a, b: np.vstack([a, b]), "hstack": lambda a, b: np.hstack([a, b]), "dstack": lambda a, b: np.dstack([a, b]), "column_stack": lambda a, b: np.column_stack([a, b]), "append": lambda a, b: np.append(a, b)}.items():
    slope(label, f, data((2, 2)), data((2, 2)))
# %% indexing
x = np.arange(24).reshape(2, 3, 4)
for key in (0, -1, (1, 2), (0, 1, 3), slice(1, None), (slice(None), 1), (Ellipsis, 0), (0, Ellipsis), None, (None, 0), (slice(None), None, 1), (slice(None, None, -1),), (0, slice(2, None, -1), slice(0, 4, 2)), (slice(5, 9),), ()):
    outcome(key, lambda: x[key])
# %%
for key in (5, (0, 0, 0, 0), (0, 9), -3, "a", 1.5):
    outcome(key, lambda: x[key])
# %%
for key in ([0, 1], ([0, 1], [1, 2]), (slice(None), [0, 2]), ([1, 0], slice(None), [3, 1]), (0, [0, 1], [1, 1]), ([[0, 1], [1, 0]],), ([-1], [-2], [-3]), (Ellipsis, [0, 3])):
    outcome(key, lambda: x[key])
# %%
for dtype in ("int32", "int64", "float32", "uint8"):
    outcome(dtype, lambda: x[np.array([1, 0], dtype=dtype)])
    outcome((dtype, "two"), lambda: x[np.array([1, 0], dtype=dtype), np.array([2, 1], dtype=dtype)])
# %% masks
m = np.arange(6).reshape(2, 3)
for mask in (m > 2, m < 0, m >= 0, m % 2 == 0):
    outcome("mask", lambda: m[mask])
m[np.array([True, False])], m[onp.array([True, False])], m[:, np.array([True, False, True])], x[np.array([[True, False, True], [False, False, True]])]
# %%
m = np.arange(6).reshape(2, 3)
m[m > 3] = -1
m[np.array([True, False])] = 7
m
# %%
m = np.arange(6.0).reshape(2, 3)
m[m > 2] += 10
m[m == 1] = np.array(5)
m
# %%
m = np.arange(6.0).reshape(2, 3)
m[m > 2] = np.array([7.0, 8.0, 9.0])
m
# %% writing
x = np.zeros((2, 3))
for key, value in ((0, 1), ((1, 2), 2), (slice(None), 3), ((slice(None), 1), 4), ((Ellipsis, 0), np.array([5, 6])), ((0, slice(1, None)), [7, 8]), (([0, 1], [0, 1]), 9), (([0, 1], [2, 2]), np.array([10.0, 11.0])), ([1], onp.array([1, 2, 3])), ((slice(None, None, -1), 0), np.array([1, 2])), ((None, 0), 5), ((slice(0, 0),), 3)):
    x[:] = 0
    def put():
        x[key] = value
        return x
    outcome((key, "put"), put)
# %%
x = np.zeros((2, 3), dtype="int32")
x[0] = 2.7
x[1, 1:] = np.array([1.9, -1.9])
x
# %%
def bad(x, key, value):
    x[key] = value
for key, value in ((0, [1, 2]), (slice(None), np.ones((3, 2))), ((5, 5), 1)):
    outcome((key, "bad"), lambda: bad(np.zeros((2, 3)), key, value))
# %% slopes of indexing
for key in (0, (1, 2), (slice(None), 1), (slice(None, None, -1), 0), (Ellipsis, -1), None, ([0, 1], [1, 1]), ([0, 0, 1],), (slice(None), [0, 2])):
    slope(key, lambda x: x[key] * 2, data((2, 3)))
# %%
x = data((2, 3))
x.attach_grad()
with autograd.record():
    y = (x[x > 0] ** 2).sum()
y.backward()
x.grad
# %% searching and sorting
for axis in (-1, 0, 1, None):
    outcome(axis, lambda: [np.sort(data((3, 4)), axis=axis), np.argsort(data((3, 4)), axis=axis)])
# %%
for dtype in ("float32", "int32", "int64", "float64"):
    outcome(dtype, lambda: np.unique(data((8,), dtype, 0, 3), return_index=True, return_inverse=True, return_counts=True))
outcome("axis", lambda: np.unique(np.array([[1, 0], [1, 0], [2, 3]]), axis=0))
# %%
np.nonzero(np.array([[1, 0], [0, 2]])), np.where(np.array([True, False]), 1.0, 2.0), np.where(np.array([1, 0]), np.array([1, 2]), 5), np.flatnonzero(np.array([0, 3, 0, 1])), np.bincount(np.array([0, 1, 1, 3], dtype="int32")), np.bincount(np.array([0, 1], dtype="int32"), minlength=4), np.bincount(np.array([0, 1, 1], dtype="int32"), weights=np.array([0.5, 1, 2]))
# %%
for mode in ("clip", "wrap"):
    outcome(mode, lambda: [np.take(np.arange(5), np.array([-1, 7, 2]), mode=mode), np.take(np.arange(6).reshape(2, 3), np.array([[0, 4]]), axis=1, mode=mode)])
np.diff(np.array([1, 4, 9, 16])), np.diff(np.arange(8).reshape(2, 4), n=2, axis=1), np.ediff1d(np.array([1, 2, 4])), np.interp(np.array([0.5, 3]), np.array([0, 1, 2]), np.array([0, 10, 20]))
# %%
np.histogram(np.array([1, 2, 1, 4]), bins=3, range=(0, 6)), np.histogram(np.array([0.1, 0.6, 0.7]), bins=4, range=(0, 1)), np.polyval(np.array([1, 2, 3]), np.array([0, 2]))
# %% numbers that are none
n = np.array([1.0, onp.nan, onp.inf, -onp.inf])
np.isnan(n), np.isinf(n), np.isfinite(n), np.isposinf(n), np.isneginf(n), np.nan_to_num(n, nan=7, posinf=8, neginf=9), np.max(n), np.sum(n), np.allclose(n, n), np.array_equal(n[:1], n[:1])
# %% products
for sa, sb in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((2, 2, 3), (3,)), ((2, 2, 3), (3, 2)), ((), (2,)), ((2, 3), ())):
    outcome((sa, sb), lambda: np.dot(data(sa), data(sb)))
# %%
for sa, sb in (((2, 3), (3, 2)), ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 2, 3), (3, 2)), ((2, 1, 2, 3), (2, 3, 1)), ((2, 3), (2, 3)), ((), (2,))):
    outcome((sa, sb), lambda: np.matmul(data(sa), data(sb)))
# %%
for axes in (0, 1, 2, ([0], [1]), ([0, 1], [1, 0]), (1, 0)):
    outcome(axes, lambda: np.tensordot(data((3, 3)), data((3, 3)), axes))
# %%
for subscripts, shapes in (("ij,jk->ik", ((2, 3), (3, 2))), ("ij->ji", ((2, 3),)), ("ii", ((3, 3),)), ("ii->i", ((3, 3),)), ("i,j->ij", ((2,), (3,))), ("bij,bjk->bik", ((2, 2, 3), (2, 3, 1))), ("ij,ij", ((2, 3), (2, 3))), ("...j->...", ((2, 3),)), ("ij,jk,kl->il", ((2, 2), (2, 2), (2, 2)))):
    outcome(subscripts, lambda: np.einsum(subscripts, *[data(s) for s in shapes]))
# %%
np.vdot(np.arange(3), np.arange(3)), np.inner(np.ones((2, 3)), np.ones((2, 3))), np.outer(np.arange(2), np.arange(3)), np.trace(np.arange(9).reshape(3, 3)), np.trace(np.arange(9).reshape(3, 3), offset=1)
# %% slopes of products
for label, f, shapes in (("dot", np.dot, ((2, 3), (3, 2))), ("dot1", np.dot, ((3,), (3,))), ("dotv", np.dot, ((2, 3), (3,))), ("matmul", np.matmul, ((2, 2, 3), (3, 2))), ("matmul1", np.matmul, ((3,), (3, 2))), ("tensordot", lambda a, b: np.tensordot(a, b, 1), ((2, 3), (3, 2))), ("einsum", lambda a, b: np.einsum("ij,kj->ik", a, b), ((2, 3), (2, 3))), ("outer", np.outer, ((2,), (3,))), ("inner", np.inner, ((3,), (3,))), ("vdot", np.vdot, ((3,), (3,)))):
    slope(label, f, *[data(s) for s in shapes])
# %% linear algebra
S = np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
np.linalg.inv(S), np.linalg.det(S), np.linalg.slogdet(S), np.linalg.cholesky(S), np.linalg.solve(S, np.array([1.0, 2, 3])), np.linalg.pinv(S), np.linalg.eigvalsh(S), np.linalg.matrix_rank(S)
# %%
for dtype in ("float32", "float64"):
    again(dtype)
    A = data((2, 3, 3), dtype) + 4 * np.eye(3, dtype=dtype)
    outcome(dtype, lambda: [np.linalg.inv(A), np.linalg.det(A), np.linalg.solve(A, data((2, 3, 1), dtype)), np.linalg.pinv(A)])
# %%
q, r = np.linalg.qr(S)
ut, s, v = np.linalg.svd(S)
w, u = np.linalg.eigh(S)
told(np.abs(r)), told(s), told(w), told(np.dot(q, r)), told(np.dot(ut * s, v)), told(np.dot(u * w, u.T))
# %%
np.linalg.lstsq(np.array([[1.0, 0], [1, 1], [1, 2]]), np.array([1.0, 3, 5]), rcond=None)[0], np.linalg.tensorinv(np.eye(4).reshape(2, 2, 2, 2)).shape, np.linalg.tensorsolve(np.eye(4).reshape(2, 2, 2, 2), np.ones((2, 2))), np.linalg.eigvals(np.diag(np.array([1.0, 2])))
# %%
for label, f in {"inv": np.linalg.inv, "det": np.linalg.det, "cholesky": np.linalg.cholesky, "slogdet": lambda x: np.linalg.slogdet(x)[1], "solve": lambda x: np.linalg.solve(x, np.ones((3, 1))), "eigvalsh": np.linalg.norm, "pinv": np.linalg.inv}.items():
    slope(label, f, S.copy())
# %%
for f in (lambda: np.linalg.inv(np.ones((2, 3))), lambda: np.linalg.det(np.ones((2, 3))), lambda: np.linalg.cholesky(np.ones(3)), lambda: np.linalg.solve(np.eye(2), np.ones(3))):
    outcome("shape", f)
# %% random numbers
for f in (lambda: np.random.uniform(size=(2, 3)), lambda: np.random.uniform(0, np.ones(3)), lambda: np.random.normal(0, 1, (2,)), lambda: np.random.normal(np.zeros((2, 1)), np.ones(3)), lambda: np.random.randn(2, 3), lambda: np.random.rand(3), lambda: np.random.rand(), lambda: np.random.randint(5, size=(2,)), lambda: np.random.randint(2, 5, (3,), dtype="int64"), lambda: np.random.gamma(2.0, 1.0, (2,)), lambda: np.random.beta(1.0, 2.0, (2,)), lambda: np.random.exponential(1.0, (2,)), lambda: np.random.gumbel(0, 1, (2,)), lambda: np.random.logistic(0, 1, (2,)), lambda: np.random.lognormal(0, 1, (2,)), lambda: np.random.pareto(2.0, (2,)), lambda: np.random.power(2.0, (2,)), lambda: np.random.rayleigh(1.0, (2,)), lambda: np.random.weibull(1.0, (2,)), lambda: np.random.chisquare(2.0, (2,)), lambda: np.random.multinomial(4, [0.5, 0.5]), lambda: np.random.choice(5, 3), lambda: np.random.choice(5, (2, 2)), lambda: np.random.multivariate_normal(np.zeros(2), np.eye(2), (3,)), lambda: np.random.normal(), lambda: np.random.uniform()):
    found = f()
    print(type(found).__name__, getattr(found, "shape", None), getattr(found, "dtype", None))
# %%
for dtype in ("float16", "float32", "float64"):
    print([a.dtype.name for a in (np.random.uniform(size=2, dtype=dtype), np.random.normal(size=2, dtype=dtype))])
x = np.arange(6)
np.random.shuffle(x)
np.sort(x), npx.random.seed(3)
# %%
for f in (lambda: np.random.uniform(size=(2,), dtype="int32")):
    outcome("random", lambda: [f(), None][1])
# %% functions of npx
x = data((2, 3))
for name in "relu sigmoid softmax log_softmax gamma gammaln erf erfinv".split():
    slope(name, getattr(npx, name), data((2, 3), low=0.1, high=0.9))
# %%
for axis in (0, 1, -1):
    outcome(axis, lambda: [npx.softmax(x, axis=axis), npx.log_softmax(x, axis=axis), npx.softmax(x, axis=axis, temperature=2.0)])
outcome("length", lambda: npx.softmax(x, length=np.array([1, 3], dtype="int32"), use_length=True, axis=-1))
# %%
npx.one_hot(np.array([0, 2]), 3, on_value=5, off_value=-1), npx.pick(x, np.array([0, 2])), npx.topk(np.array([3.0, 1, 2]), k=2), npx.topk(np.array([3.0, 1, 2]), k=2, ret_typ="value"), npx.arange_like(np.ones((2, 3)), axis=1), npx.gather_nd(np.arange(4).reshape(2, 2), np.array([[0, 1], [1, 0]])), npx.batch_dot(np.ones((2, 1, 2)), np.ones((2, 2, 1)))
# %%
for act in ("relu", "sigmoid", "tanh", "softrelu", "softsign"):
    slope(act, lambda x: npx.activation(x, act_type=act), data((4,)))
for act in ("leaky", "elu", "selu", "gelu"):
    slope(act, lambda x: npx.leaky_relu(x, act_type=act), data((4,), low=0.1))
# %%
slope("fully_connected", lambda x, w, b: npx.fully_connected(x, w, b, num_hidden=2), data((2, 3)), data((2, 3)), data((2,)))
slope("flatten", lambda x, w: npx.fully_connected(x, w, num_hidden=2, no_bias=True, flatten=False), data((2, 1, 3)), data((2, 3)))
slope("convolution", lambda x, w, b: npx.convolution(x, w, b, kernel=(2, 2), num_filter=1), data((1, 1, 3, 3)), data((1, 1, 2, 2)), data((1,)))
slope("pooling", lambda x: npx.pooling(x, kernel=(2, 2), pool_type="avg"), data((1, 1, 3, 3)))
slope("layer_norm", lambda x, g, b: npx.layer_norm(x, g, b), data((2, 3)), data((3,)), data((3,)))
slope("embedding", lambda w: npx.embedding(np.array([0, 2]), w, input_dim=3, output_dim=2), data((3, 2)))
# %%
for codes in ((-1,), (-2, -1), (-2, 3, 2), (-5, -2), (-6, 1, 2, -4), (6, -4), (-4,)):
    outcome(codes, lambda: npx.reshape(np.arange(24).reshape(2, 3, 4), codes))
# %%
npx.sequence_mask(np.ones((3, 2)), np.array([1, 2]), use_sequence_length=True, value=-1), npx.smooth_l1(np.array([-2.0, 0.5]), scalar=1.0), npx.is_np_array(), npx.is_np_shape()
# %% methods and attributes
x = np.array([[3, 1], [2, 4]])
x.ndim, x.size, x.tolist(), x.item(3), x.sum(1), x.mean(0), x.max(), x.argmin(1), x.cumsum(), x.clip(2, 3), x.round(), x.std(), x.var(), x.prod(), x.dot(x), x.astype("int8").dtype, x.copy(), x.nonzero(), x.any(), x.all(), x.argsort(), x.take(np.array([0])), x.repeat(2), x.squeeze()
# %%
for text in (np.arange(3), np.array(1.5), np.array([True]), np.zeros((0,)), np.array([1, 2], dtype="int64"), np.ones((2, 2), dtype="float16"), np.array([1e-5, 1e5]), np.arange(2000)):
    print(repr(text), str(text))
# %%
for x in (np.array([1]), np.array(0.0), np.array([True]), np.array([0, 1])):
    outcome("truth", lambda: bool(x))
    outcome("int", lambda: int(x))
    outcome("float", lambda: float(x))
    outcome("len", lambda: len(x))
# %% between the libraries
a = np.arange(3)
type(onp.array(a.asnumpy())).__name__, type(onp.add(a, 1)).__name__, type(onp.mean(a)).__name__, (onp.float32(2) * a), type(a.as_nd_ndarray()).__name__, type(mx.nd.ones(2).as_np_ndarray()).__name__, a.as_nd_ndarray()
# %%
outcome("list", lambda: a + [1, 2, 3])
outcome("text", lambda: a + "b")
outcome("sum", lambda: np.sum([1, 2]))
outcome("out", lambda: np.add(a, a, out=np.zeros(3)))
outcome("bad out", lambda: np.add(a, a, out=np.zeros(2)))
# %% differs: MXNet gives an array of the other flavour, which np.sin refuses
x = np.array([0.5, 1.5])
x.attach_grad()
with autograd.record():
    y = np.exp(x) * x ** 2
    g = autograd.grad(y, x, create_graph=True, retain_graph=True)[0]
    z = np.sin(g).sum()
z.backward()
x.grad
# %%
for req in ("write", "add", "null"):
    x, w = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    x.attach_grad(grad_req=req)
    w.attach_grad()
    print(req, x.grad)
    for _ in range(2):
        with autograd.record():
            y = (x ** 2 * w).sum()
        y.backward()
    print(req, x.grad, w.grad)
