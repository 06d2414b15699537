"""The knobs of memory plans act on symbols and on blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minimx as mx
from minimx import gluon
from minimx.core import autograd, engine
from minimx.core.knobs import knobs
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]

Printed = Callable[[], str]


class Branches(gluon.HybridBlock):
    """6 branches of 5 layers of width 16 k with sin, to 8, added."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.ends = [
                [gluon.nn.Dense(16 * k) for _ in range(5)] + [gluon.nn.Dense(8)]
                for k in range(1, 7)
            ]
        for layers in self.ends:
            for layer in layers:
                self.register_child(layer)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        ends = []
        for *layers, last in self.ends:
            y = x
            for layer in layers:
                y = F.sin(layer(y))
            ends.append(last(y))
        return F.add_n(*ends)


class Chain(gluon.HybridBlock):
    """20 times the turned half of what was before: nothing that fuses."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        for _ in range(20):
            x = F.reverse(x, axis=0)
        return x


class Fan(gluon.HybridBlock):
    """A result that is used ten times."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = F.reverse(x, axis=0)
        return F.add_n(*[F.reverse(y * k, axis=0) for k in range(10)])


Run = Callable[[], None]


def as_symbol(block: Any, shape: tuple[int, ...], train: bool = False) -> Run:
    """A call that binds the block's graph anew, and runs it."""
    symbol = block(mx.sym.var("data"))

    def run() -> None:
        executor = symbol.simple_bind(
            mx.cpu(), data=shape, grad_req="write" if train else "null"
        )
        executor.forward(is_train=train)
        if train:
            executor.backward()
        engine.wait_all()

    return run


def as_block(block: Any, shape: tuple[int, ...], train: bool = False) -> Run:
    """A call of the hybridized block, as it stands."""
    block.initialize()
    x = mx.nd.ones(shape)

    def run() -> None:
        block.hybridize(static_alloc=True)  # forget the last preparation
        x.attach_grad()
        if not train:
            block(x)
        else:
            with autograd.record():
                y = block(x)
            y.backward()
        engine.wait_all()

    return run


BOTH = pytest.mark.parametrize("way", [as_symbol, as_block], ids=["Symbol", "Gluon"])


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[Run], str]:
    """What a call prints with the memory plan switched on."""

    def of(run: Run) -> str:
        capsys.readouterr()
        with knobs(MXNET_MEM_PLAN_VERBOSE_LOGGING=True):
            run()
        return capsys.readouterr().out

    return of


def kilobytes(text: str) -> int:
    """The planned total: `8 blocks, 108 KB; …`."""
    (line,) = [line for line in text.splitlines() if " blocks, " in line]
    size, unit = line.split(" blocks, ")[1].split(";")[0].split()
    assert unit == "KB"
    return int(float(size))


@proves(
    "MXNET_EXEC_ENABLE_INPLACE",
    "NNVM_EXEC_MATCH_RANGE",
    "NNVM_AUTO_SEARCH_MATCH_RANGE",
    "MXNET_EXEC_NUM_TEMP",
    "NNVM_EXEC_NUM_TEMP",
    "MXNET_MEMORY_OPT",
)
@BOTH
@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("NNVM_EXEC_MATCH_RANGE", 0, 432),
        ("NNVM_EXEC_MATCH_RANGE", 2, 62),
        ("NNVM_EXEC_MATCH_RANGE", 4, 68),
        ("NNVM_AUTO_SEARCH_MATCH_RANGE", True, 62),
        ("MXNET_MEMORY_OPT", 1, 62),
        ("NNVM_EXEC_NUM_TEMP", 4, 156),
        ("MXNET_EXEC_NUM_TEMP", 4, 128),  # as many as a device has workers: 2
        ("MXNET_EXEC_ENABLE_INPLACE", False, 108),
    ],
)
def test_the_kilobytes_of_a_plan(
    way: Any, name: str, value: Any, expected: int, printed: Callable[[Run], str]
) -> None:
    run = way(Branches(), (64, 32))
    inplace = name == "MXNET_EXEC_ENABLE_INPLACE"

    def observe() -> tuple[int, bool]:
        text = printed(run)
        return kilobytes(text), ", over " in text

    before, during = turned(observe, **{name: value})
    assert before == (108, True)
    assert during == (expected, not inplace)


@proves("MXNET_EXEC_INPLACE_GRAD_SUM_CAP")
@BOTH
def test_many_gradients_are_added_one_by_one(
    way: Any, printed: Callable[[Run], str]
) -> None:
    run = way(Fan(), (8, 8), True)

    def observe() -> int:
        return printed(run).count("= add_n\n")

    before, during = turned(observe, MXNET_EXEC_INPLACE_GRAD_SUM_CAP=100)
    assert (before, during) == (1, 2)  # the forward sum, and that of the gradients


@proves("MXNET_MEM_PLAN_VERBOSE_LOGGING", "MXNET_EXEC_VERBOSE_LOGGING")
@BOTH
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("MXNET_MEM_PLAN_VERBOSE_LOGGING", "1 blocks, 256 B; "),
        ("MXNET_EXEC_VERBOSE_LOGGING", ": float32[8, 8] (256 B)"),
    ],
)
def test_what_is_printed_when_a_graph_is_made_ready(
    way: Any, name: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = way(Chain(), (8, 8))

    def observe() -> bool:
        capsys.readouterr()
        run()
        text = capsys.readouterr().out
        assert bool(text) == (line.replace("1 blocks, 256", "2 blocks, 512") in text)
        return bool(text)

    assert turned(observe, **{name: True}) == (False, True)
