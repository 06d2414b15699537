"""The failure lab without a browser."""

from __future__ import annotations

import json
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from minimx.core.errors import ArgumentError
from minimx_widgets import FailureLab
from minimx_widgets.failures import truth
from minimx_widgets.failures.evidence import PROBES


@pytest.fixture
def lab() -> Iterator[FailureLab]:
    shown = FailureLab(7, fault="async")
    yield shown
    shown.close()


def test_from_symptom_to_cure(lab: FailureLab) -> None:
    assert repr(lab) == ("FailureLab(case 7, 0 of 5 probes, cause open, program ill)")
    assert "stops with OperatorError" in lab.symptom
    right = truth(lab.case)
    assert "IndexError" in repr(lab.probe("message"))
    assert f"forward of step {right.step}." in repr(lab.probe("timeline"))
    assert not lab.answer("cast", layer="gate1").right
    assert not lab.treat("naive").healthy
    assert not lab.solved
    assert lab.answer("async", layer="table", step=right.step).right
    assert lab.treat("data").healthy
    assert lab.solved
    assert repr(lab) == "FailureLab(case 7, 2 of 5 probes, cause named, program cured)"


def test_the_timeline_opens_at_the_operation_that_failed(lab: FailureLab) -> None:
    lab.probe("timeline")
    assert lab.timeline is not None and lab.stage.children == (lab.timeline,)
    ops = lab.timeline.record.ops()
    op = lab.seen["timeline"]["op"]
    (name,) = lab.timeline.record.texts(ops[ops["op"] == op]["name"])
    assert name == "minimx_lab_take_rows"
    assert lab.timeline.run.selected == op
    lab.next(8)
    assert lab.timeline is None and lab.stage.children == ()


@pytest.mark.parametrize("fault", ["async", "empty", "clip", "stale"])
def test_all_evidence_is_plain_data_with_a_table_and_a_picture(
    fault: str, tmp_path: Path
) -> None:
    shown = FailureLab(2, fault=fault)
    for name in PROBES:
        table = shown.probe(name)
        assert len(table.rows) >= 1 or fault == "async"
        ET.fromstring(shown.svg(dark=True))
        json.dumps(shown.panel.state, allow_nan=False)
    assert len(shown.table().parts) == len(PROBES)
    assert "Case 2" in shown.save(tmp_path / "case.svg").read_text()
    shown.close()


def test_buttons_work_beside_the_cell(lab: FailureLab) -> None:
    lab._hear(None, {"kind": "probe", "name": "map"}, [])
    lab._hear(None, {"kind": "answer", "cause": "rate", "layer": "", "step": 3}, [])
    end = time.monotonic() + 60
    while time.monotonic() < end and not ("map" in lab.seen and lab.verdict):
        time.sleep(0.02)
    assert "map" in lab.seen and lab.verdict is not None


def test_a_cause_that_is_none_is_refused(lab: FailureLab) -> None:
    with pytest.raises(ArgumentError, match="there is no instrument 'mapp'"):
        lab.probe("mapp")
    lab._obey({"kind": "answer", "cause": "luck"})
    assert "there is no cause" in lab.panel.state["note"]


def test_cases_are_drawn_and_sealed() -> None:
    shown = FailureLab()
    text = json.dumps(shown.panel.state)
    assert '"fault"' not in text
    number = shown.case.number
    shown.next(number + 1)
    assert shown.case.number == number + 1
    shown.close()
