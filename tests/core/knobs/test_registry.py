"""Reading, turning, scoping and watching knobs."""

from __future__ import annotations

import copy
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.core.errors import KnobError
from minimx.core.knobs import Knob, Knobs, KnobWarning, PlannedKnobWarning
from minimx.core.knobs.declarations import DECLARATIONS

ENGINE = "MXNET_ENGINE_TYPE"
CPU = "MXNET_CPU_WORKER_NTHREADS"
BULK = "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN"


@pytest.fixture
def knobs() -> Iterator[Knobs]:
    """A registry of its own, over an environment of its own."""
    yield Knobs(DECLARATIONS, {})


def told_by(knobs: Knobs, *names: str) -> list[tuple[str, Any, Any]]:
    calls: list[tuple[str, Any, Any]] = []
    knobs.watch(names, lambda *call: calls.append(call))
    return calls


# Reading


def test_a_knob_starts_at_its_default(knobs: Knobs) -> None:
    assert knobs.get(ENGINE) == "ThreadedEnginePerDevice"
    assert knobs.MXNET_ENGINE_TYPE == "ThreadedEnginePerDevice"
    assert knobs.diff() == {}
    assert not knobs.is_set(ENGINE)


def test_an_unknown_name_is_refused_with_the_nearest(knobs: Knobs) -> None:
    with pytest.raises(KnobError, match="Did you mean MXNET_ENGINE_TYPE"):
        knobs.get("MXNET_ENGIN_TYPE")
    with pytest.raises(AttributeError, match="Did you mean MXNET_ENGINE_TYPE"):
        _ = knobs.MXNET_ENGIN_TYPE
    with pytest.raises(KnobError, match="Did you mean MXNET_ENGINE_TYPE"):
        knobs.set(MXNET_ENGIN_TYPE="NaiveEngine")
    with pytest.raises(KnobError, match="Did you mean MXNET_ENGINE_TYPE"):
        knobs.MXNET_ENGIN_TYPE = "NaiveEngine"
    with pytest.raises(KnobError, match="Did you mean MXNET_ENGINE_TYPE"):
        knobs.watch("MXNET_ENGIN_TYPE", print)


def test_names_complete_with_the_tab_key(knobs: Knobs) -> None:
    assert {ENGINE, "MINIMX_CLOCK", "set", "preset"} <= set(dir(knobs))


def test_a_registry_is_a_collection_of_declarations(knobs: Knobs) -> None:
    assert len(knobs) == len(list(knobs)) == len(knobs.declared)
    assert ENGINE in knobs
    assert "MXNET_MKLDNN_ENABLED" in knobs
    assert "MXNET_NOTHING" not in knobs


def test_private_attributes_are_no_knobs(knobs: Knobs) -> None:
    assert not hasattr(knobs, "_ipython_display_")
    assert not hasattr(object.__new__(Knobs), "__deepcopy__")
    assert copy.copy(knobs.declared[ENGINE]).name == ENGINE


# Turning


def test_turning_and_turning_back(knobs: Knobs) -> None:
    knobs.set(MXNET_ENGINE_TYPE="NaiveEngine", MXNET_CPU_WORKER_NTHREADS="3")
    assert (knobs.get(ENGINE), knobs.get(CPU)) == ("NaiveEngine", 3)
    assert knobs.diff() == {
        ENGINE: ("ThreadedEnginePerDevice", "NaiveEngine"),
        CPU: (1, 3),
    }
    knobs.reset(ENGINE)
    assert set(knobs.diff()) == {CPU}
    knobs.reset()
    assert knobs.diff() == {}


def test_turning_by_assignment(knobs: Knobs) -> None:
    knobs.MXNET_CPU_WORKER_NTHREADS = 2
    assert knobs.get(CPU) == 2


@pytest.mark.parametrize("nothing", ["", None])
def test_an_empty_text_means_the_default(knobs: Knobs, nothing: str | None) -> None:
    knobs.set(MXNET_ENGINE_TYPE="NaiveEngine")
    knobs.set(MXNET_ENGINE_TYPE=nothing)
    assert knobs.get(ENGINE) == "ThreadedEnginePerDevice"
    assert not knobs.is_set(ENGINE)


