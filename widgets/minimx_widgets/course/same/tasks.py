"""What is learnt: weights to begin with, batches in their order, and a test.

A task is plain NumPy arrays, so that any library in any interpreter can do it. Its
numbers depend on the name and the seed only.

- `x`, `y`: what to learn from; step `k` takes `x[order[k]]` and `y[order[k]]`.
- `test_x`, `test_y`: a row is a batch.
- `rates`: the learning rate of every pass through `order`.
- `weight_0`, `weight_1`, …: in the order in which both libraries list them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import minimx_datasets

Arrays = dict[str, NDArray[Any]]

#: Sizes of the language model: features of a character, units and layers of the LSTM.
FEATURES, UNITS, LAYERS = 64, 128, 2


@dataclass(frozen=True)
class Size:
    """How much of a data set is used, and how often."""

    train: int
    test: int
    batch: int
    #: The learning rate of every epoch; a small one at the end calms the score.
    rates: tuple[float, ...]
    #: Characters through which gradients go back.
    length: int = 0


SIZES = {
    "resnet": Size(train=2000, test=1000, batch=50, rates=(0.02, 0.02, 0.002)),
    "lstm": Size(
        train=128_000, test=19_200, batch=20, rates=(4e-3,) * 4 + (4e-4,), length=64
    ),
}
#: The first steps only, in a second or two, with the same networks. A large step of the
#: ResNet would open other ReLUs after another rounding, and agreement would be luck.
SMALL = {
    "resnet": Size(train=48, test=16, batch=16, rates=(0.002,)),
    "lstm": Size(train=960, test=240, batch=8, rates=(4e-3,), length=30),
}


def resnet_shapes() -> list[tuple[int, ...]]:
    """ResNet-20's weights: convolutions (O, I, 3, 3), BatchNorm's gamma and beta (O,).

    Nine blocks of two convolutions; where the size changes, a third one of 1×1.
    """

    def normed(out: int, into: int, side: int) -> list[tuple[int, ...]]:
        return [(out, into, side, side), (out,), (out,)]

    shapes, into = normed(16, 1, 3), 16
    for out in (16, 32, 64):
        for block in range(3):
            shapes += normed(out, into, 3) + normed(out, out, 3)
            if block == 0 and into != out:
                shapes += normed(out, into, 1)
            into = out
    return [*shapes, (10, 64), (10,)]


def lstm_shapes(characters: int) -> list[tuple[int, ...]]:
    """Embedding; each layer's weights and biases; the dense layer that decodes."""
    shapes: list[tuple[int, ...]] = [(characters, FEATURES)]
    for into in [FEATURES, *[UNITS] * (LAYERS - 1)]:
        gates = 4 * UNITS
        shapes += [(gates, into), (gates, UNITS), (gates,), (gates,)]
    return [*shapes, (characters, UNITS), (characters,)]


def convolutional(shape: tuple[int, ...], draw: np.random.RandomState) -> Any:
    """He's normal numbers for weights; gamma and beta are not random."""
    if len(shape) == 1:
        return np.zeros(shape)
    return draw.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape)


def recurrent(shape: tuple[int, ...], draw: np.random.RandomState) -> Any:
    """Uniform numbers up to 1/√units, PyTorch's habit for an LSTM."""
    reach = UNITS**-0.5
    return draw.uniform(-reach, reach, shape)


def make(name: str, seed: int, size: Size) -> Arrays:
    """A task by name: `resnet` on the 28×28 set, or `lstm` on the text."""
    draw = np.random.RandomState(seed)
    task = images(size, draw) if name == "resnet" else text(size)
    if name == "resnet":
        weights = [convolutional(shape, draw) for shape in resnet_shapes()]
        weights[1:-2:3] = [np.ones(gamma.shape) for gamma in weights[1:-2:3]]
    else:
        characters = len(minimx_datasets.load("genesis").alphabet)
        weights = [recurrent(shape, draw) for shape in lstm_shapes(characters)]
    task |= {f"weight_{i}": w.astype(np.float32) for i, w in enumerate(weights)}
    return task | {"rates": np.array(size.rates)}


def images(size: Size, draw: np.random.RandomState) -> Arrays:
    """Glyphs (n, 1, 28, 28) from -0.5 to 0.5, every epoch in the same random order."""
    x, y, test_x, test_y = minimx_datasets.load("glyphs")

    def scaled(part: NDArray[Any]) -> NDArray[Any]:
        return (part[:, None] / 255 - 0.5).astype(np.float32)

    batches = -1, min(size.batch, size.test)
    return {
        "x": scaled(x[: size.train]),
        "y": y[: size.train].astype(np.int32),
        "order": draw.permutation(size.train).reshape(-1, size.batch),
        "test_x": scaled(test_x[: size.test]).reshape(*batches, 1, 28, 28),
        "test_y": test_y[: size.test].astype(np.int32).reshape(batches),
    }


def text(size: Size) -> Arrays:
    """Characters (steps, length, batch); the answer to each is the one after it.

    Column `b` of step `k + 1` goes on where column `b` of step `k` ends.
    """
    whole = minimx_datasets.load("genesis")

    def steps(part: str, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
        numbers = whole.numbers(part[: count + 1])
        found = []
        for characters in (numbers[:-1], numbers[1:]):
            columns = characters.reshape(size.batch, -1, size.length)
            found.append(np.ascontiguousarray(columns.transpose(1, 2, 0)))
        return found[0], found[1]

    x, y = steps(whole.train, size.train)
    test_x, test_y = steps(whole.test, size.test)
    order = np.arange(len(x))
    return {"x": x, "y": y, "order": order, "test_x": test_x, "test_y": test_y}
