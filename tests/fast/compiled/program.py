"""What test_compiled.py runs twice, in plain Python and compiled: each line must agree.

A line for each operator of the sweep, for a training step, for errors and where they
come from, and for what a record and the pool's counters say.
"""

from __future__ import annotations

import gc
import hashlib
from typing import Any

import numpy as np

import minimx as mx
from minimx.core.arrays.calls import METHODS


def show(name: str, *values: Any) -> None:
    """Print a digest of the bytes of arrays."""
    digest = hashlib.sha256()
    for value in values:
        found = value.asnumpy() if hasattr(value, "asnumpy") else value
        digest.update(np.ascontiguousarray(found).tobytes())
        digest.update(str((found.shape, found.dtype)).encode())
    print(name, digest.hexdigest()[:16])


def inputs(shape: tuple[int, ...], dtype: str = "float32") -> Any:
    """Numbers from a quarter to three quarters, where most functions are defined."""
    numbers = np.random.default_rng(0).uniform(0.25, 0.75, shape)
    return mx.nd.array(numbers, dtype=dtype)


def sweep() -> None:
    """Operators of one input and of two, small and broadcast, of several types."""
    for name in METHODS:
        for shape in ((4,), (2, 3), (1,)):
            try:
                found = getattr(inputs(shape), name)()
            except mx.MXNetError as lacking:  # an argument that it needs
                print(name, shape, type(lacking).__name__, lacking)
            else:
                several = found if isinstance(found, list) else [found]
                show(f"{name} of {shape}", *several)
    for dtype in ("float32", "float64", "float16", "int32"):
        a, b = inputs((3, 4), dtype), inputs((4,), dtype)
        show(f"arithmetic of {dtype}", a + b, a - b, a * b, a + a, 2 * a, a > b, -a)
    a = inputs((6, 4))
    show("products", mx.nd.dot(a, a.T), a.sum(), a.max(axis=1), mx.nd.softmax(a))
    show("views", a[2:4], a.reshape((4, 6)), a[1], mx.nd.concat(a, a, dim=1))
    a += 1
    a[2:3] = 7
    show("in place", a, mx.nd.where(a > 1, a, a * 0), a.astype("float64") / 3)


def training() -> None:
    """Three steps of a small network, imperative and hybridized."""
    for hybrid in (False, True):
        mx.random.seed(1)
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(8, activation="relu"), mx.gluon.nn.Dense(3))
        net.initialize(mx.init.Xavier())
        if hybrid:
            net.hybridize()
        trainer = mx.gluon.Trainer(net.collect_params(), "adam")
        loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        data, label = inputs((5, 7)), mx.nd.array([0, 1, 2, 1, 0])
        for _ in range(3):
            with mx.autograd.record():
                out = loss(net(data), label)
            out.backward()
            trainer.step(5)
        weights = [one.data() for one in net.collect_params().values()]
        show(f"training, hybrid {hybrid}", out, *weights)


def errors() -> None:
    """What is raised, with the user's line that is at its beginning."""
    for wrong in (
        lambda: inputs((2, 3)) + inputs((4, 5)),
        lambda: inputs((2,)) + mx.nd.ones((2,), ctx=mx.gpu(0)),
        lambda: mx.nd.dot(inputs((2, 3)), inputs((2, 3))),
        lambda: inputs((2,)) + "text",
    ):
        try:
            wrong()
        except Exception as error:
            print(type(error).__name__, error, getattr(error, "__notes__", ()))
    try:
        mx.engine.push(lambda: 1 / 0, mx.cpu(), (), (), "divide")
        mx.nd.waitall()
    except ZeroDivisionError as error:
        print(error, getattr(error, "__notes__", ()))


def watched() -> None:
    """What records say of the same calls: names, lines, memory, edges."""
    gc.collect()  # when Python does so depends on how many objects there are
    before = mx.storage.stats(mx.cpu())
    with mx.Record() as record:
        a = inputs((4,))
        b = a + a
        (b * 2 + a).asnumpy()
        mx.nd.relu(b).wait_to_read()
    ops = record.ops()
    for column in ("name", "line"):
        print(column, record.texts(ops[column]))
    print("edges", len(record.deps()), "memory", len(record.mem()))
    stats = mx.storage.stats(mx.cpu())
    print(stats.n_live, stats.n_free - before.n_free, stats.n_hit - before.n_hit)


if __name__ == "__main__":
    for engine in ("NaiveEngine", "ThreadedEnginePerDevice"):
        with mx.knobs(MXNET_ENGINE_TYPE=engine):
            sweep()
            training()
            errors()
            watched()
