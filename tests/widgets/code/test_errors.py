"""An error leads to the lines that raise it, and is not kept for that."""

from __future__ import annotations

import gc
import weakref

import pytest

import minimx as mx
from minimx.core.errors import ArgumentError, MXNetError
from minimx_widgets import SchedulerStepper
from minimx_widgets.code.errors import MOST, raised, source_of_error


def test_the_line_that_raises_is_marked_and_the_calls_above_it_are_shown() -> None:
    with pytest.raises(MXNetError) as caught:
        mx.nd.dot(mx.nd.ones((2, 3)), mx.nd.ones((2, 3)))
    found = source_of_error(raised(caught.value), "dot")
    inner, *callers = found.pieces
    assert inner.file == "minimx/core/operators/matmul.py"
    marked = [text for _, text, mark in inner.lines if mark]
    assert marked[0].strip() == "raise ShapeError(" and len(marked) > 1
    assert 1 <= len(callers) < MOST
    assert inner.why == "it is raised here" and callers[0].why == "called from here"


def test_an_illegal_move_leads_to_the_rules_of_the_stepper() -> None:
    stepper = SchedulerStepper.level(1)
    with pytest.raises(ArgumentError) as caught:
        stepper.start(stepper.program.operations[-1].name)
    first = source_of_error(raised(caught.value), "move").pieces[0]
    assert first.file.endswith("scheduler/stepping.py")
    assert "raise ArgumentError(self.why(number))" in first.text


def test_an_error_of_the_users_own_has_no_lines_here() -> None:
    try:
        raise ValueError("mine")
    except ValueError as mine:
        places = raised(mine)
    assert places == ()
    with pytest.raises(ArgumentError, match="your own code"):
        source_of_error(places, "mine")


def test_nothing_of_the_error_is_kept() -> None:
    class Big:
        pass

    def fail() -> None:
        big = Big()
        kept.append(weakref.ref(big))
        mx.nd.dot(mx.nd.ones((2, 3)), mx.nd.ones((2, 3)))

    kept: list[weakref.ref[Big]] = []
    try:
        fail()
    except MXNetError as error:
        places = raised(error)
    gc.collect()
    assert places and kept[0]() is None