def test_one_bad_value_changes_nothing(knobs: Knobs) -> None:
    calls = told_by(knobs, "*")
    with pytest.raises(KnobError, match="Did you mean"):
        knobs.set(MXNET_CPU_WORKER_NTHREADS=2, MXNET_ENGINE_TYPE="Naive")
    assert knobs.diff() == {}
    assert calls == []


def test_setting_a_knob_that_does_not_act_yet_says_so(knobs: Knobs) -> None:
    with pytest.warns(PlannedKnobWarning, match="MXNET_RNN_USE_WEIGHT_CACHE"):
        knobs.set(MXNET_RNN_USE_WEIGHT_CACHE=0)
    assert knobs.get("MXNET_RNN_USE_WEIGHT_CACHE") is False


def test_the_warning_points_at_the_line_that_set(knobs: Knobs) -> None:
    with pytest.warns(PlannedKnobWarning) as caught:
        knobs.set(MXNET_RNN_USE_WEIGHT_CACHE=0)
    assert caught[0].filename == __file__
    with (
        pytest.warns(PlannedKnobWarning) as caught,
        knobs(MXNET_RNN_USE_WEIGHT_CACHE=0),
    ):
        pass
    assert [warning.filename for warning in caught] == [__file__]


def test_a_warning_that_is_an_error_changes_nothing(knobs: Knobs) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PlannedKnobWarning):
            knobs.set(MXNET_CPU_WORKER_NTHREADS=2, MXNET_RNN_USE_WEIGHT_CACHE=0)
    assert knobs.diff() == {}


