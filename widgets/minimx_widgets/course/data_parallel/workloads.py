"""Networks as tables of layers, and clusters on which numbers are round.

Times are modelled: the arithmetic of a layer over the speed of a device.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from minimx.kvstore.simulation import Cluster, Layer, Link, Workload

#: Operations per second: so that one device trains AlexNet on 409 images a second, as
#: one half of a K80 does in https://github.com/apache/mxnet/issues/872.
K80: Final = 1.75e12
#: Seconds to start a kernel, in each direction.
LAUNCH: Final = 20e-6


class Cost(NamedTuple):
    """A layer of a known network. products: multiplications with addition, an image."""

    name: str
    elements: int
    products: int


#: AlexNet of the model zoo, weights and biases together, from the front.
ALEXNET: Final = (
    Cost("conv1", 23_296, 70_276_800),
    Cost("conv2", 307_392, 223_948_800),
    Cost("conv3", 663_936, 112_140_288),
    Cost("conv4", 884_992, 149_520_384),
    Cost("conv5", 590_080, 99_680_256),
    Cost("fc6", 37_752_832, 37_748_736),
    Cost("fc7", 16_781_312, 16_777_216),
    Cost("fc8", 4_097_000, 4_096_000),
)


def alexnet(batch: int, speed: float = K80) -> Workload:
    """A step of AlexNet on one device. speed: operations per second.

    The backward pass computes twice as much as the forward pass.

    >>> alexnet(64)
    Workload(8 layers, 244 MB, 157 ms of computing a step)
    """
    layers = []
    for one in reversed(ALEXNET):
        forward = 2 * one.products * batch / speed
        layers.append(
            Layer(one.name, one.elements, forward + LAUNCH, 2 * forward + LAUNCH)
        )
    return Workload(tuple(layers))


def line(megabytes_per_second: float = 1000) -> Cluster:
    """Workers on one switch, where only the links take time, and none to begin."""
    wire = Link(0.0, megabytes_per_second * 1e6)
    made = Cluster("switch without latency", wire, wire)
    return replace(made, memory=1e18, host_memory=1e18)


def three_layers(megabytes: float = 10) -> Workload:
    """Layers a, b, c of this size: 10 ms backward and 5 ms forward each."""
    elements = round(megabytes * 1e6 / 4)
    return Workload(tuple(Layer(name, elements, 0.005, 0.010) for name in "cba"))


#: The exercise, a language model. From the front: name, elements, forward ms.
LANGUAGE_MODEL: Final = (
    ("embedding", 6_000_000, 2.0),
    ("lstm1", 1_500_000, 9.0),
    ("lstm2", 2_500_000, 9.0),
    ("attention", 400_000, 6.0),
    ("hidden", 1_000_000, 4.0),
    ("decoder", 5_000_000, 5.0),
)


def language_model() -> Workload:
    """The table of the exercise; backward takes half as long as forward."""
    return Workload(
        tuple(
            Layer(name, elements, ms * 1e-3, ms * 0.5e-3)
            for name, elements, ms in reversed(LANGUAGE_MODEL)
        )
    )
