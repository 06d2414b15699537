"""Networks as files of ONNX: those of the zoo, recurrent ones, and attention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import minimx as mx
from minimx.gluon import nn, rnn
from minimx.gluon.model_zoo import vision
from tests.onnx_files.running import run, same

#: One of each family, and the length of the smallest image that it takes.
FAMILIES = {
    "mobilenet0.25": 32,
    "mobilenetv2_0.25": 32,
    "resnet18_v1": 32,
    "resnet18_v2": 32,
    "squeezenet1.1": 224,
}


def filled(net: Any, *batch: Any) -> list[Any]:
    """The block with values and a graph; returns what it computes."""
    net.initialize(mx.init.Xavier(), force_reinit=True)
    net.hybridize()
    out = net(*batch)
    return [a.asnumpy() for a in (out if isinstance(out, (list, tuple)) else [out])]


def written(net: Any, folder: Path, *batch: Any, **more: Any) -> Path:
    """The file of a block that was called."""
    graph, values = net.export(str(folder / "net"))
    path = folder / "net.onnx"
    shapes, types = [a.shape for a in batch], [a.dtype for a in batch]
    mx.onnx.export_model(graph, values, shapes, types, path, **more)
    onnx.checker.check_model(str(path), full_check=True)
    return path


def both_ways(net: Any, folder: Path, *batch: Any, close: float = 1e-4) -> None:
    """What ONNX Runtime computes, and what is read again."""
    wanted = filled(net, *batch)
    path = written(net, folder, *batch)
    same(run(path, [a.asnumpy() for a in batch]), wanted, close)
    again = mx.onnx.import_to_gluon(path, mx.cpu())
    again.hybridize()
    out = again(*batch)
    found = [a.asnumpy() for a in (out if isinstance(out, (list, tuple)) else [out])]
    same(found, wanted, close)


def image(length: int, samples: int = 1) -> Any:
    numbers = np.random.default_rng(0).uniform(-1, 1, (samples, 3, length, length))
    return mx.nd.array(numbers)


@pytest.mark.parametrize("name", FAMILIES)
def test_networks_of_the_zoo(name: str, tmp_path: Path) -> None:
    mx.random.seed(1)
    more = {"thumbnail": True} if name.startswith("resnet") else {}
    net = vision.get_model(name, classes=10, **more)
    both_ways(net, tmp_path, image(FAMILIES[name]))


def test_a_network_of_joined_layers(tmp_path: Path) -> None:
    both_ways(vision.DenseNet(8, 4, [1, 2, 1, 1], classes=10), tmp_path, image(224))


class Tagger(nn.HybridBlock):
    """Words, a recurrent layer in both directions, a class for each word."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        with self.name_scope():
            self.words = nn.Embedding(20, 6)
            self.layer = layer
            self.tags = nn.Dense(4, flatten=False)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.tags(self.layer(self.words(x)))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers(kind: str, tmp_path: Path) -> None:
    layer = getattr(rnn, kind)(5, num_layers=2, bidirectional=True, layout="NTC")
    words = mx.nd.array(np.random.default_rng(0).integers(0, 20, (3, 7)))
    both_ways(Tagger(layer), tmp_path, words)


def test_a_recurrent_layer_takes_other_lengths_and_batches(tmp_path: Path) -> None:
    net = Tagger(rnn.LSTM(5, layout="NTC"))
    filled(net, mx.nd.ones((2, 3)))
    path = written(net, tmp_path, mx.nd.ones((2, 3)), dynamic=True)
    words = mx.nd.array(np.random.default_rng(0).integers(0, 20, (4, 9)))
    same(run(path, [words.asnumpy()]), [net(words).asnumpy()], 1e-5)


