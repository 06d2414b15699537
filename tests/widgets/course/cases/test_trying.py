"""The notebook of every other knob: its cards, questions and exercise."""

from __future__ import annotations

import pytest

import minimx as mx
from minimx.core.errors import KnobError
from minimx.core.knobs import knobs
from minimx.tools import knob_examples
from minimx.tools.knob_examples import Needs
from minimx_widgets.course.cases import trying
from minimx_widgets.course.cases.trying import check_hunt, tried

GOOD = {
    "MXNET_CPU_MEM_LARGE_ALLOC_ROUND_SIZE": 1,
    "MXNET_OPTIMIZER_AGGREGATION_SIZE": 6,
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD": 3,
    "MXNET_CPU_PINNED_MEM_POOL_PAGE_SIZE": 64,
    "MXNET_KVSTORE_USETREE": 1,
}


def test_a_card_prints_what_its_lines_print_here() -> None:
    name = "MXNET_CPU_MEM_POOL_TYPE"
    card = tried(name)
    example = knob_examples.of(name)
    assert example is not None
    assert card.printed == {name: dict(example.expect)}
    assert repr(card).startswith(f"{name} (default Naive)\n  Naive: 12,288")
    for text in (*example.expect.values(), knobs.declared[name].sources[0]):
        assert text in card.rich
    assert not knobs.is_set(name)


def test_an_old_name_is_shown_with_the_new_one() -> None:
    with mx.knobs(MXNET_ONEDNN_ENABLED=0):
        assert repr(tried("MXNET_EXEC_MATCH_RANGE")).startswith(
            "NNVM_EXEC_MATCH_RANGE, called MXNET_EXEC_MATCH_RANGE before (default 16)"
        )


def test_what_does_not_act_or_cannot_run_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:  # as for a knob without an example
        patch.setattr(knob_examples, "of", lambda name: None)
        assert "Planned" in repr(tried("MXNET_ENGINE_TYPE"))
    monkeypatch.setitem(trying._HERE, Needs.SIMULATED, lambda: False)
    card = tried("MXNET_GPU_COPY_NTHREADS")
    assert card.printed == {}
    assert "Not run here, as it needs a simulated GPU" in repr(card)
    assert "gpu(0) copy/1" in repr(card)  # as tested elsewhere


def test_what_a_knob_may_need_is_known() -> None:
    assert set(trying._HERE) == {"", *Needs}


def test_an_unknown_name_is_refused_with_a_near_one() -> None:
    with pytest.raises(KnobError, match="MXNET_HOME"):
        tried("MXNET_HOMES")


def test_questions_are_answered_by_what_runs() -> None:
    assert trying.block_mib(5_000_000) == 6.0
    assert [trying.round_mib(36), trying.round_mib(36, 28)] == [48.0, 64.0]
    assert [trying.pushes_forward(12, 5), trying.pushes_forward(20, 7)] == [3, 3]
    assert [trying.updates(10), trying.updates(14)] == [3, 4]
    assert trying.busiest_kib(4, 3) == 9.0


def test_five_effects_are_reached_together() -> None:
    before = knobs.diff()
    assert check_hunt(GOOD).passed
    assert knobs.diff() == before


@pytest.mark.parametrize("name", GOOD)
def test_each_effect_has_its_knob(name: str) -> None:
    feedback = check_hunt({key: value for key, value in GOOD.items() if key != name})
    assert not feedback.passed
    assert feedback.expected in {effect.wanted for effect in trying.EFFECTS}
    assert feedback.idea


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        ({"MXNET_NAUGHT": 1}, "is not a knob"),
        ({"MXNET_CPU_PINNED_MEM_POOL_PAGE_SIZE": "many"}, "many"),
        ({3: 4}, "strings"),
        (..., "nothing to check yet"),
        ({**GOOD, "MXNET_OPTIMIZER_AGGREGATION_SIZE": 12}, "1 operations"),
        ({**GOOD, "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD": 4}, "3 operations"),
    ],
)
def test_wrong_settings_are_answered(settings: object, seen: str) -> None:
    feedback = check_hunt(settings)
    assert not feedback.passed
    assert seen in feedback.seen
