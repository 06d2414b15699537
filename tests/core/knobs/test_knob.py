"""Reading, checking and writing the value of one knob."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.core.errors import KnobError
from minimx.core.knobs import Knob, knobs
from minimx.core.knobs.knob import human_size


def knob(type: str, default: Any = None, **facts: Any) -> Knob:
    return Knob(name="MXNET_X", type=type, default=default, meaning="", **facts)


@pytest.mark.parametrize("text", ["true", "TRUE", "True", "1"])
def test_true_in_any_letter_case(text: str) -> None:
    assert knob("bool").parse(text) is True


@pytest.mark.parametrize("text", ["false", "FALSE", "False", "0"])
def test_false_in_any_letter_case(text: str) -> None:
    assert knob("bool").parse(text) is False


@pytest.mark.parametrize("text", ["2", "yes", "on", " 1", "truee", "-1", "0.0"])
def test_nothing_else_is_a_truth_value(text: str) -> None:
    with pytest.raises(KnobError, match="true, false, 1 or 0"):
        knob("bool").parse(text)


@pytest.mark.parametrize(
    ("text", "value"), [("7", 7), ("-3", -3), ("+5", 5), ("007", 7), (" 4", 4)]
)
def test_whole_numbers(text: str, value: int) -> None:
    assert knob("int").parse(text) == value


@pytest.mark.parametrize(
    "text", ["1e6", "1.0", "4x", "1_000", "0x10", "٣", "- 1", "nan"]
)
def test_what_is_not_decimal_digits_is_no_whole_number(text: str) -> None:
    with pytest.raises(KnobError, match="decimal digits"):
        knob("int").parse(text)


def test_the_form_of_the_oldest_document_is_refused_with_the_form_that_works() -> None:
    with pytest.raises(KnobError) as caught:
        knobs.declared["MXNET_KVSTORE_BIGARRAY_BOUND"].parse("1e6")
    assert str(caught.value) == (
        "MXNET_KVSTORE_BIGARRAY_BOUND='1e6': a whole number in decimal digits is "
        "expected. Write 1000000."
    )


@given(st.integers())
def test_every_whole_number_survives_the_environment(number: int) -> None:
    it = knob("int")
    assert it.parse(it.format(number)) == number


@given(st.floats(allow_nan=False))
def test_every_float_survives_the_environment(number: float) -> None:
    it = knob("float")
    assert it.parse(it.format(number)) == number


@given(st.integers(min_value=0, max_value=1 << 60))
def test_every_size_survives_the_environment(nbytes: int) -> None:
    it = knob("size")
    assert it.parse(it.format(nbytes)) == nbytes


@given(st.lists(st.integers(), min_size=1))
def test_every_list_survives_the_environment(numbers: list[int]) -> None:
    it = knob("intlist", ())
    assert it.parse(it.format(tuple(numbers))) == tuple(numbers)


@pytest.mark.parametrize("text", ["0.7x", "1_0", "half", "nan"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(KnobError):
        knob("float", low=0.0).parse(text)


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("256MiB", 256 << 20),
        ("1GiB", 1 << 30),
        ("1.5GiB", 3 << 29),
        ("1GB", 10**9),
        ("64kb", 64_000),
        ("4096", 4096),
        ("4096B", 4096),
        ("8 MiB", 8 << 20),
    ],
)
def test_sizes(text: str, nbytes: int) -> None:
    assert knob("size").parse(text) == nbytes


@pytest.mark.parametrize("text", ["lots", "-1MiB", "MiB", "1XB", "1e9", "1MiBs"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(KnobError, match="256MiB"):
        knob("size").parse(text)


def test_a_size_out_of_range_is_refused_in_the_same_units() -> None:
    with pytest.raises(KnobError, match="at least 1MiB"):
        knobs.declared["MINIMX_SIM_GPU_MEMORY"].parse("1KiB")


def test_sizes_are_written_with_the_largest_unit_that_divides_them() -> None:
    assert [human_size(n) for n in (0, 1, 1 << 10, 3 << 30)] == [
        "0B",
        "1B",
        "1KiB",
        "3GiB",
    ]


def test_a_number_out_of_range_is_refused_with_the_range() -> None:
    with pytest.raises(KnobError, match="'61': choose a value from 1 to 60"):
        knob("int", low=1, high=60).parse("61")


def test_a_misspelt_choice_is_refused_with_the_nearest() -> None:
    with pytest.raises(KnobError) as caught:
        knobs.declared["MXNET_ENGINE_TYPE"].parse("Threded")
    assert str(caught.value) == (
        "MXNET_ENGINE_TYPE='Threded': choose NaiveEngine, ThreadedEngine or "
        "ThreadedEnginePerDevice. Did you mean ThreadedEngine?"
    )


def test_choices_are_spelt_exactly() -> None:
    with pytest.raises(KnobError, match="Did you mean NaiveEngine"):
        knobs.declared["MXNET_ENGINE_TYPE"].parse("naiveengine")


def test_a_list_of_words_names_the_wrong_one() -> None:
    tuning = knobs.declared["MXNET_USE_OPERATOR_TUNING"]
    assert tuning.parse("float32, float16") == ("float32", "float16")
    with pytest.raises(KnobError, match="Did you mean float32"):
        tuning.parse("float16,float33")


def test_a_path_starts_at_home() -> None:
    assert knob("path").parse("~/data") == str(pathlib.Path.home() / "data")
    assert knob("path").check(pathlib.Path("/data")) == "/data"


def test_a_path_without_a_zero_byte() -> None:
    with pytest.raises(KnobError, match="zero byte"):
        knob("path").parse("/a\0b")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://host/repo", "https://host/repo/"),
        ("file:///data/", "file:///data/"),
        ("/data/mx", "file:///data/mx/"),
        ("/my data", "file:///my%20data/"),
    ],
)
def test_an_address_ends_with_a_slash(text: str, address: str) -> None:
    assert knob("url").parse(text) == address


@pytest.mark.parametrize("text", ["host/repo", "ftp://host", "javascript:1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(KnobError, match="https://"):
        knob("url").parse(text)


@pytest.mark.parametrize(
    ("type", "value", "stored"),
    [
        ("bool", True, True),
        ("bool", 0, False),
        ("bool", np.bool_(True), True),
        ("int", np.int64(3), 3),
        ("float", 1, 1.0),
        ("intlist", [1, 2], (1, 2)),
        ("intlist", (), ()),
        ("intlist", 5, (5,)),
    ],
)
def test_python_values(type: str, value: object, stored: object) -> None:
    found = knob(type, ()).check(value)
    assert found == stored
    assert found.__class__ is stored.__class__


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("bool", 2),
        ("bool", None),
        ("bool", np.ones(2)),
        ("int", True),
        ("int", 1.5),
        ("float", True),
        ("choice", 3),
        ("str", 3),
        ("path", 3),
        ("int", object()),
    ],
)
def test_python_values_of_the_wrong_kind(type: str, value: object) -> None:
    with pytest.raises(KnobError, match=r"^MXNET_X="):
        knob(type, choices=("a", "b")).check(value)


def test_the_kind_in_words() -> None:
    assert knob("int", low=1, unit="bytes").kind == "int of at least 1, in bytes"
    assert knob("int", high=3).kind == "int of at most 3"
    assert knob("choice", choices=("", "a")).kind == "one of (empty), a"
    assert knob("intlist").kind == "comma-separated list of int"