def test_going_back_to_the_default_does_not_warn(knobs: Knobs) -> None:
    with pytest.warns(PlannedKnobWarning):
        knobs.set(MXNET_RNN_USE_WEIGHT_CACHE=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        knobs.set(MXNET_RNN_USE_WEIGHT_CACHE="")
        knobs.reset()


# Followers


def test_a_follower_has_the_value_of_its_leader(knobs: Knobs) -> None:
    calls = told_by(knobs, f"{BULK}_BWD")
    knobs.set(**{BULK: 4})
    assert knobs.get(f"{BULK}_FWD") == knobs.get(f"{BULK}_BWD") == 4
    assert calls == [(f"{BULK}_BWD", 4, 15)]
    assert set(knobs.diff()) == {BULK}


def test_a_follower_that_was_set_goes_its_own_way(knobs: Knobs) -> None:
    knobs.set(**{f"{BULK}_BWD": 2, BULK: 4})
    assert (knobs.get(f"{BULK}_FWD"), knobs.get(f"{BULK}_BWD")) == (4, 2)
    knobs.reset(f"{BULK}_BWD")
    assert knobs.get(f"{BULK}_BWD") == 4


# Scopes


def test_a_scope_ends(knobs: Knobs) -> None:
    knobs.set(MXNET_CPU_WORKER_NTHREADS=2)
    with knobs(MXNET_CPU_WORKER_NTHREADS=3, MXNET_ENGINE_TYPE="NaiveEngine") as inside:
        assert inside is knobs
        assert (knobs.get(CPU), knobs.get(ENGINE)) == (3, "NaiveEngine")
    assert (knobs.get(CPU), knobs.get(ENGINE)) == (2, "ThreadedEnginePerDevice")
    assert not knobs.is_set(ENGINE)


def test_a_scope_ends_when_its_block_raises(knobs: Knobs) -> None:
    with pytest.raises(ZeroDivisionError), knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        raise ZeroDivisionError
    assert knobs.diff() == {}


def test_scopes_nest(knobs: Knobs) -> None:
    with knobs(MXNET_CPU_WORKER_NTHREADS=2):
        with knobs(MXNET_CPU_WORKER_NTHREADS=3):
            assert knobs.get(CPU) == 3
        assert knobs.get(CPU) == 2


def test_a_scope_with_a_bad_value_never_begins(knobs: Knobs) -> None:
    with pytest.raises(KnobError), knobs(MXNET_CPU_WORKER_NTHREADS=0):
        raise AssertionError("the block ran")
    assert knobs.diff() == {}


def test_a_scope_can_decorate_a_function(knobs: Knobs) -> None:
    @knobs(MXNET_CPU_WORKER_NTHREADS=5)
    def inside() -> int:
        value: int = knobs.get(CPU)
        return value

    assert (inside(), inside(), knobs.get(CPU)) == (5, 5, 1)


# Presets


def test_a_preset_sets_its_knobs(knobs: Knobs) -> None:
    values = knobs.preset("debug errors")
    assert values == dict(knobs.presets["debug errors"].values)
    assert knobs.get(ENGINE) == "NaiveEngine"


def test_an_unknown_preset_is_refused_with_the_nearest(knobs: Knobs) -> None:
    with pytest.raises(KnobError, match="Did you mean minimum memory"):
        knobs.preset("minimal memory")


# Aliases


def test_an_alias_is_the_knob_and_is_announced_once(knobs: Knobs) -> None:
    with pytest.warns(
        KnobWarning, match="another name of MXNET_GPU_MEM_POOL_PAGE_SIZE"
    ):
        knobs.set(MXNET_GPU_POOL_PAGE_SIZE=8192)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert knobs.get("MXNET_GPU_POOL_PAGE_SIZE") == 8192
        assert knobs.get("MXNET_GPU_MEM_POOL_PAGE_SIZE") == 8192
        assert knobs.is_set("MXNET_GPU_POOL_PAGE_SIZE")


def test_a_knob_under_two_names_at_once_is_refused(knobs: Knobs) -> None:
    both = {"MXNET_CPU_POOL_PAGE_SIZE": 64, "MXNET_CPU_MEM_POOL_PAGE_SIZE": 128}
    with pytest.warns(KnobWarning), pytest.raises(KnobError, match="twice"):
        knobs.set(**both)


# Watching


def test_a_watcher_hears_of_every_change_after_it_is_stored(knobs: Knobs) -> None:
    seen = []
    knobs.watch(CPU, lambda name, new, old: seen.append((new, old, knobs.get(name))))
    knobs.set(MXNET_CPU_WORKER_NTHREADS=2)
    with knobs(MXNET_CPU_WORKER_NTHREADS=3):
        pass
    knobs.reset()
    assert seen == [(2, 1, 2), (3, 2, 3), (2, 3, 2), (1, 2, 1)]


def test_a_watcher_sees_all_values_of_a_change_together(knobs: Knobs) -> None:
    seen = []
    knobs.watch(
        [CPU, ENGINE], lambda *_: seen.append((knobs.get(CPU), knobs.get(ENGINE)))
    )
    knobs.set(MXNET_CPU_WORKER_NTHREADS=2, MXNET_ENGINE_TYPE="NaiveEngine")
    assert seen == [(2, "NaiveEngine")] * 2


def test_a_value_that_does_not_move_is_no_news(knobs: Knobs) -> None:
    calls = told_by(knobs, CPU)
    knobs.set(MXNET_CPU_WORKER_NTHREADS=1)
    assert calls == []


def test_a_watcher_of_everything(knobs: Knobs) -> None:
    calls = told_by(knobs, "*")
    knobs.set(MXNET_CPU_WORKER_NTHREADS=2, MINIMX_CLOCK="virtual")
    assert {name for name, _, _ in calls} == {CPU, "MINIMX_CLOCK"}


def test_watching_ends(knobs: Knobs) -> None:
    calls: list[object] = []
    stop = knobs.watch((CPU, ENGINE), lambda *call: calls.append(call))
    stop()
    stop()
    knobs.set(MXNET_CPU_WORKER_NTHREADS=2)
    assert calls == []


def test_before_a_change_everybody_still_sees_the_old_value(knobs: Knobs) -> None:
    seen: list[object] = []
    stop = knobs.before(lambda: seen.append(knobs.get(CPU)))
    knobs.watch(CPU, lambda name, new, old: seen.append((old, new)))
    old = knobs.get(CPU)
    knobs.set(**{CPU: 3})
    assert seen == [old, (old, 3)]
    stop()
    stop()
    knobs.reset(CPU)
    assert seen[2:] == [(3, old)]


def test_a_watcher_may_turn_other_knobs(knobs: Knobs) -> None:
    knobs.watch(CPU, lambda name, new, old: knobs.set(MXNET_GPU_WORKER_NTHREADS=new))
    knobs.set(MXNET_CPU_WORKER_NTHREADS=7)
    assert knobs.get("MXNET_GPU_WORKER_NTHREADS") == 7


def test_a_watcher_that_refuses_takes_the_change_back(knobs: Knobs) -> None:
    calls = told_by(knobs, CPU, ENGINE)

    def refuse(name: str, new: object, old: object) -> None:
        calls.append(("refuse", new, old))
        if new == 2:
            raise OSError("no room for two workers")

    knobs.watch(CPU, refuse)
    with pytest.raises(OSError, match="no room"):
        knobs.set(MXNET_CPU_WORKER_NTHREADS=2, MXNET_ENGINE_TYPE="NaiveEngine")
    default = "ThreadedEnginePerDevice"
    assert knobs.diff() == {}
    assert knobs.snapshot()[ENGINE] == default
    heard = {
        name: [c for c in calls if c[0] == name] for name in (CPU, ENGINE, "refuse")
    }
    assert heard[CPU] == [(CPU, 2, 1), (CPU, 1, 2)]
    assert heard[ENGINE] == [
        (ENGINE, "NaiveEngine", default),
        (ENGINE, default, "NaiveEngine"),
    ]
    assert heard["refuse"] == [("refuse", 2, 1), ("refuse", 1, 2)]


def test_a_watcher_that_refuses_twice_leaves_a_note(knobs: Knobs) -> None:
    def refuse(name: str, new: object, old: object) -> None:
        raise OSError(f"not {new}")

    knobs.watch(CPU, refuse)
    with pytest.raises(OSError, match="not 2") as caught:
        knobs.set(MXNET_CPU_WORKER_NTHREADS=2)
    assert any("not 1" in note for note in caught.value.__notes__)
    assert knobs.get(CPU) == 1


def test_many_threads_turn_one_knob(knobs: Knobs) -> None:
    """Every watcher call continues where the last one ended, and nothing is lost."""
    calls = told_by(knobs, CPU)
    start = threading.Barrier(4)

    def turn(offset: int) -> None:
        start.wait()
        for step in range(50):
            knobs.set(MXNET_CPU_WORKER_NTHREADS=1 + (offset + step) % 100)

    threads = [threading.Thread(target=turn, args=(25 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    chain = [1, *(new for _, new, _ in calls)]
    assert [old for _, _, old in calls] == chain[:-1]
    assert knobs.get(CPU) == chain[-1]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["set", "bad", "reset", "scope"]),
            st.sampled_from(["A", "B", "C"]),
            st.integers(0, 3),
        )
    )
)
def test_any_sequence_ends_like_a_plain_dictionary(
    steps: list[tuple[str, str, int]],
) -> None:
    environ: dict[str, str] = {}
    declared = [
        Knob(name=n, type="int", default=0, meaning="", low=0, status="live")
        for n in "ABC"
    ]
    knobs, model = Knobs(declared, environ), dict[str, int]()
    knobs.watch("*", lambda name, new, old: None)
    for what, name, value in steps:
        if what == "set":
            knobs.set(**{name: value})
            model[name] = value
        elif what == "bad":
            with pytest.raises(KnobError):
                knobs.set(**{name: -1})
        elif what == "reset":
            knobs.reset(name)
            model.pop(name, None)
        else:
            with knobs(**{name: value}):
                assert knobs.get(name) == value
    assert {n: knobs.get(n) for n in "ABC"} == {n: model.get(n, 0) for n in "ABC"}
    assert environ == {n: str(value) for n, value in model.items()}
