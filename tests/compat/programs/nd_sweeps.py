"""Many calls of a kind, with settings drawn at random but the same for both."""

import random
import numpy as np
import mxnet as mx
from mxnet import autograd, nd
rng = random.Random(7)
nrng = np.random.RandomState(3)
def outcome(label, function):
    try:
        found = function()
        many = found if isinstance(found, (list, tuple)) else [found]
        print(label, *[(a.shape, a.dtype.__name__, a.asnumpy().astype("float64").round(3).tolist()) for a in many])
    except Exception as error:
        print(label, "refused")
# %%
def key_for(shape):
    parts = []
    for n in shape[:rng.randint(1, len(shape))]:
        kind = rng.randint(0, 5)
        if kind == 0:
            parts.append(rng.randint(-n, n - 1))
        elif kind <= 3:
            parts.append(slice(rng.choice([None, 0, 1, -1, -2]), rng.choice([None, 1, 2, -1, 5]), rng.choice([None, 1, 2, -1])))
        elif kind == 4:
            parts.append(slice(None))
        else:
            parts.append(Ellipsis if Ellipsis not in parts else slice(None))
    if rng.random() < 0.2 and Ellipsis not in parts:
        parts.insert(rng.randint(0, len(parts)), None)
    return parts[0] if len(parts) == 1 else tuple(parts)
for i in range(150):
    shape = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 3)))
    key = key_for(shape)
    x = nd.arange(int(np.prod(shape))).reshape(shape)
    if np.zeros(shape)[tuple(k for k in (key if isinstance(key, tuple) else (key,)))].size == 0:
        continue
    outcome((shape, key), lambda: x[key])
# %%
for i in range(80):
    shape = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 3)))
    key = key_for(shape)
    x = nd.zeros(shape)
    picked = np.zeros(shape)[key]
    if picked.size == 0:
        continue
    value = rng.choice([3, nd.arange(picked.size).reshape(picked.shape or (1,)), np.arange(picked.size).reshape(picked.shape), 2.5])
    def put():
        x[key] = value
        return x
    outcome((shape, key, getattr(value, "shape", value)), put)
# %%
def advanced(shape):
    parts = []
    length = rng.randint(1, 3)
    for n in shape[:rng.randint(1, len(shape))]:
        kind = rng.randint(0, 4)
        if kind == 0:
            parts.append(rng.randint(0, n - 1))
        elif kind == 1:
            parts.append(slice(None))
        else:
            parts.append([rng.randint(-n, n - 1) for _ in range(length)])
    return tuple(parts)
for i in range(60):
    shape = tuple(rng.randint(2, 4) for _ in range(rng.randint(1, 3)))
    key = advanced(shape)
    x = nd.arange(int(np.prod(shape))).reshape(shape)
    outcome((shape, key), lambda: x[key])
# %%
for name in ("sum", "mean", "prod", "max", "min", "nansum", "nanprod"):
    for axis in (None, 0, 1, -1, (0, 1), (1, -1), (0, 2), ()):
        for settings in ({}, {"keepdims": True}, {"exclude": True}):
            x = nd.array(nrng.randint(1, 4, (2, 3, 2)))
            outcome((name, axis, settings), lambda: getattr(nd, name)(x, axis=axis, **settings))
# %%
for name in ("argmax", "argmin"):
    for axis in (None, 0, 1, -1):
        for keep in (False, True):
            outcome((name, axis, keep), lambda: getattr(nd, name)(nd.array(nrng.randint(0, 9, (2, 3, 2))), axis=axis, keepdims=keep))
# %%
for axis in (None, 0, 1, -1):
    for k in (1, 2):
        for ret in ("indices", "value", "both", "mask"):
            for up in (False, True):
                x = nd.array(nrng.permutation(12).reshape(3, 4))
                outcome((axis, k, ret, up), lambda: nd.topk(x, axis=axis, k=k, ret_typ=ret, is_ascend=up))
for axis in (None, 0, 1):
    for up in (False, True):
        x = nd.array(nrng.permutation(12).reshape(3, 4))
        outcome((axis, up), lambda: [nd.sort(x, axis=axis, is_ascend=up), nd.argsort(x, axis=axis, is_ascend=up)])
# %%
codes = [0, -1, -2, -3, -4, 1, 2, 3, 6]
for i in range(200):
    shape = rng.choice([(6,), (2, 3), (2, 3, 4), (1, 6, 2)])
    code = tuple(rng.choice(codes) for _ in range(rng.randint(1, 4)))
    reverse = rng.random() < 0.3
    if not (-1 in code and -2 in code):
        outcome((shape, code, reverse), lambda: nd.array(list(nd.zeros(shape).reshape(code, reverse=reverse).shape)))
# %%
for name in ("broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div", "broadcast_mod", "broadcast_power", "broadcast_maximum", "broadcast_minimum", "broadcast_hypot", "broadcast_equal", "broadcast_not_equal", "broadcast_greater", "broadcast_lesser_equal", "broadcast_logical_and", "broadcast_logical_or", "broadcast_logical_xor"):
    a = nd.array(nrng.randint(1, 5, (2, 1, 3)))
    b = nd.array(nrng.randint(1, 5, (1, 2, 3)))
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        z = getattr(nd, name)(a, b)
        w = z * z
    try:
        w.backward()
    except Exception:
        pass
    outcome(name, lambda: [z, a.grad, b.grad])
