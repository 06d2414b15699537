"""Clusters on engines of ipyparallel; a stand-in for its client, of one engine."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import pytest

import minimx as mx
from minimx.commands.clusters.failure import RankError
from minimx.core.errors import ArgumentError, MXNetError
from minimx.kvstore.dist import job as jobs


class Result:
    """What `apply_async` gives: a list with an entry for each engine."""

    def __init__(self, values: list[Any], out: str, error: Exception | None) -> None:
        self._values, self._error = values, error
        self.stdout, self.stderr = [out], [""]

    def wait(self, timeout: float) -> bool:
        return True

    def get(self) -> list[Any]:
        if self._error is not None:
            raise self._error
        return self._values


class View:
    """Its engine is this process."""

    targets = (0,)
    dead = False

    def apply_async(self, function: Callable[..., Any], *args: Any) -> Result:
        if self.dead:
            return Result([], "", ConnectionError("engine 0 died"))
        with contextlib.redirect_stdout(io.StringIO()) as out:
            values = [function(*args)]
        return Result(values, out.getvalue(), None)


class Client:
    ids = (0,)

    def __getitem__(self, which: slice) -> View:
        return View()


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_job", None)


@pytest.mark.parametrize("given", [Client, View])
def test_functions_run_on_the_engines_of_a_client_or_a_view(
    given: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def talk(number: int) -> int:
        print("one\ntwo", end="")
        return int((mx.nd.ones(2) * number).sum().asscalar())

    with mx.cluster(given()) as cluster:
        assert cluster.run(talk, 3) == [6]
    assert capsys.readouterr().out == "[0] one\n[0] two\n"
    assert repr(cluster) == "cluster of 1 rank: finished"
    lanes = cluster.record.texts(cluster.record.ops()["worker"])
    assert lanes
    assert all(lane.startswith("rank 0 cpu") for lane in lanes)


def test_a_failure_is_an_exception_and_the_engines_go_on() -> None:
    cluster = mx.cluster(view := View())
    with pytest.raises(RankError, match="rank 0: ZeroDivisionError"):
        cluster.run(lambda: 1 / 0)
    assert cluster.run(lambda: 1) == [1]
    view.dead = True
    with pytest.raises(RankError, match="ConnectionError: engine 0 died"):
        cluster.run(lambda: 1)


def test_engines_that_are_not_one_job_and_what_is_no_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ArgumentError, match="knobs"):
        mx.cluster(View(), knobs={"MXNET_KVSTORE_BIGARRAY_BOUND": 5})
    with pytest.raises(ArgumentError, match="engines .* are all ranks"):
        mx.cluster(View(), servers=1)
    with pytest.raises(ArgumentError, match="neither a number"):
        mx.cluster("four")
    lone = Result([(0, 1, 5), (0, 1, 6)], "", None)
    monkeypatch.setattr(View, "apply_async", lambda *_: lone)
    with pytest.raises(MXNetError, match='2 engines are not .*engines="mpi"'):
        mx.cluster(View())
