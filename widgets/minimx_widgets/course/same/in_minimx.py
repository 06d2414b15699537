"""ResNet-20 and a language model in Gluon; `tests/same` has the same in PyTorch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import minimx as mx
from minimx import gluon, nd
from minimx.core import autograd
from minimx.gluon import nn, rnn
from minimx.gluon.model_zoo.vision.resnet import BasicBlockV1


class Program(ABC):
    """A network, its loss and its trainer."""

    def __init__(self, weights: list[Any], rate: float) -> None:
        self.net = self.network(weights)
        self.net.initialize()
        self.restart()
        trained = [
            p for p in self.net.collect_params().values() if p.grad_req != "null"
        ]
        for parameter, weight in zip(trained, weights, strict=True):
            assert parameter.shape == weight.shape, (parameter, weight.shape)
            parameter.set_data(nd.array(weight))
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()
        self.trainer = gluon.Trainer(trained, *self.optimizer(rate))
        self.trained = trained

    def set_rate(self, rate: float) -> None:
        """The learning rate from now on."""
        self.trainer.set_learning_rate(rate)

    @abstractmethod
    def network(self, weights: list[Any]) -> Any:
        """The layers, for weights of these shapes."""

    @abstractmethod
    def optimizer(self, rate: float) -> tuple[str, dict[str, Any]]:
        """What turns gradients into steps."""

    @abstractmethod
    def restart(self) -> None:
        """Before the first batch of an epoch."""


class ResNet(Program):
    """ResNet-20 of He et al. (2015), for images (N, 1, 28, 28)."""

    def network(self, weights: list[Any]) -> Any:
        """Its blocks are those of the model zoo."""
        net = nn.HybridSequential()
        net.add(nn.Conv2D(16, 3, padding=1, use_bias=False, in_channels=1))
        net.add(nn.BatchNorm(), nn.Activation("relu"))
        into = 16
        for out in (16, 32, 64):
            for block in range(3):
                smaller = block == 0 and into != out
                net.add(BasicBlockV1(out, 2 if smaller else 1, smaller, into))
                into = out
        net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10, in_units=64))
        net.infer_shape(nd.zeros((1, 1, 28, 28)))  # BatchNorm's channels
        net.hybridize()
        return net

    def optimizer(self, rate: float) -> tuple[str, dict[str, Any]]:
        """SGD with momentum."""
        return "sgd", {"learning_rate": rate, "momentum": 0.9}

    def restart(self) -> None:
        """Nothing is remembered from image to image."""

    def step(self, x: Any, y: Any) -> float:
        """Learn from a batch; its mean loss."""
        with autograd.record():
            loss = self.loss(self.net(nd.array(x)), nd.array(y, dtype="int32"))
        loss.backward()
        self.trainer.step(len(x))
        return float(loss.mean().asscalar())

    def judge(self, x: Any, y: Any) -> float:
        """The share of a batch that is recognised."""
        return float((self.net(nd.array(x)).asnumpy().argmax(axis=1) == y).mean())


class LSTM(Program):
    """Embedding, LSTM and a dense layer, for characters (T, N)."""

    def network(self, weights: list[Any]) -> Any:
        """The sizes are those of the weights."""
        characters, features = weights[0].shape
        units, layers = weights[-2].shape[1], (len(weights) - 3) // 4
        self.embedding = nn.Embedding(characters, features)
        self.lstm = rnn.LSTM(units, layers, input_size=features)
        self.decoder = nn.Dense(characters, in_units=units, flatten=False)
        net = nn.Sequential()
        net.add(self.embedding, self.lstm, self.decoder)
        for block in net:
            block.hybridize()
        return net

    def optimizer(self, rate: float) -> tuple[str, dict[str, Any]]:
        """Adam. MXNet adds epsilon elsewhere than PyTorch: let it be nothing."""
        return "adam", {"learning_rate": rate, "epsilon": 1e-12}

    def restart(self) -> None:
        """The text begins again, with an empty memory."""
        self.states: Any = None

    def run(self, x: Any, y: Any) -> Any:
        """The loss (T, N), the memory going on from the batch before."""
        if self.states is None:
            self.states = self.lstm.begin_state(x.shape[1])
        states = [state.detach() for state in self.states]
        out, self.states = self.lstm(self.embedding(nd.array(x)), states)
        scores = self.decoder(out).reshape((-3, 0))
        return self.loss(scores, nd.array(y.reshape(-1), dtype="int32")).mean()

    def step(self, x: Any, y: Any) -> float:
        """Learn from a batch, gradients clipped to a norm of 1; its mean loss."""
        with autograd.record():
            loss = self.run(x, y)
        loss.backward()
        gluon.utils.clip_global_norm([p.grad() for p in self.trained], 1.0)
        self.trainer.step(1)
        return float(loss.asscalar())

    def judge(self, x: Any, y: Any) -> float:
        """The mean loss of a batch."""
        return float(self.run(x, y).asscalar())


PROGRAMS = {"resnet": ResNet, "lstm": LSTM}
VERSION = mx.__minimx_version__
