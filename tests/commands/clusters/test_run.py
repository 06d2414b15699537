"""One run, from messages alone: when it is over, who failed, what is shown."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

import minimx as mx
from minimx.commands.clusters import cluster as clusters
from minimx.commands.clusters import live as lives
from minimx.commands.clusters import progress as steps
from minimx.commands.clusters.failure import RankError
from minimx.commands.clusters.live import Bars, Live
from minimx.commands.clusters.run import Run
from minimx.commands.clusters.shipping import received, shipped
from minimx.core.errors import ArgumentError, MXNetError, Unavailable
from minimx.tools.record_merge import contents


def run_of(size: int = 2) -> Run:
    return Run(size, lambda rank: "was killed by SIGKILL")


def test_a_run_is_over_when_all_have_returned_and_their_output_has_come() -> None:
    run = run_of()
    for rank in (1, 0):
        run.take(rank, "progress", (3, 7))
        run.take(rank, "result", (b"%d" % rank,))
        run.take(rank, "quiet", ("out",))
        assert not run.over
        run.take(rank, "quiet", ("err",))
    assert run.over
    assert run.results == {0: b"0", 1: b"1"}
    run.take(0, "closed", ("control",))
    assert not run.failures


def test_the_cause_is_who_failed_by_itself() -> None:
    run = run_of(3)
    run.take(0, "error", ("JobError: rank 2 died", "", True))
    run.take(1, "error", ("ValueError: no data", "Traceback: here", False))
    run.take(2, "closed", ("control",))
    error = RankError(run.failures, "What now.")
    assert error.rank == 1
    assert str(error).splitlines() == [
        "rank 1: ValueError: no data",
        "",
        "Traceback: here",
        "",
        "rank 0: JobError: rank 2 died",
        "rank 2: the process was killed by SIGKILL",
        "What now.",
    ]
    assert not run.missing()
    assert not run.over  # their output may still come
    for rank in range(3):
        for stream in ("out", "err"):
            run.take(rank, "closed", (stream,))
    assert run.over


def test_a_rank_that_died_is_the_cause_also_if_others_were_heard_of_first() -> None:
    run = run_of()
    run.take(0, "error", ("JobError: rank 0 stops: rank 1 died", "here", True))
    run.take(1, "closed", ("control",))
    assert run.died
    assert RankError(run.failures).rank == 1


def test_servers_leave_a_record_and_end_the_job_if_they_die() -> None:
    run = run_of()
    run.take(2, "quiet", ("out",))
    run.take(3, "record", (found := contents(mx.Record()),))
    assert (run.records, run.died) == ({3: found}, False)
    run.take(2, "closed", ("control",))
    assert run.died
    assert (run.missing(), run.failures) == ([0, 1], {})


def test_bars_show_each_rank_and_their_text_stays_the_same() -> None:
    run = run_of(3)
    before = repr(Bars(run))
    run.take(1, "progress", (3, 7))
    run.take(0, "result", (b"",))
    run.take(2, "closed", ("control",))
    page = Bars(run)._repr_html_()
    assert '<progress value="3" max="7"' in page
    assert '<progress value="1" max="1"' in page
    for state in ("finished", "running", "failed", "3 of 7"):
        assert f">{state}</td>" in page
    assert repr(Bars(run)) == before == "progress of 3 ranks"


def test_lines_have_their_rank_and_bars_change(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, bars: Bars) -> None:
            shown.append(bars._repr_html_())

    monkeypatch.setattr(lives, "_display", lambda bars: Handle())
    run = run_of()
    live = Live(run)
    live.look()  # too soon
    assert shown == []
    live.line("1", "out", "a loss")
    live.line("0", "err", "a warning")
    live.look(end=True)
    assert len(shown) == 1
    assert capsys.readouterr() == ("[1] a loss\n", "[0] a warning\n")


def test_progress_is_reported_now_and_then_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[Any] = []
    monkeypatch.setattr(steps, "report", lambda *numbers: found.append(numbers))
    assert list(mx.cluster.progress(range(50))) == list(range(50))
    assert found[0] == (0, 50)
    assert found[-1] == (50, 50)
    assert len(found) < 50
    assert list(mx.cluster.progress(iter("ab"), total=2)) == ["a", "b"]
    assert found[-1] == (2, 2)


def test_what_cannot_be_sent_is_named() -> None:
    going = (step for step in range(3))

    def bad() -> object:
        return going

    with pytest.raises(ArgumentError, match="bad cannot be sent"):
        shipped(bad, (), {})
    with pytest.raises(MXNetError, match="rank 1 returned cannot be read"):
        received(1, b"no pickle")


@pytest.mark.parametrize("missing", ["mpi4py", "cloudpickle", "mpiexec"])
def test_what_is_missing_is_named_with_the_fix(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name == missing else name,
    )
    if missing == "mpiexec":
        monkeypatch.setattr(clusters, "mpiexec", lambda: "")
    with pytest.raises(Unavailable, match=rf"{missing}.*pip install 'minimx\[dist\]'"):
        mx.cluster(2)
