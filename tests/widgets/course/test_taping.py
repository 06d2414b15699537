"""Notebook 04: its bytes, and checks that refuse what learners typically answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from minimx.core import autograd, storage
from minimx.core.device import cpu
from minimx_widgets.course import taping
from minimx_widgets.course.exercises import tape_checks
from minimx_widgets.course.taping import depth_first, first_come, latest, walk
from minimx_widgets.pictures.tape_steps import kept


def test_the_pool_and_the_watched_tape_agree() -> None:
    assert taping.bytes_kept() == kept(taping.watched()) == 68_096
    assert taping.bytes_kept(frozen=True) == kept(taping.watched(frozen=True)) == 68_096
    rows = taping.one_by_one(taping.watched())
    assert sum(row[3] for row in rows if row[4] == "the tape's") == 68_096
    assert ("FullyConnected", "hidden", "data", 200_704, "the caller's") in rows


def test_orders_of_ones_own_in_the_real_walk() -> None:
    ladder = taping.ladder(10)
    assert walk(ladder).gradient == 3**10
    assert walk(ladder).applied == 20
    assert walk(ladder, depth_first).gradient == 3**10
    assert walk(ladder, depth_first).applied == 2046
    assert walk(ladder, depth_first, "lost").gradient == 3
    with pytest.raises(ValueError, match="is not one of the calls that wait"):
        walk(ladder, lambda waiting: 0)


# -- three rules ----------------------------------------------------------------------


class Tanh(autograd.Function):
    def forward(self, x: Any) -> Any:
        y = x.tanh()
        self.save_for_backward(y)
        return y

    def backward(self, dy: Any) -> Any:
        (y,) = self.saved_tensors
        return dy * (1 - y * y)


class Divide(autograd.Function):
    def forward(self, a: Any, b: Any) -> Any:
        self.save_for_backward(a, b)
        return a / b

    def backward(self, dy: Any) -> Any:
        a, b = self.saved_tensors
        return dy / b, -dy * a / (b * b)


class AddBias(autograd.Function):
    def forward(self, x: Any, b: Any) -> Any:
        return x + b

    def backward(self, dy: Any) -> Any:
        return dy, dy.sum(axis=0, keepdims=True)


class WithoutDy(Tanh):
    def backward(self, dy: Any) -> Any:
        (y,) = self.saved_tensors
        return 1 - y * y


class WrongSign(Divide):
    def backward(self, dy: Any) -> Any:
        a, b = self.saved_tensors
        return dy / b, dy * a / (b * b)


class NotSummed(AddBias):
    def backward(self, dy: Any) -> Any:
        return dy, dy


class Averaged(AddBias):
    def backward(self, dy: Any) -> Any:
        return dy, dy.mean(axis=0, keepdims=True)


class Greedy(AddBias):
    def forward(self, x: Any, b: Any) -> Any:
        self.save_for_backward(x, b)
        return x + b


class Blank(Tanh):
    def backward(self, dy: Any) -> Any:
        return ...


def test_right_rules_pass() -> None:
    assert tape_checks.check_rules([Tanh, Divide, AddBias]).passed


@pytest.mark.parametrize(
    ("rules", "idea"),
    [
        ([WithoutDy, Divide, AddBias], "multiplies by what arrived"),
        ([Tanh, WrongSign, AddBias], "−a / b²"),
        ([Tanh, Divide, NotSummed], "sum over the rows"),
        ([Tanh, Divide, Averaged], "sum over the rows"),
        ([Tanh, Divide, Greedy], "stays on the tape"),
    ],
)
def test_wrong_rules_are_refused(rules: list[Any], idea: str) -> None:
    said = tape_checks.check_rules(rules)
    assert not said.passed
    assert idea in said.idea


def test_a_blank_is_named() -> None:
    said = tape_checks.check_rules([Blank, Divide, AddBias])
    assert (said.passed, said.seen) == (False, "Blank.backward has a blank")


# -- an order -------------------------------------------------------------------------


def test_a_program_that_breaks_depth_first() -> None:
    assert tape_checks.check_breaks(taping.ladder(1)).passed is False, (
        "one rung is safe"
    )
    assert tape_checks.check_breaks(taping.ladder(2)).passed
    chain = tape_checks.check_breaks(lambda x: x.exp().sin())
    assert not chain.passed
    assert "used once" in chain.idea
    tree = tape_checks.check_breaks(lambda x: x.exp() + x.sin())
    assert not tree.passed


@pytest.mark.parametrize("swapped", [False, True])
def test_the_order_of_operands_does_not_matter(swapped: bool) -> None:
    def program(x: Any) -> Any:
        a = x.exp()
        return a.sin() * a if swapped else a * a.sin()

    assert tape_checks.check_breaks(program).passed


def test_the_two_lines_of_the_case_are_no_answer() -> None:
    def twice(x: Any) -> Any:
        b = x + x
        return b + b

    said = tape_checks.check_breaks(twice)
    assert not said.passed
    assert said.seen == "depth first says 4, and it is 4"
    assert "both parts arrive together" in said.idea


@pytest.mark.parametrize("wrong", [depth_first, first_come, min])
def test_orders_that_come_too_early_are_refused(wrong: Any) -> None:
    said = tape_checks.check_order(wrong)
    assert not said.passed
    assert "came too late" in said.seen
    assert "recorded after it" in said.idea


def test_the_order_of_recording_backwards_passes() -> None:
    assert tape_checks.check_order(latest).passed
    assert "not one of the calls" in tape_checks.check_order(lambda waiting: 99).seen


# -- less on the tape -----------------------------------------------------------------


class Again(autograd.Function):
    def __init__(self, part: Sequence[Any]) -> None:
        self.part = part

    def forward(self, x: Any) -> Any:
        self.save_for_backward(x)
        return taping.plain(self.part, x)

    def backward(self, dy: Any) -> Any:
        x = self.saved_tensors[0].detach()
        x.attach_grad()
        with autograd.record():
            y = taping.plain(self.part, x)
        y.backward(dy)
        return x.grad


def parts(size: int, attach: bool = True) -> Callable[[Sequence[Any], Any], Any]:
    def forward(layers: Sequence[Any], x: Any) -> Any:
        if attach:
            x.attach_grad()
        for k in range(0, len(layers), size):
            x = Again(layers[k : k + size])(x)
        return x

    return forward


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, 12])
def test_only_the_best_parts_pass(size: int) -> None:
    said = tape_checks.check_frugal(parts(size))
    results = taping.LAYERS // size - 1 + size
    assert f"{results} results" in said.seen
    assert said.passed == (results <= taping.MOST) == (size in (3, 4))


@pytest.mark.parametrize(
    ("way", "idea"),
    [
        (taping.plain, "inputs of all parts"),
        (parts(3, attach=False), "leads to a variable"),
        (
            lambda ls, x: taping.plain(ls[6:], taping.plain(ls[:6], x).detach()),
            "cutting gradients off",
        ),
        (lambda ls, x: taping.plain(ls[6:], x), ""),
    ],
)
def test_what_keeps_too_much_or_cuts_gradients_is_refused(way: Any, idea: str) -> None:
    said = tape_checks.check_frugal(way)
    assert not said.passed
    assert idea in said.idea


def test_the_pool_says_the_same_of_parts() -> None:
    """The most that is lent while the tape of parts of four layers exists."""
    layers, x = taping.deep()
    with taping.in_order():
        before = storage.stats(cpu()).live_requested
        with autograd.record():
            out = parts(4)(layers, x)
        lent = storage.stats(cpu()).live_requested - before
    # The inputs of two parts, what came out, and the gradient array of x.
    assert lent == 4 * taping.RESULT
    assert out.shape == (256, 64)


def test_missing_attempts_are_no_errors() -> None:
    for name in ("check_rules", "check_breaks", "check_order", "check_frugal"):
        judge = getattr(tape_checks, name)
        assert judge(...).seen == "nothing to check yet"


# -- what the document claims ---------------------------------------------------------


def test_claims_are_measured() -> None:
    assert taping.unused_calls() == (2, 2)
    assert taping.losses_kept(5) == 5 * 68_096
    value, said = taping.stale_gradient()
    assert value == 3
    assert "left" in said
    as_calls, as_graph = taping.step_bytes(), taping.step_bytes(static_alloc=False)
    assert as_calls[0] == 68_096 < as_graph[0]
    assert as_graph[1] < as_calls[1], "gradients are written where they are to stay"
    kept_anew = taping.step_bytes(static_alloc=True, static_shape=True)
    assert kept_anew[1] < as_graph[1]
