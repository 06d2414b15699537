"""Columns survive the way to the browser."""

from __future__ import annotations

import numpy as np
import pytest

from minimx_widgets.packing import Coder, join, newest, pack


def columns(start: int, n: int) -> dict[str, dict[str, np.ndarray]]:
    values = np.arange(start, start + n)
    return {"ops": {"t": values.astype("f8"), "lane": values.astype("u2")}}


def test_buffers_stand_in_the_order_of_their_layout() -> None:
    layout, buffers = pack(columns(3, 4))
    assert layout == {"ops": [["t", "f8"], ["lane", "u2"]]}
    assert np.frombuffer(buffers[0], "<f8").tolist() == [3, 4, 5, 6]
    assert np.frombuffer(buffers[1], "<u2").tolist() == [3, 4, 5, 6]


def test_whole_numbers_travel_in_the_narrowest_type_that_holds_them() -> None:
    most = {"u1": 255, "u2": 65_535, "u4": 2**32 - 1, "f8": 2**53, "i4": -1}
    table = {name: np.array([0, value], np.int64) for name, value in most.items()}
    layout, buffers = pack({"ops": table})
    assert layout["ops"] == [[name, name] for name in most]
    for name, buffer in zip(most, buffers, strict=True):
        assert np.frombuffer(buffer, f"<{name}").tolist() == [0, most[name]]
    assert pack({"ops": {"t": np.zeros(0, np.int64)}})[0] == {"ops": [["t", "u1"]]}


def test_a_type_without_a_code_is_refused() -> None:
    with pytest.raises(KeyError):
        pack({"ops": {"t": np.zeros(2, "complex128")}})


def test_joined_tables_follow_each_other() -> None:
    joined = join([columns(0, 2), {}, columns(2, 3)])
    assert joined["ops"]["t"].tolist() == [0, 1, 2, 3, 4]
    assert join([]) == {}


def test_only_the_newest_rows_are_kept_and_the_others_counted() -> None:
    kept, skipped = newest(columns(0, 10), 4)
    assert kept["ops"]["t"].tolist() == [6, 7, 8, 9]
    assert skipped == 6
    assert newest(columns(0, 3), 4)[1] == 0


def test_codes_follow_a_growing_string_table() -> None:
    coder, strings = Coder(("RAW", "WAR"), other=9), ["WAR"]
    assert coder.codes(strings, np.array([0, 0])).tolist() == [1, 1]
    strings += ["conv0", "RAW"]
    assert coder.codes(strings, np.array([2, 1, 0])).tolist() == [0, 9, 1]
