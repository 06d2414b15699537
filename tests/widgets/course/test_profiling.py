"""The exercises of notebook 14: right answers pass, typical wrong ones do not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minimx as mx
from minimx.core import engine
from minimx_widgets.course import profiling
from minimx_widgets.course.profiling import (
    Program,
    check_amdahl,
    check_export,
    counts,
    leaks,
    profiled,
    recorded,
    share_of,
    small_program,
    span,
)

pytestmark = pytest.mark.alone

kept: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    # A table of what another test left on a GPU goes to the working folder.
    monkeypatch.chdir(tmp_path)
    yield
    kept.clear()


def test_a_change_saves_its_share_times_what_goes_away_of_it() -> None:
    before = recorded(Program())
    parts = ("standardize", "first", "chain", "last")
    shares = {part: share_of(before, part) for part in parts}
    assert sum(shares.values()) == pytest.approx(1, abs=0.01)
    left = {
        change: span(recorded(Program(change))) / span(before)
        for change in profiling.MENDS
    }
    assert min(left, key=lambda change: left[change]) == "chain"
    assert max(shares, key=lambda part: shares[part]) == "first"
    assert left["data"] == pytest.approx(1 - shares["standardize"], abs=0.01)
    assert left["product"] == pytest.approx(1 - shares["first"] / 2, abs=0.01)


def test_the_changes_are_the_same_program() -> None:
    with mx.autograd.predict_mode():
        plain, chain = Program(), Program("chain")
        x = plain.first(plain.standardized())
        assert abs(plain.chain(x) - chain.chain(x)).max().asscalar() < 1e-6


@pytest.mark.parametrize(
    ("mode", "operators", "calls", "levels"),
    [(0, 0, 0, 0), (1, 5, 0, 0), (2, 10, 0, 0), (9, 5, 0, 40), (15, 15, 21, 40)],
)
def test_modes_write_down_what_they_say(
    mode: int, operators: int, calls: int, levels: int
) -> None:
    found = counts(profiled(small_program(), mode))
    assert found["operators"] == operators
    assert found["calls"] == calls
    assert found["memory levels"] == levels


def export(
    *, arrows: bool = True, wait: bool = True, keep: bool = False,
    memory: bool = True, dump: bool = True,
) -> Callable[[Any, str], None]:  # fmt: skip
    """An attempt at the free exercise, with or without each of its parts."""

    def attempt(work: Callable[[], Any], path: str) -> None:
        mx.profiler.set_config(
            filename=path, profile_memory=memory, profile_dependencies=arrows
        )
        mx.nd.waitall()
        mx.profiler.set_state("run")
        result = work()
        if wait:
            result.wait_to_read()
        if keep:
            kept.append(result)
        del result
        if wait:
            mx.nd.waitall()
        if dump:
            mx.profiler.set_state("stop")
            mx.profiler.dump()

    return attempt


def test_the_right_export_passes() -> None:
    told = check_export(export())
    assert told.passed and "7 operators, 8 arrows" in told.seen


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (export(arrows=False), "no arrow"),
        (export(keep=True), "more is allocated"),
        (export(memory=False), "no memory level"),
        (export(dump=False), "no file"),
        (lambda work, path: None, "no file"),
        (lambda work, path: Path(path).write_text("[1"), ""),
        (None, "nothing to check yet"),
    ],
)
def test_wrong_exports_do_not_pass(attempt: Any, said: str) -> None:
    told = check_export(attempt)
    assert not told.passed and said in told.seen


def test_an_export_that_does_not_wait_is_told_so() -> None:
    release = threading.Event()  # until then the worker has something else to do

    def attempt(work: Any, path: str) -> None:
        def behind() -> Any:
            engine.push(lambda: release.wait(20), mx.cpu(), [], [engine.Var()], "busy")
            return work()

        export(wait=False)(behind, path)
        release.set()
        mx.nd.waitall()

    with mx.knobs(MXNET_ENGINE_TYPE="ThreadedEnginePerDevice"):
        told = check_export(attempt)
    assert not told.passed


def test_leaks_are_what_counters_end_above_their_start() -> None:
    def level(t: float, n: int) -> dict[str, Any]:
        return {"ph": "C", "name": "Memory: cpu/0", "ts": t, "args": {"b": n}}

    work = {"ph": "X", "name": "dot", "ts": 5.0}
    assert leaks([level(0, 100), work, level(6, 140), level(7, 100)]) == {}
    assert leaks([level(0, 100), work, level(6, 140)]) == {"Memory: cpu/0": 40}
    assert leaks([work, level(6, 8)]) == {"Memory: cpu/0": 8}


@pytest.mark.parametrize(
    ("attempt", "idea"),
    [
        (lambda s, f: 1 / (1 - s + s / f) if 1 - s + s / f else 0, "speed-up"),
        (lambda s, f: s / f, "1 - share"),
        (lambda s, f: 1 - s * f, "what is not touched stays"),
        (lambda s, f: 1 - s / f, "what is not touched stays"),
        (lambda s, f: None, ""),
        (lambda s, f: 1 - s + ..., ""),
    ],
)
def test_wrong_answers_about_what_is_left(attempt: Any, idea: str) -> None:
    told = check_amdahl(attempt)
    assert not told.passed and idea in told.idea


def test_the_right_answer_about_what_is_left() -> None:
    assert check_amdahl(lambda share, factor: 1 - share + share / factor).passed
