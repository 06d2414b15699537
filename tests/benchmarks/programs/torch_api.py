"""The cases in PyTorch, written as PyTorch's users write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Step = Callable[[], Any]
Run = Callable[[int], None]


class Program:
    """The cases for PyTorch on the CPU."""

    def __init__(self, library: Any) -> None:
        self.torch = library
        self.random = np.random.RandomState(0)

    def array(self, *shape: int) -> Any:
        """Random numbers."""
        values = self.random.standard_normal(size=shape).astype(np.float32)
        return self.torch.from_numpy(values)

    def repeat(self, step: Step) -> Run:
        """Run a step many times; PyTorch is done when the call returns."""

        def run(count: int) -> None:
            for _ in range(count):
                step()

        return run

    def add_small(self) -> Run:
        """Dispatch of a binary operator."""
        a, b = self.array(4), self.array(4)
        return self.repeat(lambda: a + b)

    def relu_small(self) -> Run:
        """Dispatch of a named operator."""
        a, relu = self.array(4), self.torch.relu
        return self.repeat(lambda: relu(a))

    def slice_small(self) -> Run:
        """A view of some rows."""
        a = self.array(8, 8)
        return self.repeat(lambda: a[2:5])

    def chain(self) -> Run:
        """Ten operators on the tape, and back."""
        x = self.array(4).requires_grad_()
        ones = self.torch.ones(4)

        def step() -> None:
            y = x
            for _ in range(10):
                y = y * 2
            x.grad = None
            y.backward(ones)

        return self.repeat(step)

    def add_large(self) -> Run:
        """Memory bandwidth."""
        a, b = self.array(1000, 1000), self.array(1000, 1000)
        return self.repeat(lambda: a + b)

    def sum_large(self) -> Run:
        """A reduction to one number."""
        a = self.array(1000, 1000)
        return self.repeat(lambda: a.sum())

    def training(self, net: Any, *shape: int) -> Step:
        """A step of SGD with momentum on one batch."""
        torch = self.torch
        data = self.array(*shape)
        label = torch.from_numpy(self.random.randint(10, size=shape[0]))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

        def step() -> None:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(data), label).backward()
            optimizer.step()

        return step

    def mlp(self) -> Run:
        """Two dense layers."""
        nn = self.torch.nn
        net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
        return self.repeat(self.training(net, 256, 784))

    def lenet(self) -> Run:
        """Two convolutions, two dense layers."""
        nn = self.torch.nn
        net = nn.Sequential(
            *(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10)),
        )
        return self.repeat(self.training(net, 128, 1, 28, 28))

    def lenet_graph(self) -> Run:
        """The same: PyTorch without a compiler has nothing to hybridize."""
        return self.lenet()

    def lstm(self) -> Run:
        """Two layers of 256 over 35 steps, 32 sequences; ten classes at every step."""
        torch = self.torch
        layers = torch.nn.LSTM(256, 256, num_layers=2)
        last = torch.nn.Linear(256, 10)
        data = self.array(35, 32, 256)
        label = torch.from_numpy(self.random.randint(10, size=35 * 32))
        parameters = [*layers.parameters(), *last.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.01)

        def step() -> None:
            optimizer.zero_grad()
            out = last(layers(data)[0]).reshape(-1, 10)
            torch.nn.functional.cross_entropy(out, label).backward()
            optimizer.step()

        return self.repeat(step)

    def resnet(self) -> Any:
        """ResNet-50, version 1: a block's first convolution has its stride."""
        nn = self.torch.nn

        def normed(*sizes: int) -> list[Any]:
            return [nn.Conv2d(*sizes, bias=False), nn.BatchNorm2d(sizes[1])]

        class Block(nn.Module):  # type: ignore[name-defined, misc]
            """Three convolutions, and what they are added to."""

            def __init__(self, before: int, width: int, stride: int) -> None:
                super().__init__()
                self.body = nn.Sequential(
                    *(*normed(before, width, 1, stride), nn.ReLU(inplace=True)),
                    *(*normed(width, width, 3, 1, 1), nn.ReLU(inplace=True)),
                    *normed(width, 4 * width, 1),
                )
                way = normed(before, 4 * width, 1, stride)
                self.way = nn.Sequential(*way if before != 4 * width else ())
                self.relu = nn.ReLU(inplace=True)

            def forward(self, x: Any) -> Any:
                return self.relu(self.body(x) + self.way(x))

        layers = [*normed(3, 64, 7, 2, 3), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
        before = 64
        for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
            for number in range(blocks):
                stride = 2 if number == 0 and width > 64 else 1
                layers.append(Block(before, width, stride))
                before = 4 * width
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)]
        return nn.Sequential(*layers)

    def scoring(self, batch: int) -> Run:
        """ResNet-50 forward."""
        net, data = self.resnet().eval(), self.array(batch, 3, 224, 224)

        def step() -> None:
            with self.torch.inference_mode():
                net(data)

        return self.repeat(step)

    def resnet_score_1(self) -> Run:
        """ResNet-50 on a single image."""
        return self.scoring(1)

    def resnet_score_16(self) -> Run:
        """ResNet-50 on a batch."""
        return self.scoring(16)

    def resnet_train_8(self) -> Run:
        """ResNet-50 forward, backward and an update."""
        return self.repeat(self.training(self.resnet(), 8, 3, 224, 224))

    def loader(self) -> Run:
        """One pass over a data set."""
        data = self.torch.utils.data
        images = self.array(20_000, 28, 28)
        labels = self.torch.from_numpy(self.random.randint(10, size=20_000))
        batches = data.DataLoader(data.TensorDataset(images, labels), batch_size=256)

        def step() -> None:
            for _ in batches:
                pass

        return self.repeat(step)
