"""Ctrl-C at random lines of a training loop; what is predicted afterwards is checked.

A trace function counts the lines of minimx that run and sends SIGINT at one of them, so
the same seed interrupts at the same place.
"""

from __future__ import annotations

import ast
import functools
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
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


@functools.cache
def _with_statements(file: str) -> dict[int, range]:
    """{line of a `with`: the lines of its body}.

    Python tells a trace function of that line again when the body is over, before it
    calls `__exit__`. It handles no signal there, so none is sent.
    """
    found = {}
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.With):
            assert node.end_lineno is not None
            found[node.lineno] = range(node.lineno + 1, node.end_lineno + 1)
    return found


@functools.cache
def _sheltered(file: str) -> set[int]:
    """Lines at which Python handles no signal; a trace function is called all the same.

    Those of `try:`, which do nothing (an error of the trace function there would even
    pass by the `with` around it), and those below a comment "No interrupt can come
    between here …", in its block, which call nothing.
    """
    text = Path(file).read_text(encoding="utf-8")
    found = {n.lineno for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Try)}
    indent = None
    lines = text.splitlines()
    for number, text in enumerate(lines, start=1):
        inner = len(text) - len(text.lstrip())
        if indent is not None and inner < indent:
            indent = None
        if "# No interrupt can come" in text:
            indent = inner
        if indent is not None:
            found.add(number)
    return found


def traced(run: Callable[[], Any], at: int = -1) -> int:
    """Run with SIGINT at the line of minimx with this number; how many lines ran."""
    count = 0

    def call(frame: Any, event: str, _: Any) -> Any:
        name, last = frame.f_code.co_filename, frame.f_lineno
        if "/minimx/" not in name:
            return None
        ends = _with_statements(name)

        def line(frame: Any, event: str, _: Any) -> Any:
            nonlocal count, last
            before, last = last, frame.f_lineno
            leaves = before in ends.get(last, ()) or last in _sheltered(name)
            if event == "line" and not leaves:
                count += 1
                if count == at:
                    signal.raise_signal(signal.SIGINT)
            return line

        return line

    before = sys.gettrace()
    sys.settrace(call)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def probe(seed: int, each: int = 10**9, seconds: float = 1e9) -> Iterator[Fault]:
    """Interrupt two loops `each` times, or for so many seconds."""
    until = time.monotonic() + seconds
    draw = random.Random(seed)
    loops = {"hybridized": Loop(True), "as written": Loop(False)}
    lines = {}
    for name, loop in loops.items():
        loop.step()
        lines[name] = traced(loop.step)
    for _ in range(each):
        for name, loop in loops.items():
            if time.monotonic() > until:
                return
            at = draw.randrange(1, lines[name])
            try:
                traced(loop.step, at)
                time.sleep(0.02)  # an interrupt in a finalizer is sent again
            except KeyboardInterrupt:
                pass
            except Exception as reason:
                yield Fault.of(f"{name}: Ctrl-C at line {at}", reason)
            try:
                loop.check()
            except Exception as reason:
                if not ours(reason):
                    yield Fault.of(f"{name}: after Ctrl-C at line {at}", reason)
                else:
                    yield Fault.of(f"{name}: cannot go on after line {at}", reason)
