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
from minimx_widgets.failures import PROBES, number_of, truth


@pytest.fixture
def lab() -> Iterator[FailureLab]:
    shown = FailureLab(7, fault="async")
    yield shown
    shown.close()


def test_from_symptom_to_cure(lab: FailureLab) -> None:
    state = "0 of 5 probes, 0 points, cause open, program ill"
    assert repr(lab) == f"FailureLab(case 7, {state})"
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
    state = "2 of 5 probes, 9 points, cause named, program cured"
    assert repr(lab) == f"FailureLab(case 7, {state})"


def test_a_right_prediction_makes_a_probe_free_and_a_wrong_one_does_not() -> None:
    lab = FailureLab(4, fault="empty")
    right = truth(lab.case).step
    assert f"of the {lab.case.facts.steps} steps" in lab.question("map")
    with pytest.raises(ArgumentError, match="nothing ran"):
        lab.probe("map", predict="about the half")
    assert not lab.seen and lab.cost == 0
    lab.probe("map", predict=right)
    assert (lab.cost, lab.predictions["map"].right) == (0, True)
    lab.probe("map", predict=99)  # seen already
    assert lab.predictions["map"].said == right
    lab.probe("norms", predict="99 steps")
    assert lab.cost == 2 and not lab.predictions["norms"].right
    lab.answer("cast", "head")
    lab.treat("clip")
    assert lab.cost == 6 and lab.par == 5
    bill = repr(lab.bill())
    assert "✘ you said 99 steps" in bill and "✔ you said" in bill
    assert bill.splitlines()[-1].split() == ["in", "all", "6"]
    text = lab.state_string
    lab.close()
    other = FailureLab(4)
    other.state_string = text
    assert other.state_string == text
    assert other.predictions == lab.predictions
    other.close()


def test_a_class_has_one_case() -> None:
    one, other = FailureLab("Monday 2026"), FailureLab(0, fault="rate")
    other.next("monday 2026")
    assert one.case == other.case
    assert one.case.number == number_of("monday 2026")
    assert one.symptom == other.symptom
    one.close()
    other.close()


def test_a_job_from_symptom_to_cure() -> None:
    lab = FailureLab(4, fault="device")
    assert "two simulated GPUs" in lab.symptom
    assert "images a millisecond" in lab.symptom
    right = truth(lab.case)
    table = lab.probe("layers")
    assert any(row[:2] == (right.layer, "cpu(0)") for row in table.rows)
    assert lab.timeline is not None and lab.stage.children == (lab.timeline,)
    with pytest.raises(ArgumentError, match="no instrument 'map' for this program"):
        lab.probe("map")
    with pytest.raises(ArgumentError, match="no remedy 'eps' for this program"):
        lab.treat("eps")
    assert not lab.answer("store").right
    assert lab.answer("device", right.layer).right
    assert not lab.treat("static").healthy
    assert lab.treat("pin").healthy and lab.solved
    lab.close()


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


@pytest.mark.parametrize("fault", ["async", "empty", "clip", "stale", "shapes"])
def test_all_evidence_is_plain_data_with_a_table_and_a_picture(
    fault: str, tmp_path: Path
) -> None:
    shown = FailureLab(2, fault=fault)
    probes = PROBES[shown.case.program]
    for name in probes:
        table = shown.probe(name)
        assert len(table.rows) >= 1 or fault == "async"
        ET.fromstring(shown.svg(dark=True))
        json.dumps(shown.panel.state, allow_nan=False)
    assert len(shown.table().parts) == len(probes)
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
    with pytest.raises(ArgumentError, match="there is no instrument 'mapp' for"):
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
