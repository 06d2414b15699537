"""The profiler as a program uses it: what it hears, and what it writes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import minimx as mx
from minimx import profiler
from minimx.core import events
from minimx.core.errors import ProfilerError
from minimx.core.record import Record
from minimx.profiler import ProfilerWarning, check_trace
from minimx.profiler.check import load_events
from minimx.profiler.session import profiler as the_profiler


@pytest.fixture(autouse=True)
def over_afterwards(tmp_path: Path) -> Iterator[None]:
    profiler.set_config(filename=str(tmp_path / "profile.json"), continuous_dump=False)
    yield
    if the_profiler.profile is not None:
        profiler.set_config(filename=str(tmp_path / "rest.json"))
        profiler.dump()


def configured(tmp_path: Path, **more: Any) -> Path:
    path = tmp_path / "profile.json"
    settings: dict[str, Any] = {"profile_all": True, "continuous_dump": False}
    profiler.set_config(filename=str(path), **{**settings, **more})
    return path


def some_work() -> None:
    (mx.nd.ones((64, 64)) + 1).sqrt().asnumpy()


def profiled(tmp_path: Path, **more: Any) -> list[Any]:
    """The events of some work."""
    path = configured(tmp_path, **more)
    profiler.set_state("run")
    some_work()
    mx.nd.waitall()
    profiler.set_state("stop")
    profiler.dump()
    check_trace(path)
    return load_events(path)


def named(trace: list[Any], **wanted: Any) -> list[str]:
    return [e["name"] for e in trace if all(e.get(k) == v for k, v in wanted.items())]


# What is heard


def test_operators_calls_and_memory_are_in_the_trace(tmp_path: Path) -> None:
    found = profiled(tmp_path)
    assert named(found, cat="operator") == ["_ones", "_plus_scalar", "sqrt"]
    assert named(found, cat="MXNET_C_API", ph="b").count("MXImperativeInvokeEx") == 3
    levels = [e["args"]["Memory: cpu/0"] for e in found if e["ph"] == "C"]
    assert max(levels) - levels[0] >= 64 * 64 * 4
    rows = [e["args"]["name"] for e in found if e["ph"] == "M"]
    assert {"program", "cpu/0", "Device Storage"} <= set(rows)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"profile_api": False, "profile_memory": False}, {"operator"}),
        ({"profile_imperative": False, "profile_memory": False}, {"MXNET_C_API"}),
        ({"profile_imperative": False, "profile_api": False}, {"Device Storage"}),
    ],
)
def test_each_category_can_be_left_out(
    tmp_path: Path, settings: Any, expected: set[str]
) -> None:
    found = profiled(tmp_path, profile_all=False, **settings)
    assert {e["cat"] for e in found if "cat" in e} == expected


def test_pieces_of_graphs_are_symbolic(tmp_path: Path) -> None:
    net = mx.gluon.nn.Dense(3, in_units=4)
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    x = mx.nd.ones((2, 4))
    net(x).wait_to_read()
    names = {}
    for symbolic in (True, False):
        path = configured(
            tmp_path,
            profile_all=False,
            profile_symbolic=symbolic,
            profile_imperative=not symbolic,
        )
        profiler.set_state("run")
        (net(x) + 1).wait_to_read()
        profiler.dump()
        names[symbolic] = named(load_events(path), cat="operator")
    assert "_plus_scalar" in names[False]
    assert "_plus_scalar" not in names[True]
    assert any("FullyConnected" in name for name in names[True])
    assert not any("FullyConnected" in name for name in names[False])


def test_arrows_join_what_waited_with_what_it_waited_for(tmp_path: Path) -> None:
    found = profiled(tmp_path, profile_dependencies=True)
    starts, ends = named(found, ph="s"), named(found, ph="f")
    assert starts == ends
    assert starts.count("RAW") == 2


def test_the_virtual_clock_gives_the_same_trace_every_time(tmp_path: Path) -> None:
    def times() -> list[tuple[str, float]]:
        found = profiled(tmp_path)
        slices = [e for e in found if e["ph"] == "X"]
        return [(e["name"], e["dur"]) for e in slices]

    with mx.knobs(MINIMX_CLOCK="virtual"):
        assert times() == times()


def test_a_custom_operator_has_a_category_of_its_own(tmp_path: Path) -> None:
    class Double(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):  # type: ignore[no-untyped-def]
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):  # type: ignore[no-untyped-def]
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("ProfiledDouble")
    class DoubleProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):  # type: ignore[no-untyped-def]
            return Double()

    configured(tmp_path)
    profiler.set_state("run")
    x = mx.nd.ones((3,))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="ProfiledDouble")
    y.backward()
    mx.nd.waitall()
    rows = json.loads(profiler.dumps(format="json"))["Time"]["Custom Operator"]
    assert {
        "ProfiledDouble::pure_python",
        "ProfiledDouble::_mul_scalar",
        "_backward_ProfiledDouble::pure_python",
        "_backward_ProfiledDouble::_mul_scalar",
    } <= set(rows)


def test_a_record_beside_it_hears_the_same(tmp_path: Path) -> None:
    with mx.Record() as record:
        found = profiled(tmp_path)
        some_work()
        mx.nd.waitall()
    assert named(found, cat="operator") == ["_ones", "_plus_scalar", "sqrt"]
    assert len(record.ops()) == 6


# States


def test_what_is_paused_is_left_out(tmp_path: Path) -> None:
    path = configured(tmp_path)
    profiler.set_state("run")
    mx.nd.ones((2,)).sqrt().wait_to_read()
    profiler.pause()
    mx.nd.ones((2,)).exp().wait_to_read()
    profiler.resume()
    mx.nd.ones((2,)).log().wait_to_read()
    profiler.set_state("stop")
    mx.nd.ones((2,)).sin().wait_to_read()
    profiler.set_state("run")
    mx.nd.ones((2,)).cos().wait_to_read()
    profiler.dump()
    names = named(load_events(path), cat="operator")
    assert [n for n in names if n != "_ones"] == ["sqrt", "log", "cos"]
    check_trace(path)


def test_a_profile_ends_with_its_last_dump_and_the_next_begins_anew(
    tmp_path: Path,
) -> None:
    path = configured(tmp_path)
    profiler.set_state("run")
    some_work()
    mx.nd.waitall()
    profiler.dump(finished=False)
    first = check_trace(path)
    some_work()
    mx.nd.waitall()
    profiler.dump()
    assert check_trace(path) > first
    assert events.recorder is None
    with pytest.warns(ProfilerWarning, match="nothing to write"):
        profiler.dump()
    with pytest.warns(ProfilerWarning, match="does not run"):
        profiler.set_state("stop")
    profiler.set_state("run")
    mx.nd.ones((2,)).wait_to_read()
    profiler.dump()
    assert named(load_events(path), cat="operator") == ["_ones"]


def test_it_writes_by_itself_while_it_runs(tmp_path: Path) -> None:
    path = configured(tmp_path, continuous_dump=True, dump_period=0.02)
    profiler.set_state("run")
    some_work()
    for _ in range(1000):
        with suppress(ProfilerError):  # not there yet, or just being written
            if "sqrt" in named(load_events(path), cat="operator"):
                break
        threading.Event().wait(0.02)
    (scribe,) = [t for t in threading.enumerate() if t.name == "minimx profiler"]
    profiler.dump()
    assert "sqrt" in named(load_events(path), cat="operator")
    scribe.join(timeout=20)
    assert not scribe.is_alive()


# Bad input


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"profile_al": True}, "Did you mean profile_al"),
        ({"profile_all": "yes"}, "True or False"),
        ({"dump_period": 0}, "seconds above 0"),
        ({"filename": ""}, "a file's name"),
        ({"profile_process": "servant"}, "'worker' and 'server'"),
        ({"profile_process": "server"}, "has no servers of their own"),
    ],
)
def test_bad_settings_are_refused(settings: Any, expected: str) -> None:
    with pytest.raises(ProfilerError, match=expected):
        profiler.set_config(**settings)


def test_unknown_words_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProfilerError, match="'run' and 'stop'"):
        profiler.set_state("go")
    with pytest.raises(ProfilerError, match="table, json"):
        profiler.dumps(format="xml")
    with pytest.raises(ProfilerError, match="total, avg, min, max, count"):
        profiler.dumps(sort_by="name")
    with pytest.raises(ProfilerError, match="global, process and thread"):
        profiler.Domain("d").new_marker("m").mark("planet")
    with pytest.raises(ProfilerError, match="give a number"):
        profiler.Domain("d").new_counter("c").set_value("many")  # type: ignore[arg-type]


def test_a_file_that_cannot_be_made_loses_nothing(tmp_path: Path) -> None:
    configured(tmp_path)
    profiler.set_config(filename=str(tmp_path / "no" / "p"), continuous_dump=False)
    profiler.set_state("run")
    some_work()
    mx.nd.waitall()
    with pytest.raises(ProfilerError, match="Nothing is lost"):
        profiler.dump()
    (tmp_path / "no").mkdir()
    profiler.dump()
    names = named(load_events(tmp_path / "no" / "p"), cat="operator")
    assert names == ["_ones", "_plus_scalar", "sqrt"]


def test_a_disk_that_fills_up_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minimx.profiler import writer

    made = writer.Writer(tmp_path / "t.json", {})
    event = '{"ph":"i","name":"x","ts":1,"pid":0,"tid":0}'
    made.append([event])
    before = made.path.read_bytes()

    def too_many(events: Any) -> Any:
        yield [event]
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(writer, "_chunks", too_many)
        with pytest.raises(ProfilerError, match="No space left"):
            made.append([event])
    assert made.path.read_bytes() == before
    made.append([event])
    assert check_trace(made.path) == 2


# What a program measures itself


def test_tasks_frames_events_counters_and_markers(tmp_path: Path) -> None:
    path = configured(tmp_path)
    profiler.set_state("run")
    camera = profiler.Domain("camera")
    with camera.new_task("focus"), camera.new_frame("image"), profiler.Event("all"):
        counter = camera.new_counter("queue", 2)
        counter += 3
        counter -= 1
        camera.new_marker("click").mark("global")
    assert counter.value == 4
    assert (str(camera), repr(counter)) == ("camera", "Counter('queue', 4)")
    table = profiler.dumps()
    profiler.dump()
    check_trace(path)
    found = load_events(path)
    assert named(found, cat="camera", ph="b") == ["focus"]
    assert named(found, cat="camera,frame", ph="e") == ["image"]
    assert named(found, cat="event", ph="b") == ["all"]
    levels = [e["args"]["queue"] for e in found if e.get("name") == "queue"]
    assert levels == [2, 5, 4]
    assert [e["s"] for e in found if e.get("name") == "click"] == ["g"]
    for word in ("focus", "image", "all", "queue", "camera,instant_marker"):
        assert word in table


def test_stretches_start_before_they_stop() -> None:
    task = profiler.Task(profiler.Domain("d"), "t")
    with pytest.raises(ProfilerError, match="has not started"):
        task.stop()
    task.start()
    with pytest.raises(ProfilerError, match="has started and not stopped"):
        task.start()
    task.stop()


def test_frames_may_end_out_of_turn(tmp_path: Path) -> None:
    path = configured(tmp_path)
    profiler.set_state("run")
    one, two = profiler.Event("one"), profiler.Event("two")
    one.start()
    two.start()
    one.stop()
    two.stop()
    profiler.dump()
    check_trace(path)
    assert named(load_events(path), cat="event") == ["one", "two", "one", "two"]


def test_marks_without_a_profile_cost_nothing_and_do_nothing() -> None:
    with profiler.Event("unheard"):
        pass
    assert "unheard" not in profiler.dumps()


def test_scopes_name_memory() -> None:
    with profiler.scope("model:"), profiler.scope("forward:"):
        inside = mx.nd.ones((2,))
    with profiler.scope("model:"), profiler.scope("other:", append_mode=False):
        alone = mx.nd.ones((2,))
    assert inside.chunk.owner.layer == "model/forward"
    assert alone.chunk.owner.layer == "other"


def test_scopes_that_end_in_the_wrong_order_are_told_and_leave_nothing() -> None:
    outer, inner = profiler.scope("outer:"), profiler.scope("inner:")
    outer.__enter__()
    inner.__enter__()
    with pytest.warns(ProfilerWarning, match="'outer' ends before 'outer/inner'"):
        outer.__exit__(None, None, None)
    assert events.attribution.layer == "outer/inner"
    inner.__exit__(None, None, None)
    assert events.attribution.layer == ""
    heard: list[BaseException] = []

    def end(scope: Any) -> None:
        try:
            scope.__exit__(None, None, None)
        except ProfilerError as trouble:
            heard.append(trouble)

    elsewhere = profiler.scope("elsewhere:")
    thread = threading.Thread(target=elsewhere.__enter__)
    thread.start()
    thread.join()
    end(elsewhere)
    assert "another thread" in str(heard[0])


# The table


def test_the_table_is_laid_out_as_mxnet_does(tmp_path: Path) -> None:
    configured(tmp_path, aggregate_stats=True)
    profiler.set_state("run")
    for _ in range(3):
        some_work()
    mx.nd.waitall()
    text = profiler.dumps()
    assert text.startswith("\nProfile Statistics:\n\tNote the difference in units for ")
    heads = [
        "Total Count",
        "Time (ms)",
        "Min Time (ms)",
        "Max Time (ms)",
        "Avg Time (ms)",
    ]
    rules = ["-" * len(head) for head in heads]
    assert (
        "\n".join(
            [
                "\noperator",
                "=" * 17,
                "Name" + " " * 21 + " ".join(f"{head:>16}" for head in heads),
                "----" + " " * 21 + " ".join(f"{rule:>16}" for rule in rules),
            ]
        )
        in text
    )
    number = r" +\d+\.\d{4}"
    assert re.search(rf"\nsqrt {{21}} {{15}}3{number * 4}\n", text)
    assert "Memory: cpu/0" in text
    assert "sqrt" in profiler.dumps(reset=True)
    assert "sqrt" not in profiler.dumps()


@pytest.mark.parametrize("sort_by", ["total", "avg", "min", "max", "count"])
@pytest.mark.parametrize("ascending", [True, False])
def test_the_table_is_sorted(tmp_path: Path, sort_by: str, ascending: bool) -> None:
    configured(tmp_path)
    profiler.set_state("run")
    for _ in range(3):
        some_work()
    mx.nd.waitall()
    found = json.loads(profiler.dumps(False, "json", sort_by, ascending))
    assert found["Unit"] == {"Time": "ms", "Memory": "kB"}
    column = [row[sort_by.capitalize()] for row in found["Time"]["operator"].values()]
    assert column == sorted(column, reverse=not ascending)


# Knobs


def run_with(tmp_path: Path, **environment: str) -> list[Any]:
    program = "import minimx as mx; (mx.nd.ones((2, 2)) + 1).asnumpy()"
    subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        cwd=tmp_path,
        env={**os.environ, **environment},
        timeout=120,
    )
    path = tmp_path / "profile.json"
    return load_events(path) if path.exists() else []


def test_a_program_can_be_profiled_from_outside(tmp_path: Path) -> None:
    found = run_with(tmp_path, MXNET_PROFILER_AUTOSTART="1", MXNET_PROFILER_MODE="15")
    assert "_plus_scalar" in named(found, cat="operator")
    assert check_trace(found) == len(found)


def test_a_block_that_goes_to_the_device_at_once_is_returned_once(
    tmp_path: Path,
) -> None:
    path = configured(tmp_path, profile_memory=True)
    kept = mx.nd.ones((1000,))
    kept.wait_to_read()
    with mx.knobs(MXNET_CPU_MEM_POOL_TYPE="Unpooled"):
        profiler.set_state("run")
        with Record() as record:
            mx.nd.ones((500,)).wait_to_read()
            mx.nd.ones((2,)).wait_to_read()  # by now the other is gone
            mx.nd.waitall()
        profiler.dump()
    assert "release" in record.texts(record.mem()["event"])
    told = [e for e in load_events(path) if e["name"] == "Memory: cpu/0"]
    last = next(iter(told[-1]["args"].values()))
    assert last == record.memory_curve("cpu(0)").total[-1] >= kept.size * 4
