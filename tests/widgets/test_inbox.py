"""Messages are done in order, off the thread that receives them, and never lost."""

from __future__ import annotations

import threading
import warnings
from typing import Any

from minimx.core.errors import ArgumentError
from minimx_widgets.inbox import Inbox, answered, latest


def change(name: str, text: str) -> dict[str, Any]:
    return {"kind": "set", "name": name, "text": text}


def test_messages_are_done_in_order_in_a_thread_that_begins_with_the_first() -> None:
    done: list[Any] = []
    finished = threading.Event()

    def handle(message: dict[str, Any]) -> None:
        done.append((message["n"], threading.current_thread().name))
        if message["n"] == 9:
            finished.set()

    inbox = Inbox(handle, name="desk")
    assert inbox.thread is None
    for n in range(10):
        inbox.put({"n": n})
    assert finished.wait(10)
    inbox.close()
    assert done == [(n, "desk") for n in range(10)]


def test_a_change_that_a_later_one_overtakes_is_not_made() -> None:
    done: list[Any] = []
    at_work, go_on, finished = (threading.Event() for _ in range(3))

    def handle(message: dict[str, Any]) -> None:
        done.append(message)
        if message["kind"] == "block":
            at_work.set()
            assert go_on.wait(10)
        if message["kind"] == "end":
            finished.set()

    inbox = Inbox(handle, name="desk", overtake=True)
    inbox.put({"kind": "block"})
    assert at_work.wait(10)
    for text in "123":
        inbox.put(change("A", text))
    inbox.put(change("B", "1"))
    inbox.put({"kind": "end"})
    go_on.set()
    assert finished.wait(10)
    inbox.close()
    assert done[1:] == [change("A", "3"), change("B", "1"), {"kind": "end"}]


def test_latest_keeps_everything_that_is_no_change() -> None:
    pin = {"kind": "pin", "name": "A"}
    waiting = [change("A", "1"), pin, change("B", "1"), change("A", "2"), None]
    assert latest(waiting) == [pin, change("B", "1"), change("A", "2"), None]


def test_closing_ends_the_thread_and_may_be_done_by_it() -> None:
    closed = threading.Event()

    def handle(_message: dict[str, Any]) -> None:
        inbox.close()
        closed.set()

    inbox = Inbox(handle, name="desk")
    inbox.close()
    inbox.put({})
    thread = inbox.thread
    assert thread is not None
    assert closed.wait(10)
    thread.join(10)
    assert not thread.is_alive()


def test_an_answer_tells_what_was_done_or_why_not() -> None:
    def refuse() -> str:
        raise ArgumentError("Lab: too many")

    def fail() -> str:
        raise ZeroDivisionError("engine trouble")

    def warn() -> str:
        warnings.warn("Mind the step.", UserWarning, stacklevel=1)
        return "A applied"

    message = {**change("A", "1"), "id": 7}
    done = answered(message, warn, str)
    assert (done["ok"], done["id"], done["name"]) == (True, 7, "A")
    assert done["text"].startswith("A applied in ")
    assert done["text"].endswith(" ms. Mind the step.")
    assert answered(message, refuse, str)["text"] == "Lab: too many"
    kept: list[BaseException] = []

    def words(error: BaseException) -> str:
        kept.append(error)
        return str(error)

    broken = answered(message, fail, words)
    assert [type(error) for error in kept] == [ZeroDivisionError]
    assert (broken["ok"], broken["text"]) == (
        False,
        "ZeroDivisionError: engine trouble",
    )
