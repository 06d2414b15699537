"""Fused loops: strides, text, stages, and what is recorded of compiling."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from minimx.core.dtypes import FLOAT32
from minimx.core.kernels import halfwords
from minimx.core.kernels.formula import Formula
from minimx.core.knobs import knobs
from minimx.fast.fusion import loop as fused
from minimx.fast.fusion.loop_text import Line, Loop, Operand, stages, write
from minimx.fast.fusion.strides import (
    STILL,
    grid,
    straight,
    stretched,
    strided,
    together,
)


def line(name: str, text: str, *sources: str) -> Line:
    operands = tuple("abcd"[: len(sources)])
    formula = Formula(text, operands)
    return Line(name, formula, sources, (FLOAT32,) * len(sources), FLOAT32, text)


def loop(*lines: Line, out: str = "") -> Loop:
    operand = Operand("x0", FLOAT32, 1)
    return Loop((operand,), lines, ((out or lines[-1].name, FLOAT32),))


def ran(made: Loop, size: int = 2500) -> tuple[Any, Any]:
    x = np.linspace(-2, 2, size, dtype=np.float32)
    out = np.empty_like(x)
    fused.launcher(made, [straight(size)], [0], size)(x, out)
    return x, out


# -- strides ---------------------------------------------------------------------------

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@given(shapes, st.data())
def test_a_grid_visits_the_elements_that_broadcasting_does(
    shape: tuple[int, ...], data: st.DataObject
) -> None:
    keep = data.draw(st.tuples(*[st.booleans()] * len(shape)))
    small = tuple(n if k else 1 for n, k in zip(shape, keep, strict=True))
    size = int(np.prod(shape))
    lines = grid([stretched(small, shape)], [1], size)
    places = np.zeros(1, int)
    for axis in lines[1:]:
        places = np.add.outer(np.arange(axis[0]) * axis[1], places).reshape(-1)
    numbers = np.arange(np.prod(small)).reshape(small)
    np.testing.assert_array_equal(places, np.broadcast_to(numbers, shape).reshape(-1))


def test_a_part_starts_at_its_first_element() -> None:
    assert strided((2, 3), (8, 1), offset=9).offset == 9
    assert strided((2, 3), (8, 1)).cuts == (3,)
    assert together([STILL, straight(7)]) == ()


# -- text ------------------------------------------------------------------------------


def test_one_line_is_written_for_each_operator() -> None:
    text = write(loop(line("t0", "a * a", "x0"), line("t1", "a + b", "t0", "x0")))
    assert "t0 = float32((x0 * x0))  # a * a" in text
    assert "t1 = float32((t0 + x0))  # a + b" in text
    assert text.count("for i in range") == 1


def test_heavy_functions_get_a_stage_each() -> None:
    lines = [
        line("t0", "exp(a)", "x0"),
        line("t1", "a * a", "t0"),
        line("t2", "tanh(a)", "t1"),
        line("t3", "maximum(a, b)", "t2", "x0"),
    ]
    made = loop(*lines)
    assert [len(stage) for stage in stages(made)] == [2, 2]
    text = write(made)
    assert text.count("for i in range(start, stop):") == 2
    assert text.count("load(") == 1, "what a later stage needs is handed on"
    x, out = ran(made)
    expected = np.maximum(np.tanh(np.exp(x.astype(np.float64)) ** 2), x)
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_memory_of_the_stack_is_used_again() -> None:
    lines = [line("t0", "exp(a)", "x0")]
    lines += [line(f"t{k}", "exp(-a)", f"t{k - 1}") for k in range(1, 6)]
    text = write(loop(*lines))
    assert text.count("= alloca(") == 1


def test_the_pieces_of_a_loop_are_joined_without_a_seam() -> None:
    made = loop(line("t0", "exp(a)", "x0"), line("t1", "exp(a - 4)", "t0"))
    for size in (1, 1023, 1024, 1025, 5000):
        x, out = ran(made, size)
        np.testing.assert_allclose(out, np.exp(np.exp(x) - 4), rtol=1e-5)


# -- two-byte numbers ------------------------------------------------------------------


def test_every_two_byte_number_is_read_as_numpy_reads_it() -> None:
    words = np.arange(65536).astype(np.uint16)
    for name, kind in (("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16)):
        read = getattr(halfwords, f"from_{name}")

        @njit
        def run(words: Any, out: Any, read: Any = read) -> None:
            for i in range(words.size):
                out[i] = read(words[i])

        found = np.empty(words.size, np.float32)
        run(words, found)
        np.testing.assert_array_equal(found, words.view(kind).astype(np.float32))


def test_numbers_are_rounded_as_numpy_rounds_them() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    near = np.arange(65536).astype(np.uint16).view(np.float16).astype(np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        up, down = (np.nextafter(near, np.float32(side)) for side in (np.inf, -np.inf))
        x = np.concatenate([x, near, up, down, (near[1:] + near[:-1]) / 2])
    for name, kind in (("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16)):
        store = getattr(halfwords, f"to_{name}")
        again = getattr(halfwords, f"round_{name}")

        @njit
        def run(
            x: Any, out: Any, kept: Any, store: Any = store, a: Any = again
        ) -> None:
            for i in range(x.size):
                out[i] = store(x[i])
                kept[i] = a(x[i])

        out, kept = np.empty(x.size, np.uint16), np.empty_like(x)
        run(x, out, kept)
        with np.errstate(over="ignore", invalid="ignore"):
            expected = x.astype(kind).astype(np.float32)
        np.testing.assert_array_equal(out.view(kind).astype(np.float32), expected)
        np.testing.assert_array_equal(kept, expected)


# -- what is told ----------------------------------------------------------------------


def test_the_source_is_printed_when_it_first_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = loop(line("t0", "a + a", "x0"), line("t1", "a * a", "t0"))
    with knobs(MXNET_FUSION_VERBOSE=True):
        ran(made)
    told = capsys.readouterr().out
    assert "t1 = float32((t0 * t0))  # a * a" in told and "compiled in" not in told
    with knobs(MXNET_RTC_VERBOSE=True):
        ran(made)
    told = capsys.readouterr().out
    assert "t1 = float32((t0 * t0))  # a * a" in told and "compiled in" in told
    ran(made)
    assert capsys.readouterr().out == ""


def test_very_many_kernels_are_worth_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = loop(line("t0", "a + a", "x0"), line("t1", "a - 5", "t0"))
    monkeypatch.setattr(fused, "_texts", set())
    monkeypatch.setattr(fused, "MANY", 1)
    with pytest.warns(UserWarning, match="1 kernels have been generated"):
        ran(made)
    ran(made)  # not again
    monkeypatch.setattr(fused, "_texts", set())
    with knobs(MXNET_RTC_SIZE_WARNING=False):
        ran(made)
