"""What a server does with requests, without any process: sums, updates, refusals."""

from __future__ import annotations

import logging
import pickle
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.kvstore.dist.roles import assigned
from minimx.kvstore.dist.servers.server import Request, Server


class Asked:
    """A server of some workers, with its answers: (worker, header, values)."""

    def __init__(self, workers: int) -> None:
        self.now = 0.0
        self.answers: list[tuple[int, dict[str, Any], Any]] = []
        self.server = Server(0, workers, self._reply, clock=lambda: self.now)

    def _reply(self, request: Request, header: Any, payload: Any) -> None:
        values = None if payload is None else payload.view(np.float32).tolist()
        self.answers.append((request.worker, header, values))

    def ask(self, worker: int, do: str, values: Any = None, **header: Any) -> None:
        payload = values
        if isinstance(values, list):
            payload = np.array(values, np.float32).view(np.uint8)
        about = {"store": 0, "key": "'w'", "index": "w", "do": do, **header}
        self.server.handle(Request(worker, about, payload, 0))

    def init(self, values: list[float]) -> None:
        self.ask(0, "init", values, shape=[len(values)], dtype="float32")
        self.answers.clear()

    def value(self) -> Any:
        self.ask(0, "pull")
        return self.answers.pop()[2]


def test_pushes_are_answered_when_all_workers_have_pushed() -> None:
    asked = Asked(workers=3)
    asked.init([5.0, 5.0])
    asked.ask(2, "push", [4.0, 1.0], sync=True)
    asked.ask(0, "push", [1.0, 1.0], sync=True)
    assert asked.answers == []
    assert asked.value() == [5.0, 5.0]  # of the round before
    asked.ask(1, "push", [2.0, 1.0], sync=True, back=True)
    assert asked.answers == [(0, {}, None), (1, {}, [7.0, 3.0]), (2, {}, None)]
    assert asked.value() == [7.0, 3.0]


def test_the_sum_is_in_the_order_of_the_workers_whoever_comes_first() -> None:
    parts = [[1.0], [1e8], [-1e8]]
    found = []
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        asked = Asked(workers=3)
        asked.init([0.0])
        for worker in order:
            asked.ask(worker, "push", parts[worker], sync=True)
        found.append(asked.value())
    wanted = float(np.float32(1.0) + np.float32(1e8) - np.float32(1e8))
    assert found == [[wanted]] * 3


def test_each_push_of_an_asynchronous_store_updates_at_once() -> None:
    asked = Asked(workers=2)
    asked.init([1.0])
    asked.ask(1, "push", [1.0], sync=False)
    ((_, refused, _),) = asked.answers
    assert refused["kind"] == "ArgumentError"
    assert "set_optimizer" in refused["error"]
    content = pickle.dumps(mx.optimizer.create("sgd", learning_rate=0.5))
    asked.ask(0, "optimizer", np.frombuffer(content, np.uint8))
    asked.ask(1, "push", [1.0], sync=False)
    assert asked.value() == [0.5]
    asked.ask(0, "settings", settings={"lr": 1.0})
    asked.ask(0, "push", [2.0], sync=False)
    assert asked.value() == [-1.5]


def test_values_of_a_store_go_when_all_workers_have_dropped_it() -> None:
    asked = Asked(workers=2)
    asked.init([5.0])
    asked.ask(1, "drop")
    asked.answers.clear()
    assert asked.value() == [5.0]
    asked.ask(0, "drop")
    asked.answers.clear()
    asked.ask(0, "pull")
    assert "has no value for 'w'" in asked.answers[0][1]["error"]


def test_what_is_wrong_is_answered() -> None:
    asked = Asked(workers=2)
    asked.ask(0, "pull")
    asked.init([0.0])
    for header in ({}, {"key": "'other'"}):
        asked.ask(1, "pull", **header)
    assert [header.get("kind") for _, header, _ in asked.answers] == [
        None,
        "ArgumentError",
    ]
    asked.answers.clear()
    for worker, size in ((0, 1), (1, 2)):
        asked.ask(worker, "push", [1.0] * size, sync=True)
    assert [header["kind"] for _, header, _ in asked.answers] == ["ShapeError"] * 2
    asked.answers.clear()
    asked.ask(0, "states", dump_optimizer=False)
    assert "no optimizer" in asked.answers[0][1]["error"]


def test_a_worker_that_has_left_is_named_to_those_that_wait() -> None:
    asked = Asked(workers=2)
    asked.init([0.0])
    asked.ask(0, "push", [1.0], sync=True)
    asked.server.leave(1, "has ended")
    ((worker, header, _),) = asked.answers
    assert worker == 0
    assert "rank 1 has ended and takes no part in: push of 'w'" in header["error"]
    asked.ask(0, "push", [1.0], sync=True)
    assert "rank 1 has ended" in asked.answers[1][1]["error"]


def test_workers_that_wait_for_each_other_are_named_once_it_is_certain() -> None:
    asked = Asked(workers=3)
    asked.init([0.0])
    for worker in (0, 2):
        asked.ask(worker, "push", [1.0], sync=True)
    asked.now += 11
    assert asked.server.deadlock(0, "barrier") == ""  # it has pushed
    found = asked.server.deadlock(1, "barrier")
    assert "rank 1: barrier; ranks 0, 2: push of 'w'. Each waits" in found
    asked.ask(1, "push", [1.0], sync=True)  # another thread of rank 1 did
    asked.ask(0, "push", [1.0], sync=True)
    asked.now += 9
    assert asked.server.deadlock(1, "barrier") == ""  # it may be on its way


def test_a_slow_worker_is_named_once_in_each_round(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = Asked(workers=3)
    asked.init([0.0])
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            for worker in (0, 2):
                asked.ask(worker, "push", [1.0], sync=True)
            asked.now += 9
            asked.server.look()
            asked.now += 2
            asked.server.look()
            asked.server.look()
            asked.ask(1, "push", [1.0], sync=True)
    text = "server 0: all have waited for rank 1 to push 'w' for 11 s."
    assert caplog.messages == [text] * 2


def test_roles_by_number() -> None:
    roles = assigned(["scheduler", "server", "worker", "", "server"])
    assert roles.workers == (2, 3)
    assert roles.servers == (1, 4)
    assert roles.dedicated
    titles = ["the scheduler", "server 0", "rank 0", "rank 1", "server 1"]
    assert [roles.title(process) for process in range(5)] == titles
