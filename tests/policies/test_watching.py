"""A policy that has no answer in the running system is stopped, and only the policy."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest

from minimx.policies import watching
from minimx.policies.asking import Broken
from minimx.policies.watching import Watched


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LIMIT", 0.2)


class Policy:
    """Answers by a function."""

    def __init__(self, answer: Any) -> None:
        self.size = answer


def endless(*_: Any) -> None:
    while True:
        sum(range(1000))


def test_an_answer_is_given_and_a_loop_is_stopped() -> None:
    assert Watched(Policy(lambda nbytes: nbytes + 1), "size")(4) == 5
    with pytest.raises(Broken, match=r"size\(7\) had no answer after 0.2 s.*a loop"):
        Watched(Policy(endless), "size")(7)


def test_a_policy_that_catches_everything_is_stopped_as_well() -> None:
    caught: list[BaseException] = []

    def stubborn(_: int) -> None:
        while True:
            try:
                endless()
            except BaseException as error:
                caught.append(error)
                if len(caught) == 3:
                    raise

    with pytest.raises(Broken, match="no answer"):
        Watched(Policy(stubborn), "size")(7)
    assert len(caught) == 3


def test_what_comes_after_a_late_answer_is_not_interrupted() -> None:
    """The exception comes only where a question is open, however late its answer."""

    def slow(_: int) -> int:
        time.sleep(0.6)  # machine code: an exception arrives when it is over
        return 1

    for _ in range(2):
        with pytest.raises(Broken, match="no answer"):
            Watched(Policy(slow), "size")(7)
    deadline, steps = time.monotonic() + 0.6, 0
    while time.monotonic() < deadline:
        steps += 1
    assert steps


def test_questions_within_questions_and_errors() -> None:
    inner = Watched(Policy(endless), "size")  # both are open for as long

    def outer(nbytes: int) -> int:
        with pytest.raises(Broken, match="no answer"):
            inner(nbytes)
        return nbytes

    def wrong(_: int) -> int:
        raise ValueError("I cannot decide")

    with pytest.raises(Broken, match="no answer|I cannot decide"):
        Watched(Policy(lambda nbytes: outer(nbytes) and wrong(nbytes)), "size")(7)
    with pytest.raises(Broken, match="ValueError: I cannot decide"):
        Watched(Policy(wrong), "size")(7)


AFTERWARDS = """
import sys
from minimx.policies import watching
from minimx.policies.asking import Broken

with watching.limited(30):
    pass
try:
    with watching.limited(0.1):
        while True:
            sum(range(1000))
except watching.Overrun:
    print("stopped")
sys.setprofile(lambda *_: None)
sorted([3, 1, 2], key=lambda x: -x)
sys.setprofile(None)
print("profiled")
"""


def test_a_profiler_works_afterwards() -> None:
    """CPython 3.11 would look for an exception that was taken back for ever."""
    done = subprocess.run(
        [sys.executable, "-c", AFTERWARDS],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["stopped", "profiled"]
