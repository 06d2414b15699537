"""Ctrl-C at random places of a training loop; what is predicted afterwards is checked.

Python looks for signals at certain places only. A profile function and a trace function
count those that minimx passes and send SIGINT at one of them, so the same seed
interrupts at the same place.
"""

from __future__ import annotations

import dis
import functools
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from inspect import CO_GENERATOR
from types import CodeType
from typing import Any

import numpy as np

import minimx as mx
from minimx import autograd, gluon, nd
from tests.probe.faults import Fault, ours

X = np.random.default_rng(0).uniform(-1, 1, (8, 6)).astype("float32")
Y = np.arange(8, dtype="float32") % 3


class Loop:
    """A small network that learns; hybridized or not, with dropout in between."""

    def __init__(self, hybrid: bool) -> None:
        mx.random.seed(1)
        self.net = gluon.nn.HybridSequential()
        self.net.add(
            gluon.nn.Dense(5, activation="relu", in_units=6),
            gluon.nn.Dropout(0.5),
            gluon.nn.Dense(3, in_units=5),
        )
        self.net.initialize(mx.init.Xavier())
        if hybrid:
            self.net.hybridize()
        self.trainer = gluon.Trainer(self.net.collect_params(), "adam")
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()

    def step(self) -> None:
        """One batch, with everything that a program does in between."""
        x, y = nd.array(X), nd.array(Y)
        with autograd.record():
            loss = self.loss(self.net(x), y)
        loss.backward()
        self.trainer.step(len(X))
        loss.mean().asscalar()

    def check(self) -> None:
        """Modes are as before; the network computes what its weights say."""
        assert not autograd.is_recording(), "still recording"
        assert not autograd.is_training(), "still training"
        assert mx.engine.set_bulk_size(0) == 0, "still joining operations"
        found = self.net(nd.array(X)).asnumpy()
        w1, b1, w2, b2 = (
            p.data().asnumpy().astype("float64")
            for p in self.net.collect_params().values()
        )
        wanted = np.maximum(X @ w1.T + b1, 0) @ w2.T + b2
        assert np.allclose(found, wanted, rtol=1e-4, atol=1e-5), "a wrong prediction"
        self.step()
        assert np.isfinite(self.net(nd.array(X)).asnumpy()).all()
        nd.waitall()


def traced(run: Callable[[], Any], at: int = -1) -> int:
    """Run with Ctrl-C at the place of minimx with this number; how many places ran.

    A place is where Python looks for signals: as a function begins, as a call of
    machine code or of a class is over, and as a loop goes back to its head.
    """
    count = 0
    late = False  # whether a signal arrived while nothing of minimx could see it

    def handle(_: int, frame: Any) -> None:
        nonlocal late
        late = frame is not None and frame.f_code.co_filename == __file__
        if not late:
            raise KeyboardInterrupt

    def place() -> None:
        nonlocal count, late
        count += 1
        if late or count == at:
            late = False
            raise KeyboardInterrupt

    def profile(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        made = event == "return" and code.co_name == "__init__"
        # A generator that is closed goes on without a look, and looks the same here.
        begins = event == "call" and not code.co_flags & CO_GENERATOR
        looks = made or begins or event == "c_return"
        if looks and "/minimx/" in code.co_filename:
            place()

    def trace(frame: Any, *_: Any) -> Any:
        if "/minimx/" not in frame.f_code.co_filename:
            return None
        last = frame.f_lineno

        def line(frame: Any, event: str, _: Any) -> Any:
            nonlocal last
            before, last = last, frame.f_lineno
            if event == "line" and last <= before and last in _loops(frame.f_code):
                place()
            return line

        return line

    before = sys.gettrace()
    usual = signal.signal(signal.SIGINT, handle)
    sys.settrace(trace)
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
        sys.settrace(before)
        signal.signal(signal.SIGINT, usual)
    return count


@functools.cache
def _loops(code: CodeType) -> set[int | None]:
    """The lines to which a function jumps back."""
    found = [*dis.get_instructions(code)]
    heads = {one.argval for one in found if "JUMP_BACKWARD" in one.opname}
    return {
        one.positions.lineno for one in found if one.offset in heads and one.positions
    }


def probe(seed: int, each: int = 10**9, seconds: float = 1e9) -> Iterator[Fault]:
    """Interrupt two loops `each` times, or for so many seconds."""
    until = time.monotonic() + seconds
    draw = random.Random(seed)
    loops = {"hybridized": Loop(True), "as written": Loop(False)}
    places = {}
    for name, loop in loops.items():
        loop.step()
        places[name] = traced(loop.step)
    for _ in range(each):
        for name, loop in loops.items():
            if time.monotonic() > until:
                return
            at = draw.randrange(1, places[name])
            try:
                traced(loop.step, at)
                time.sleep(1)  # an interrupt in a finalizer is sent again
            except KeyboardInterrupt:
                pass
            except Exception as reason:
                yield Fault.of(f"{name}: Ctrl-C at place {at}", reason)
            try:
                loop.check()
            except Exception as reason:
                if not ours(reason):
                    yield Fault.of(f"{name}: after Ctrl-C at place {at}", reason)
                else:
                    yield Fault.of(f"{name}: cannot go on after place {at}", reason)
                autograd.set_recording(False)  # the next ones begin as this one did
                autograd.set_training(False)