class Attention(nn.HybridBlock):
    """A layer of a transformer, with heads made by reshaping."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.query, self.key, self.value, self.out = (
                nn.Dense(8, flatten=False) for _ in range(4)
            )
            self.norm = nn.LayerNorm()

    def heads(self, F: Any, x: Any) -> Any:
        x = F.reshape(x, shape=(0, 0, 2, -1))
        return F.reshape(F.transpose(x, axes=(0, 2, 1, 3)), shape=(-3, 0, 0))

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        parts = [self.heads(F, part(x)) for part in (self.query, self.key, self.value)]
        scores = F.softmax(F.batch_dot(parts[0], parts[1], transpose_b=True) / 2)
        found = F.reshape(F.batch_dot(scores, parts[2]), shape=(-4, -1, 2, 0, 0))
        found = F.reshape(F.transpose(found, axes=(0, 2, 1, 3)), shape=(0, 0, -3))
        return self.norm(x + F.Dropout(self.out(found), p=0.1))


def test_attention(tmp_path: Path) -> None:
    x = mx.nd.array(np.random.default_rng(0).normal(size=(3, 5, 8)))
    both_ways(Attention(), tmp_path, x)


class OfNumpy(nn.HybridBlock):
    """What `mx.np` and `mx.npx` write down."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.dense, self.norm = nn.Dense(4, flatten=False), nn.LayerNorm()

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        h = F.npx.relu(self.norm(self.dense(x))) * 0.5 + 1
        h = F.np.concatenate([h, F.np.expand_dims(F.np.mean(h, axis=1), 1)], axis=1)
        h = F.np.matmul(h, F.np.swapaxes(h, 1, 2)) - F.np.std(h)
        return F.np.where(h > 0, h, 0.1 * h), F.np.sum(h), h.reshape(-1, 2)


def test_a_network_of_numpy(tmp_path: Path) -> None:
    with mx.util.np_array(True), mx.util.np_shape(True):
        x = mx.np.array(
            np.random.default_rng(0).normal(size=(2, 5, 3)), dtype="float32"
        )
        both_ways(OfNumpy(), tmp_path, x)


def test_a_block_as_a_symbol_with_its_parameters(tmp_path: Path) -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.GlobalAvgPool2D(), nn.Dense(2))
    wanted = filled(net, image(8))
    symbol, path = net(mx.sym.var("data")), tmp_path / "net.onnx"
    mx.onnx.export_model(symbol, net.collect_params(), [(1, 3, 8, 8)], "float32", path)
    same(run(path, [image(8).asnumpy()]), wanted)


def test_half_precision(tmp_path: Path) -> None:
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3), nn.BatchNorm(), nn.LeakyReLU(0.1), nn.Flatten(), nn.Dense(2)
    )
    net.initialize()
    net.cast("float16")
    both_ways(net, tmp_path, image(8).astype("float16"), close=5e-3)


def test_a_batch_of_another_length(tmp_path: Path) -> None:
    net = vision.get_model("mobilenet0.25", classes=10)
    filled(net, image(32))
    open_axes = [("batch", 3, None, None)]
    path = written(
        net, tmp_path, image(32), dynamic=True, dynamic_input_shapes=open_axes
    )
    shape = onnx.load(path).graph.input[0].type.tensor_type.shape.dim
    assert [axis.HasField("dim_value") for axis in shape] == [False, True, False, False]
    other = image(64, samples=3)
    same(run(path, [other.asnumpy()]), [net(other).asnumpy()], 1e-4)


def test_axes_are_open_as_far_as_the_graph_lets_them(tmp_path: Path) -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.Flatten(), nn.Dense(2))
    filled(net, image(8))
    path = written(net, tmp_path, image(8), dynamic=True)
    shape = onnx.load(path).graph.input[0].type.tensor_type.shape.dim
    assert [axis.dim_value for axis in shape] == [0, 3, 8, 8]
    batch = image(8, samples=5)
    same(run(path, [batch.asnumpy()]), [net(batch).asnumpy()], 1e-5)
    assert mx.onnx.get_model_metadata(path)["input_tensor_data"][0][1] == (0, 3, 8, 8)


def test_a_network_that_was_read_learns_on(tmp_path: Path) -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu"), nn.BatchNorm(), nn.Dense(2))
    x = mx.nd.array(np.random.default_rng(0).normal(size=(16, 3)))
    filled(net, x)
    again = mx.onnx.import_to_gluon(written(net, tmp_path, x))
    trainer = mx.gluon.Trainer(again.collect_params(), "sgd", {"learning_rate": 0.5})
    loss, label = mx.gluon.loss.SoftmaxCrossEntropyLoss(), x[:, 0] > 0
    losses = []
    for _ in range(10):
        with mx.autograd.record():
            found = loss(again(x), label)
        found.backward()
        trainer.step(16)
        losses.append(float(found.mean().asscalar()))
    assert losses[-1] < losses[0] / 2
