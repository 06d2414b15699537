"""The way of one call through minimx: which functions it visits, drawn as a tree.

    python -m tests.ways            # writes book/ways/*.md anew

Each way is followed with Python's own profiler in a program that has done the same
before (caches are filled), under NaiveEngine, so that everything happens in one thread
and in one order. Functions of other libraries are left out.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import minimx as mx
from minimx.core.drivers import host

BOOK = Path(__file__).parents[1] / "book" / "ways"
OURS = Path(mx.__file__).parent
#: The column in which the files of a tree begin.
COLUMN = 56

#: Parts of a function that only some versions of Python call like one.
INNER = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")

Work = Callable[[], Any]


@dataclass
class Call:
    """A call of a function of ours, and those that it makes in turn."""

    code: CodeType
    calls: list[Call] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The function, with its class."""
        return self.code.co_qualname.replace(".<locals>", "")

    @property
    def file(self) -> str:
        """Where it stands, from `minimx/` on."""
        return Path(self.code.co_filename).relative_to(OURS).as_posix()

    def every(self) -> Iterator[Call]:
        """The call and all below it, in order."""
        yield self
        for call in self.calls:
            yield from call.every()

    def shape(self) -> tuple[Any, ...]:
        """Equal for calls that visit the same functions in the same order."""
        return (self.code, *[call.shape() for call in self.calls])


@dataclass(frozen=True)
class Way:
    """What one statement visits."""

    title: str
    statement: str
    calls: list[Call]

    def every(self) -> list[Call]:
        """All calls, in order."""
        return [one for call in self.calls for one in call.every()]

    def counts(self) -> str:
        """How many calls, functions, files and changes of file."""
        every = self.every()
        files = [call.file for call in every]
        changes = sum(a != b for a, b in zip(files, files[1:], strict=False))
        functions = len({call.code for call in every})
        return (
            f"{len(every)} calls of {functions} functions in {len(set(files))} files, "
            f"{changes} changes of file"
        )

    def page(self) -> str:
        """The page of the book."""
        files = sorted({call.file for call in self.every()})
        links = ",\n".join(f"[{file}](../../minimx/{file})" for file in files)
        return (
            f"# The way of `{self.statement}`\n\n{self.title}\n\n"
            f"{self.counts()}; under NaiveEngine, in a program that has done the same\n"
            "before. Written by `python -m tests.ways`.\n\n```text\n"
            + "\n".join(_drawn(self.calls, 0))
            + f"\n```\n\nFiles:\n{links}.\n"
        )


def _drawn(calls: list[Call], depth: int) -> Iterator[str]:
    """A line for each call; what repeats is drawn once, with how often it happens."""
    k = 0
    while k < len(calls):
        period, times = _repeats([call.shape() for call in calls[k:]])
        if times > 1 and period > 1:
            yield f"{'  ' * depth}{times} times:"
            yield from _drawn(calls[k : k + period], depth + 1)
        else:
            call, often = calls[k], f" ({times} times)" if times > 1 else ""
            yield f"{'  ' * depth + call.name + often:{COLUMN}} {call.file}"
            yield from _drawn(call.calls, depth + 1)
        k += period * times


def _repeats(shapes: list[Any]) -> tuple[int, int]:
    """How long the sequence at the beginning is, and how often it stands there.

    >>> _repeats(list("aaab")), _repeats(list("ababc")), _repeats(list("abc"))
    ((1, 3), (2, 2), (1, 1))
    """
    for period in range(1, min(12, len(shapes) // 2) + 1):
        times = 1
        while shapes[times * period : (times + 1) * period] == shapes[:period]:
            times += 1
        if times > 1:
            return period, times
    return 1, 1


def follow(work: Callable[[], Any]) -> list[Call]:
    """The calls of functions of minimx that `work()` makes in this thread."""
    top = Call(work.__code__)
    stack: list[Call | None] = [top]

    def heard(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            code = frame.f_code
            ours = code.co_filename.startswith(f"{OURS}/") and code.co_name not in INNER
            above = next(call for call in reversed(stack) if call is not None)
            stack.append(Call(code) if ours else None)
            if ours:
                above.calls.append(stack[-1])  # type: ignore[arg-type]
        elif event == "return" and len(stack) > 1:
            stack.pop()

    gc.collect()
    gc.disable()  # a destructor would be counted where it happens to run
    # On a busy machine a call takes long enough to ask again how much memory is free.
    usual, host.LOOK_AGAIN_AFTER = host.LOOK_AGAIN_AFTER, float("inf")
    try:
        sys.setprofile(heard)
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
        host.LOOK_AGAIN_AFTER = usual
    return top.calls


def ways() -> Iterator[tuple[str, Way]]:
    """(name of the page, the way) for each statement of the book."""
    with mx.knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        for name, make in MAKERS.items():
            statement, prepare, work = make()
            for _ in range(3):
                prepare()
                work()
            prepare()
            yield name, Way(inspect.getdoc(make) or "", statement, follow(work))


def _nothing() -> None:
    """For what needs no preparation."""


def _add() -> tuple[str, Work, Work]:
    """One operator on two arrays: from Python to the engine, which runs it at once."""
    a, b = mx.nd.ones((2, 2)), mx.nd.ones((2, 2))
    return "a + b", _nothing, lambda: a + b


def _backward() -> tuple[str, Work, Work]:
    """The walk back over the tape of `loss = (w * w).sum()`, two operators."""
    w = mx.nd.ones((2, 2))
    w.attach_grad()
    losses: list[Any] = []

    def record() -> None:
        with mx.autograd.record():
            losses.append((w * w).sum())

    return "loss.backward()", record, lambda: losses[-1].backward()


def _step() -> tuple[str, Work, Work]:
    """One update of the four parameters of two Dense layers by SGD."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(3, in_units=3), mx.gluon.nn.Dense(3, in_units=3))
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

    def backward() -> None:
        with mx.autograd.record():
            loss = net(mx.nd.ones((2, 3))).sum()
        loss.backward()

    return "trainer.step(2)", backward, lambda: trainer.step(2)


def _allocation() -> tuple[str, Work, Work]:
    """A new array, which asks the pool of its device for a block."""
    return "mx.nd.zeros((2, 2))", _nothing, lambda: mx.nd.zeros((2, 2))


def _knob() -> tuple[str, Work, Work]:
    """A knob is turned, and the pool of the CPU takes another policy."""
    kinds = iter(["Round", "Naive"] * 4)
    mx.nd.ones(2).wait_to_read()
    statement = 'mx.knobs.set(MXNET_CPU_MEM_POOL_TYPE="Naive")'
    return (
        statement,
        _nothing,
        lambda: mx.knobs.set(MXNET_CPU_MEM_POOL_TYPE=next(kinds)),
    )


MAKERS = {
    "add": _add,
    "backward": _backward,
    "trainer-step": _step,
    "allocation": _allocation,
    "knob": _knob,
}


if __name__ == "__main__":
    BOOK.mkdir(exist_ok=True)
    for page, way in ways():
        (BOOK / f"{page}.md").write_text(way.page(), encoding="utf-8")
        print(f"{page}: {way.counts()}")