# %%
unary = "abs arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh degrees erf erfinv exp expm1 fix floor gamma gammaln hard_sigmoid log log10 log1p log2 logical_not negative radians rcbrt reciprocal relu rint round rsqrt sigmoid sign sin sinh softsign sqrt square tan tanh trunc"
for name in unary.split():
    for points in ([-0.7, -0.2, 0.3, 0.8], [1.5, 2.5, 3.2, 4.0], [0.0, 1.0, -1.0, -2.5]):
        x = nd.array(points)
        x.attach_grad()
        with autograd.record():
            y = getattr(nd, name)(x)
        try:
            y.backward()
        except Exception:
            pass
        if points[0] == 0 and name.startswith("gamma"):
            continue
        print(name, points, [round(float(v), 3) for v in y.asnumpy()], [round(float(v), 3) for v in x.grad.asnumpy()])
# %%
for ta in (False, True):
    for tb in (False, True):
        a = nd.array(nrng.randint(0, 4, (3, 2) if ta else (2, 3)))
        b = nd.array(nrng.randint(0, 4, (4, 3) if tb else (3, 4)))
        outcome(("dot", ta, tb), lambda: nd.dot(a, b, transpose_a=ta, transpose_b=tb))
        c, d = nd.stack(a, a + 1), nd.stack(b, b * 2)
        outcome(("batch_dot", ta, tb), lambda: nd.batch_dot(c, d, transpose_a=ta, transpose_b=tb))
for sa, sb in (((2,), (2,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3, 4), (4, 2)), ((2, 3), (3, 2, 2)), ((1, 2), (3, 1))):
    outcome((sa, sb), lambda: nd.dot(nd.array(nrng.randint(0, 4, sa)), nd.array(nrng.randint(0, 4, sb))))
# %%
for kernel in ((2, 2), (3, 3), (3, 2)):
    for stride in ((1, 1), (2, 2)):
        for pad in ((0, 0), (1, 1)):
            for kind in ("max", "avg", "sum"):
                for convention in ("valid", "full"):
                    for count in (True, False):
                        x = nd.array(nrng.randint(0, 9, (1, 1, 5, 4)))
                        outcome((kernel, stride, pad, kind, convention, count), lambda: nd.Pooling(x, kernel=kernel, stride=stride, pad=pad, pool_type=kind, pooling_convention=convention, count_include_pad=count))
# %%
for stride in ((1, 1), (2, 1)):
    for pad in ((0, 0), (2, 1)):
        for dilate in ((1, 1), (2, 1)):
            for group in (1, 2):
                x = nd.array(nrng.randint(0, 5, (2, 2, 6, 5)))
                w = nd.array(nrng.randint(-2, 3, (4, 2 // group, 3, 2)))
                b = nd.array(nrng.randint(-2, 3, (4,)))
                for v in (x, w, b):
                    v.attach_grad()
                with autograd.record():
                    y = nd.Convolution(x, w, b, kernel=(3, 2), num_filter=4, stride=stride, pad=pad, dilate=dilate, num_group=group)
                    z = y * y
                z.backward()
                outcome((stride, pad, dilate, group), lambda: [y, x.grad, w.grad, b.grad])
# %%
for axis in (0, 1, -1):
    for name in ("softmax", "log_softmax", "softmin"):
        for t in (None, 2.0):
            x = nd.array(nrng.normal(size=(2, 3, 2)))
            x.attach_grad()
            with autograd.record():
                y = getattr(nd, name)(x, axis=axis, temperature=t)
                z = y * nd.arange(12).reshape((2, 3, 2))
            z.backward()
            outcome((axis, name, t), lambda: [y, x.grad])
# %%
for mode in ("clip", "wrap", "raise"):
    for axis in (0, 1, -1):
        outcome((mode, axis), lambda: nd.take(nd.arange(12).reshape((3, 4)), nd.array([[0, 2], [1, 0]]), axis=axis, mode=mode))
for axis in (0, 1, -1, None):
    for keep in (False, True):
        for mode in ("clip", "wrap"):
            outcome(("pick", axis, keep, mode), lambda: nd.pick(nd.arange(12).reshape((3, 4)), nd.array([0, 5, 2] if axis in (1, -1) else [0, 5, 2, 1]), axis=axis, keepdims=keep, mode=mode))
# %%
for dtype in ("float16", "float32", "float64", "int8", "uint8", "int32", "int64"):
    a = nd.array([1, 2, 100], dtype=dtype)
    for label, f in (("add", lambda: a + a), ("mul", lambda: a * 3), ("div", lambda: a / 3), ("pow", lambda: a ** 2), ("mod", lambda: a % 3), ("neg", lambda: -a), ("sum", lambda: a.sum()), ("mean", lambda: a.mean()), ("max", lambda: a.max()), ("gt", lambda: a > 1), ("exp", lambda: nd.exp(a)), ("sqrt", lambda: a.sqrt()), ("argmax", lambda: a.argmax(axis=0)), ("sort", lambda: a.sort()), ("topk", lambda: a.topk()), ("onehot", lambda: nd.one_hot(a, 3)), ("norm", lambda: a.norm()), ("clip", lambda: a.clip(2, 5)), ("abs", lambda: a.abs()), ("tile", lambda: a.tile(2)), ("dot", lambda: nd.dot(a, a)), ("cast", lambda: a.astype("float32")), ("rsub", lambda: 5 - a), ("rdiv", lambda: 10 / a), ("sigmoid", lambda: a.sigmoid()), ("round", lambda: a.round()), ("softmax", lambda: nd.softmax(a))):
        if dtype.startswith("float") and dtype != "float16" or label not in ("norm", "dot", "sort", "sigmoid"):
            outcome((dtype, label), f)
