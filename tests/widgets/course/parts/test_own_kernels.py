"""The course without oneDNN, also where it is installed."""

from __future__ import annotations

import pytest

from minimx.core.knobs import knobs
from minimx.fast.onednn import library
from minimx_widgets.course import plain_warnings
from minimx_widgets.course.parts.own_kernels import KNOB, SENTENCE, own_kernels


@pytest.mark.parametrize("there", [False, True])
def test_onednn_is_off_where_it_is(
    there: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(library, "listed", lambda: there)
    knobs.reset(KNOB)
    own_kernels()
    assert knobs.get(KNOB) is not there
    plain_warnings()
    assert capsys.readouterr().out == there * f"{SENTENCE}\n"


def test_who_asks_for_onednn_has_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(library, "listed", lambda: True)
    knobs.set(**{KNOB: 1})
    own_kernels()
    assert knobs.get(KNOB)
    plain_warnings()
    assert capsys.readouterr().out == ""
