"""Six networks and a file of records, written by MXNet or minimx, read by the other.

    python exchange_worker.py mxnet|minimx make|read DIRECTORY

`make` writes the files of `export`, and what the networks give for known inputs, to
`NAME.answers`. `read` loads the files with `SymbolBlock.imports` and prints, as JSON,
how far its outputs are from those answers; of the records, how many differ. Runs under
the Python of either.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

import numpy as np

mx: Any = importlib.import_module(sys.argv[1])
nn, rnn = mx.gluon.nn, mx.gluon.rnn


class Residual(mx.gluon.HybridBlock):  # type: ignore[misc]
    """x + convolutions(x), with BatchNorm."""

    def __init__(self, channels: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.body = nn.HybridSequential(prefix="")
            for activation in ("relu", None):
                self.body.add(nn.Conv2D(channels, 3, padding=1, use_bias=False))
                self.body.add(nn.BatchNorm())
                if activation:
                    self.body.add(nn.Activation(activation))

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Activation(self.body(x) + x, act_type="relu")


class Reader(mx.gluon.HybridBlock):  # type: ignore[misc]
    """Words to vectors, an LSTM, and two outputs of two inputs."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.embed, self.drop = nn.Embedding(7, 5), nn.Dropout(0.5)
            self.lstm = rnn.LSTM(4, layout="NTC")
            self.norm, self.out = nn.LayerNorm(), nn.Dense(3, flatten=False)

    def hybrid_forward(self, F: Any, x: Any, scale: Any) -> Any:
        y = self.lstm(self.drop(self.embed(x)))
        y = F.broadcast_mul(self.norm(y), scale)
        first = F.slice_axis(y, axis=1, begin=0, end=2)
        return F.log_softmax(self.out(y)), first.mean(axis=(1,)) * 2 - 1


class InNumpy(mx.gluon.HybridBlock):  # type: ignore[misc]
    """Arrays of `mx.np`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.hidden, self.norm = nn.Dense(4, activation="relu"), nn.BatchNorm()
            self.out = nn.Dense(3)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = self.norm(self.hidden(x))
        z = F.np.exp(-y) * 2 + 1 - F.np.mean(y, axis=1, keepdims=True)
        z = F.np.concatenate([z, F.np.tanh(y) / F.np.maximum(y, 0.5)], axis=-1)
        z = F.npx.softmax(self.out(z), axis=-1)
        return z, F.np.sum(z), F.np.transpose(z).reshape((-1,))


def parts(F: Any, y: Any, at: Any) -> Any:
    """What `Indexed` computes, as MXNet 1 writes it."""
    last = F.squeeze(F.slice_axis(y, axis=1, begin=3, end=4), axis=1)
    corner = F.squeeze(F.slice(y, begin=(0, 1), end=(1, 2)), axis=1)
    back = F.expand_dims(F.slice(y, begin=(None, 3), end=(None, None), step=(1, -2)), 1)
    picked = F.take(F.take(y, at, axis=1, mode="wrap"), at, axis=0, mode="wrap")
    return last, corner, back, picked, F.reshape(y, shape=(-1, 2)) * 2


class Indexed(mx.gluon.HybridBlock):  # type: ignore[misc]
    """Parts of an array: by keys, as MXNet 2 writes them, where arrays are traced."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.dense = nn.Dense(4)

    if sys.argv[1] == "mxnet":

        def hybrid_forward(self, F: Any, x: Any, at: Any) -> Any:
            return parts(F, self.dense(x), at)

    else:

        def forward(self, x: Any, at: Any) -> Any:
            y = self.dense(x)
            picked = y[:, at][at]
            return y[:, -1], y[0, 1], y[:, None, ::-2], picked, y.reshape((-1, 2)) * 2


