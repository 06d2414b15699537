"""The checks of notebook 04: gradient rules, an order, and less on the tape."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minimx import nd, symbol, test_utils
from minimx.core import autograd
from minimx.core.device import cpu
from minimx.core.errors import GradientError
from minimx.tools.tape_watch import Watch
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.taping import (
    MOST,
    RESULT,
    Choice,
    depth_first,
    in_order,
    ladder,
    plain,
    trial,
    walk,
)

# -- the faded exercise: three rules --------------------------------------------------


@dataclass(frozen=True)
class _Case:
    """An operator of the exercise: the same as a symbol, inputs, what to look at."""

    symbol: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    keeps: int
    idea: str


_CASES = (
    _Case(
        symbol.tanh, ((3, 4),), 96,
        "the slope of tanh is 1 − tanh², and every rule multiplies by what arrived, dy",
    ),
    _Case(
        symbol.elemwise_div, ((3, 4), (3, 4)), 192,
        "of a / b: with respect to a it is 1 / b, with respect to b it is −a / b²",
    ),
    _Case(
        symbol.broadcast_add, ((3, 4), (1, 4)), 0,
        "each number of the bias was used in every row, so its gradient is the sum "
        "over the rows: sum(axis=0, keepdims=True)",
    ),
)  # fmt: skip


@check
def check_rules(attempt: Sequence[type[autograd.Function]]) -> Feedback:
    """The faded exercise: [Tanh, Divide, AddBias] as functions with their gradients."""
    for function, case in zip(attempt, _CASES, strict=True):
        refusal = _check_rule(function, case)
        if refusal is not None:
            return refusal
    finding = "three rules agree with small steps, and keep no byte too much"
    return Feedback(True, finding)


def _check_rule(made: type[autograd.Function], case: _Case) -> Feedback | None:
    """None if the rule is right."""
    name = made.__name__
    chance = np.random.RandomState(4)
    numbers = [chance.uniform(0.5, 1.5, shape) for shape in case.shapes]
    dy = chance.uniform(0.5, 1.5, case.shapes[0])
    wanted = _slopes(case, numbers, dy)
    arrays = [nd.array(x, dtype="float64") for x in numbers]
    for array in arrays:
        array.attach_grad()
    with in_order(), Watch() as watch:
        with autograd.record():
            out = made()(*arrays)
        try:
            out.backward(nd.array(dy, dtype="float64"))
        except Exception as error:
            if "..." in inspect.getsource(made.backward):
                return Feedback(False, f"{name}.backward has a blank", "its gradient")
            seen = f"{name}: {str(error).splitlines()[0]}"
            return Feedback(False, seen, "one gradient for each input", case.idea)
    for k, (array, slope) in enumerate(zip(arrays, wanted, strict=True)):
        seen = array.grad.asnumpy()
        if not np.allclose(seen, slope, rtol=1e-4, atol=1e-6):
            text = f"{name}: gradient {k} begins with {seen.flat[0]:.4g}"
            right = f"{slope.flat[0]:.4g}, by small steps"
            return Feedback(False, text, right, case.idea)
    blocks = {one.block: one.nbytes for call in watch.calls for one in call.kept}
    if sum(blocks.values()) > case.keeps:
        text = f"{name} keeps {sum(blocks.values())} bytes for its gradient"
        idea = "save only what backward reads; every byte of it stays on the tape"
        return Feedback(False, text, f"{case.keeps} are enough", idea)
    return None


def _slopes(case: _Case, numbers: Sequence[Any], dy: Any) -> list[Any]:
    """The gradients by small steps, weighed with dy (`test_utils.numeric_grad`)."""
    names = [f"x{k}" for k in range(len(numbers))]
    out = case.symbol(*[symbol.Variable(name) for name in names])
    weighed = out * symbol.Variable("w")
    given = dict(zip((*names, "w"), (*numbers, dy), strict=True))
    bound = weighed.bind(
        cpu(), {name: nd.array(value, dtype="float64") for name, value in given.items()}
    )
    found = test_utils.numeric_grad(bound, given, eps=1e-5, dtype="float64")
    return [found[name] for name in names]


# -- the second exercise: an order ----------------------------------------------------


@check
def check_breaks(attempt: Callable[[Any], Any]) -> Feedback:
    """A program whose gradient a depth-first walk gets wrong.

    Whether it goes on with the first operand of a call or with the last is left open:
    one of them is enough.
    """
    right = walk(attempt)
    for first in (False, True):
        wrong = walk(attempt, depth_first, late="lost", first_operand=first)
        finding = (
            f"depth first says {wrong.gradient:.6g}, and it is {right.gradient:.6g}"
        )
        if not np.isclose(right.gradient, wrong.gradient):
            return Feedback(True, f"{finding}; lost on the way: {wrong.lost}")
    idea = (
        "in a chain, or a tree, every result is used once, so that nothing can arrive "
        "late. Nor can it where one call uses a result twice, as in b + b: both parts "
        "arrive together. Use a result in two calls, on a short way and on a long one"
    )
    if wrong.lost:
        idea = "a gradient came too late, but it was zero. Take another operator"
    return Feedback(False, finding, "two numbers that differ", idea)


def _programs() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    yield "a chain", lambda x: (x * 2).sin().exp()
    yield "a ladder", ladder(3)
    yield "a short way and a long one", lambda x: x.exp().sin() * 2 + x.exp() * x.exp()
    yield "a result used by the last call", _late
    yield "two ladders", lambda x: ladder(3)(x).sin() + ladder(2)(x) * x


def _late(x: Any) -> Any:
    first = x.exp()
    second = first.sin()
    return first + second * first


@check
def check_order(attempt: Choice) -> Feedback:
    """An order in which every call is walked past once, whatever the program."""
    for name, program in _programs():
        right = walk(program)
        seen = walk(program, attempt, late="lost")
        if seen.lost or not np.isclose(seen.gradient, right.gradient):
            text = f"{name}: {seen.gradient:.6g}, {seen.lost} gradients came too late"
            idea = (
                "a call that uses a result was recorded after it. Which of the waiting "
                "calls can get no further gradient?"
            )
            return Feedback(False, text, f"{right.gradient:.6g}, and none", idea)
    return Feedback(True, "five programs, every call once, and nothing came too late")


# -- the free exercise: less on the tape ----------------------------------------------

_UNKNOWN = (
    "parameters that a function uses inside are unknown to the tape: it writes the "
    "function down only if one of its inputs leads to a variable (x.attach_grad())"
)
_CUT = "detach() and grad_req='null' save memory by cutting gradients off"


@check
def check_frugal(attempt: Callable[[Sequence[Any], Any], Any]) -> Feedback:
    """The free exercise: the same gradients, and less kept at any moment."""
    wanted = trial(plain)
    try:
        seen = trial(attempt)
    except GradientError as error:
        return Feedback(False, str(error).split(". ")[0], "a way back", _UNKNOWN)
    most = MOST * RESULT
    text = f"at most {seen.kept:,} bytes kept, {seen.kept / RESULT:.4g} results"
    if not np.array_equal(seen.out, wanted.out):
        return Feedback(False, "another result", "all twelve layers in order")
    pairs = zip(seen.gradients, wanted.gradients, strict=True)
    for k, (mine, right) in enumerate(pairs):
        if not np.allclose(mine, right, rtol=1e-4, atol=1e-5):
            finding = f"layer {k} has another gradient; {text}"
            idea = _CUT if mine.any() else f"{_CUT}. Or {_UNKNOWN}"
            return Feedback(False, finding, "the gradients of the plain way", idea)
    if seen.kept > most:
        idea = (
            "the peak is the inputs of all parts and the inside of one. Few parts have "
            "a large inside, many parts have many inputs"
        )
        return Feedback(False, text, f"at most {most:,} ({MOST} results)", idea)
    return Feedback(True, f"{text} instead of {wanted.kept / RESULT:.4g}")
