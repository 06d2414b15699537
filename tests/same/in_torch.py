"""ResNet-20 and a language model in PyTorch; the course has the same in Gluon."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy, relu


class Program(ABC):
    """A network, its loss and its optimizer."""

    def __init__(self, weights: list[Any], rate: float) -> None:
        self.net = self.network(weights)
        self.restart()
        parameters = list(self.net.parameters())
        for parameter, weight in zip(parameters, weights, strict=True):
            assert tuple(parameter.shape) == weight.shape, weight.shape
            parameter.data.copy_(torch.from_numpy(weight))
        self.optimizer = self.make_optimizer(parameters, rate)

    def set_rate(self, rate: float) -> None:
        """The learning rate from now on."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    @abstractmethod
    def network(self, weights: list[Any]) -> Any:
        """The layers, for weights of these shapes."""

    @abstractmethod
    def make_optimizer(self, parameters: list[Any], rate: float) -> Any:
        """What turns gradients into steps."""

    @abstractmethod
    def restart(self) -> None:
        """Before the first batch of an epoch."""


class Block(nn.Module):  # type: ignore[misc]
    """Two convolutions beside a shortcut."""

    def __init__(self, out: int, into: int, smaller: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(into, out, 3, 2 if smaller else 1, padding=1, bias=False),
            nn.BatchNorm2d(out),
            nn.ReLU(),
            nn.Conv2d(out, out, 3, padding=1, bias=False),
            nn.BatchNorm2d(out),
        )
        self.shortcut = nn.Sequential()
        if smaller:
            self.shortcut.append(nn.Conv2d(into, out, 1, 2, bias=False))
            self.shortcut.append(nn.BatchNorm2d(out))

    def forward(self, x: Any) -> Any:
        """(N, out, H / stride, W / stride)."""
        return relu(self.body(x) + self.shortcut(x))


class ResNet(Program):
    """ResNet-20 of He et al. (2015), for images (N, 1, 28, 28)."""

    def network(self, weights: list[Any]) -> Any:
        """As in `in_minimx.py`."""
        first = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        layers: list[Any] = [first, nn.BatchNorm2d(16), nn.ReLU()]
        into = 16
        for out in (16, 32, 64):
            for block in range(3):
                layers.append(Block(out, into, block == 0 and into != out))
                into = out
        last = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
        return nn.Sequential(*layers, *last)

    def make_optimizer(self, parameters: list[Any], rate: float) -> Any:
        """SGD with momentum."""
        return torch.optim.SGD(parameters, lr=rate, momentum=0.9)

    def restart(self) -> None:
        """Nothing is remembered from image to image."""

    def step(self, x: Any, y: Any) -> float:
        """Learn from a batch; its mean loss."""
        self.net.train()
        self.optimizer.zero_grad()
        loss = cross_entropy(self.net(torch.from_numpy(x)), torch.from_numpy(y).long())
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def judge(self, x: Any, y: Any) -> float:
        """The share of a batch that is recognised."""
        self.net.eval()
        with torch.no_grad():
            scores = self.net(torch.from_numpy(x)).numpy()
        return float((scores.argmax(axis=1) == y).mean())


class LSTM(Program):
    """Embedding, LSTM and a dense layer, for characters (T, N)."""

    def network(self, weights: list[Any]) -> Any:
        """The sizes are those of the weights."""
        characters, features = weights[0].shape
        units, layers = weights[-2].shape[1], (len(weights) - 3) // 4
        self.embedding = nn.Embedding(characters, features)
        self.lstm = nn.LSTM(features, units, layers)
        self.decoder = nn.Linear(units, characters)
        return nn.ModuleList([self.embedding, self.lstm, self.decoder])

    def make_optimizer(self, parameters: list[Any], rate: float) -> Any:
        """Adam. MXNet adds epsilon elsewhere than PyTorch: let it be nothing."""
        return torch.optim.Adam(parameters, lr=rate, eps=1e-12)

    def restart(self) -> None:
        """The text begins anew, with an empty memory."""
        self.states: Any = None

    def run(self, x: Any, y: Any) -> Any:
        """The mean loss, the memory going on from the batch before."""
        states = self.states and tuple(state.detach() for state in self.states)
        characters = self.embedding(torch.from_numpy(x).long())
        out, self.states = self.lstm(characters, states)
        answers = torch.from_numpy(y).long().reshape(-1)
        return cross_entropy(self.decoder(out).flatten(0, 1), answers)

    def step(self, x: Any, y: Any) -> float:
        """Learn from a batch, gradients clipped to a norm of 1; its mean loss."""
        self.optimizer.zero_grad()
        loss = self.run(x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        return float(loss.detach())

    def judge(self, x: Any, y: Any) -> float:
        """The mean loss of a batch."""
        with torch.no_grad():
            return float(self.run(x, y))


PROGRAMS = {"resnet": ResNet, "lstm": LSTM}
VERSION = torch.__version__