class Controlled(mx.gluon.HybridBlock):  # type: ignore[misc]
    """A loop over the first axis, a loop until a condition fails, and a branch."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(4, 4))

    def hybrid_forward(self, F: Any, x: Any, start: Any, weight: Any) -> Any:
        def each(item: Any, state: Any) -> Any:
            state = F.tanh(F.dot(item, weight) + state)
            return state * 2, state

        def later(k: Any, total: Any) -> Any:
            return total * k, (k + 1, total + k)

        outs, state = F.contrib.foreach(each, x, start)
        first = F.slice_axis(F.reshape(state, shape=(-1,)), axis=0, begin=0, end=1)
        steps, (count, total) = F.contrib.while_loop(
            lambda k, total: k < 3, later, (F.ones_like(first), first), 5
        )
        steps = F.slice_axis(steps, axis=0, begin=0, end=2)  # what was computed
        chosen = F.contrib.cond(
            F.sum(state) < 100, lambda: F.exp(state), lambda: state - start
        )
        return outs, steps, count, total, chosen


def lenet() -> Any:
    net = nn.HybridSequential(prefix="lenet_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, activation="tanh"), nn.MaxPool2D(2, 2))
        net.add(nn.Conv2D(6, 3, activation="relu"), nn.AvgPool2D(2, 2), nn.Flatten())
        net.add(nn.Dense(10, activation="sigmoid"), nn.Dense(3))
    return net


def resnet() -> Any:
    net = nn.HybridSequential(prefix="resnet_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, padding=1), Residual(4), nn.MaxPool2D(), Residual(4))
        net.add(nn.GlobalAvgPool2D(), nn.Dense(3))
    return net


def reader() -> Any:
    return Reader(prefix="reader_")


def indexed() -> Any:
    return Indexed(prefix="indexed_")


def controlled() -> Any:
    return Controlled(prefix="controlled_")


def in_numpy() -> Any:
    mx.npx.set_np()  # the last network
    return InNumpy(prefix="in_numpy_")


SHAPES: dict[Any, list[tuple[int, ...]]] = {
    lenet: [(2, 1, 14, 14)],
    resnet: [(2, 3, 8, 8)],
    reader: [(2, 6), (1, 1, 4)],
    indexed: [(3, 5), (2,)],
    controlled: [(3, 2, 4), (2, 4)],
    in_numpy: [(2, 5)],
}


def inputs(make: Any) -> list[Any]:
    rng = np.random.RandomState(7)
    found: list[Any] = [rng.uniform(-1, 1, shape) for shape in SHAPES[make]]
    if make is reader:
        found[0] = rng.randint(0, 7, SHAPES[make][0])
    if make is indexed:
        found[1] = np.array([-1, 0])
    room = mx.np if make is in_numpy else mx.nd
    kinds = ["float32", "int32" if make is indexed else "float32"]
    pairs = zip(found, kinds, strict=False)
    return [room.array(x.astype(kind), dtype=kind) for x, kind in pairs]


def listed(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def write(make: Any, place: str) -> None:
    mx.random.seed(3)
    net = make()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    arrays = inputs(make)
    for _ in range(3):  # running means and variances that are not those at first
        with mx.autograd.record():
            net(*arrays)
    room = mx.npx if make is in_numpy else mx.nd
    room.save(place + ".answers", listed(net(*arrays)))
    net.export(place)


def read(make: Any, place: str) -> list[float]:
    if make is in_numpy:
        mx.npx.set_np()
    arrays = inputs(make)
    names = ["data"] if len(arrays) == 1 else ["data0", "data1"]
    net = mx.gluon.SymbolBlock.imports(
        place + "-symbol.json", names, place + "-0000.params"
    )
    room = mx.npx if make is in_numpy else mx.nd
    outputs, answers = listed(net(*arrays)), room.load(place + ".answers")
    assert [x.shape for x in outputs] == [x.shape for x in answers]
    return [
        float(np.abs(out.asnumpy() - answer.asnumpy()).max())
        for out, answer in zip(outputs, answers, strict=True)
    ]


def payloads() -> list[bytes]:
    """Records of all lengths, some with the format's own magic number inside."""
    magic, rng = b"\x0a\x23\xd7\xce", np.random.RandomState(5)
    plain = [rng.bytes(length) for length in (0, 1, 2, 3, 4, 5, 1000, 7000)]
    return [
        *plain,
        magic,
        magic * 3,
        b"abc" + magic,
        b"abcd" + magic + b"e",
        magic + b"f",
    ]


def labels() -> list[Any]:
    return [3.0, [1.0, 2.5], np.arange(6, dtype="float32")]


def write_records(place: str) -> None:
    writer = mx.recordio.MXIndexedRecordIO(place + ".idx", place + ".rec", "w")
    for key, payload in enumerate(payloads()):
        writer.write_idx(key, payload)
    for key, label in enumerate(labels(), len(payloads())):
        writer.write_idx(key, mx.recordio.pack((0, label, key, 7), b"image"))
    writer.close()


def read_records(place: str) -> list[float]:
    """How many records differ, and whether more of them follow."""
    wanted = payloads()
    reader = mx.recordio.MXIndexedRecordIO(place + ".idx", place + ".rec", "r")
    found = [reader.read_idx(key) for key in reader.keys]
    packed = [mx.recordio.unpack(record) for record in found[len(wanted) :]]
    wrong = sum(a != b for a, b in zip(found, wanted, strict=False))
    for (header, content), label in zip(packed, labels(), strict=True):
        right = np.array_equal(np.asarray(header.label), np.asarray(label, "float32"))
        wrong += not (right and content == b"image" and header.id2 == 7)
    plain = mx.recordio.MXRecordIO(place + ".rec", "r")
    wrong += sum(plain.read() != record for record in found)
    more = plain.read() is not None
    reader.close()
    plain.close()
    return [float(wrong), float(more)]


if __name__ == "__main__":
    apart: dict[str, list[float]] = {}
    for make in SHAPES:
        place = f"{sys.argv[3]}/{make.__name__}"
        if sys.argv[2] == "make":
            write(make, place)
        else:
            apart[make.__name__] = read(make, place)
    place = f"{sys.argv[3]}/records"
    if sys.argv[2] == "make":
        write_records(place)
    else:
        apart["records"] = read_records(place)
    print(json.dumps(apart))
