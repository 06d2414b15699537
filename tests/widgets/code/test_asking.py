"""Whatever a view refuses or decides has source, and the page is answered alike."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import minimx as mx
import minimx_widgets
from minimx import nd
from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx.gluon import nn
from minimx_widgets import (
    BeforeAfter,
    FailureLab,
    FiveSwitches,
    KVStoreView,
    MemoryPlan,
    MirrorExplorer,
    PoolMap,
    SchedulerStepper,
)
from minimx_widgets.code.asking import ShowsSource
from minimx_widgets.code.decisions import KINDS
from minimx_widgets.lab.turns import Turns
from minimx_widgets.levels.pool_level import PoolLevel
from minimx_widgets.levels.push_level import PushLevel
from minimx_widgets.pictures.kvstore.trial import STORES
from minimx_widgets.scheduler.program import Program, op
from minimx_widgets.training.meter import Facts

WIDGETS = Path(minimx_widgets.__file__).parent
#: Words of an error that a page shows as they are: nothing there can ask for more.
PLAIN = {
    "compare", "course", "training", "lab/lab_compare.py", "lab/lab_drawers.py",
    "views/ab_compare.py", "code/asking.py", "inbox.py",
}  # fmt: skip


def found(view: Any, **message: Any) -> dict[str, Any]:
    answer: dict[str, Any] = view.source_message({"kind": "source", **message})
    return answer


def files(answer: dict[str, Any]) -> list[str]:
    assert "error" not in answer, answer["error"]
    marked = [any(line[2] for line in piece["lines"]) for piece in answer["pieces"]]
    assert marked and all(marked)
    return [piece["place"].split(":")[0] for piece in answer["pieces"]]


def test_no_view_shows_a_refusal_of_which_it_forgets_the_lines() -> None:
    for path in sorted(WIDGETS.rglob("*.py")):
        place = path.relative_to(WIDGETS).as_posix()
        if place in PLAIN or place.split("/")[0] in PLAIN:
            continue
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"except [^:]+ as (\w+):", text):
            shown = re.search(rf'"text": str\({name}\)|text = str\({name}\)', text)
            assert not shown, f"{place}: say it by `refused`, so that it has source"


@pytest.fixture(scope="module")
def net() -> nn.HybridSequential:
    made = nn.HybridSequential()
    made.add(
        nn.Dense(8, activation="relu"), nn.Dense(8, activation="tanh"), nn.Dense(3)
    )
    made.initialize()
    return made


def test_each_result_of_a_plan_has_the_planners_lines(net: nn.HybridSequential) -> None:
    view = MemoryPlan(net, data=(4, 6))
    for tensor in view.planned.tensors:
        assert tensor.kind in KINDS["sharing"]
        answer = found(view, name=tensor.name)
        assert set(files(answer)) == {"minimx/core/graph/memory/sharing.py"}
    kinds = {tensor.kind for tensor in view.planned.tensors}
    assert {"new", "over"} <= kinds
    assert "no planned result" in found(view, name="nothing")["error"]
    view.close()


def test_each_fate_of_a_node_has_a_rule(net: nn.HybridSequential) -> None:
    view = MirrorExplorer(net, policy="remap", data=(4, 6))
    for node in view._line.nodes:
        if node.op is not None:
            assert all(
                "mirror" in f or "gradient" in f
                for f in files(found(view, name=node.name))
            )
    assert "is given" in found(view, name="data")["error"]
    view.close()


def test_each_move_and_each_hazard_of_the_stepper_has_the_engines_lines() -> None:
    view = SchedulerStepper(
        Program.of(
            op("P", reads="a", writes="b", cost=3),
            op("Q", reads="b", writes="a", cost=2),
            op("R", writes="c", cost=2),
            op("S", writes="c", cost=2),
        ),
        workers=2,
    )
    hazards = set()
    for step in range(len(view.shown.line.moments)):
        assert all("core/engine" in f for f in files(found(view, step=step)))
        for number in range(4):
            waits = view.shown.line.at(step).waits(number)
            hazards |= {one.kind for one in waits}
            answer = found(view, step=step, op=number)
            files(answer)
            if waits:
                assert waits[0].kind in answer["name"]
    assert hazards == {"RAW", "WAR", "WAW"}
    view.show(step=1)
    view._hear(view, {"kind": "start", "op": 2, "worker": 0, "step": 1}, None)
    assert files(found(view, error=True))[0].endswith("scheduler/stepping.py")


def test_a_choice_that_breaks_a_rule_of_a_level_has_that_rule() -> None:
    for kind in (PoolLevel, PushLevel):
        view = kind(1)
        for choice in view.game.choices(view.play.state):
            places = files(found(view, key=choice.key))
            assert places[0].startswith("widgets/minimx_widgets/levels/")
        view._hear(view, {"kind": "choose", "key": "no such choice"}, None)
        assert "levels" in files(found(view, error=True))[0]


def test_what_the_switches_and_the_history_refuse_has_source() -> None:
    turns = Turns()
    turns.stepped(1, Facts(peak=1.0))
    turns.turned("dtype", "float32", "float16", "setting")
    for view, message, file in (
        (
            FiveSwitches(lambda name, text: None, turns=turns),
            {"kind": "story", "name": "no such story"},
            "widgets/minimx_widgets/lab/five.py",
        ),
        (
            BeforeAfter(turns),
            {"kind": "back", "number": 1},
            "widgets/minimx_widgets/lab/before_after.py",
        ),
    ):
        sent: list[dict[str, Any]] = []
        view.send = sent.append
        view._answer({"kind": "source", "error": True})
        assert "nothing was refused" in sent[-1]["error"]
        view._answer(message)
        assert sent[-1]["ok"] is False
        view._answer({"kind": "source", "error": True})
        assert files(sent[-1])[0] == file
        view.close()


@pytest.mark.parametrize("store", STORES)
def test_each_store_has_its_plan(store: str) -> None:
    view = KVStoreView("perceptron", store=store, workers=4)
    assert all(f.startswith("minimx/kvstore/") for f in files(found(view)))
    view.close()


def test_each_event_of_a_pool_has_the_pool_and_its_policy() -> None:
    with Record() as record:
        x = nd.ones((100,))
        del x
        nd.ones((100,)).wait_to_read()
    view = PoolMap(record, device="cpu(0)")
    for event in KINDS["pool"]:
        answer = view.source_message({"block": 0, "event": event, "name": event})
        assert files(answer)
        served = any("rounding.py" in f or "policy.py" in f for f in files(answer))
        assert served == (event in ("alloc", "hit", "oom"))
    view.what_if(page="8192")
    with pytest.raises(ArgumentError):
        view.what_if(pages=1)
    view.run.close()


def test_the_error_of_a_sealed_case_has_the_line_that_raised_it() -> None:
    lab = FailureLab(3, fault="mixed")
    answer = found(lab.panel, name="the error")
    assert any(f.startswith("minimx/") for f in files(answer))
    lab.close()


def test_without_a_refusal_there_is_nothing_to_show() -> None:
    class Shows(ShowsSource):
        pass

    shows = Shows()
    assert "nothing was refused" in found(shows, error=True)["error"]
    try:
        mx.nd.dot(nd.ones((2, 3)), nd.ones((2, 3)))
    except mx.MXNetError as error:
        assert shows.refused(error) == str(error)
    assert files(found(shows, error=True))[0] == "minimx/core/operators/matmul.py"
