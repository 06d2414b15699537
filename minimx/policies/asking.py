"""Asking a policy of a user's own: with a time limit, and with a lesson where it errs.

    ask = Asked(MyPool(), "size")
    ask(5000, {4096: 1})               # the answer, or `Broken`
    within(2.0, lambda: run(ask))      # or `Broken`, if it takes longer

A policy is code that a user has just written. It may raise, loop for ever, or answer
differently each time. `Broken` says what was asked, what came, and which rule that
breaks; a check makes a lesson of it, the running system a warning.
"""

from __future__ import annotations

import ctypes
import threading
import traceback
from collections.abc import Callable
from time import monotonic
from typing import Any, Final, TypeVar

Answer = TypeVar("Answer")

#: How many seconds a policy that does not stop is asked to; then it is left to itself.
GRACE: Final = 2.0
#: How much of a question stands in a lesson.
SHOWN: Final = 120


class Broken(Exception):
    """A rule was broken.

    what: what was asked, and what came. rule: which rule that breaks. step: where in a
    trace, in words; who runs the trace fills it in.
    """

    def __init__(self, what: str, rule: str, step: str = "") -> None:
        super().__init__(f"{what}. The rule: {rule}")
        self.what = what
        self.rule = rule
        self.step = step


class Overrun(BaseException):
    """Raised inside a policy whose time is over; no `except Exception` stops it."""


class Asked:
    """The one question that a policy answers: its method `name`.

    answers: if it is a list, all answers are noted there as text. before: those of
    another run through the same steps, which must be the same.
    """

    def __init__(
        self,
        policy: Any,
        name: str,
        answers: list[str] | None = None,
        before: list[str] | None = None,
    ) -> None:
        self.policy = policy
        self.name = name
        self._answers = answers
        self._before = before

    def __call__(self, *question: Any) -> Any:
        """The answer. Raises `Broken` for what the policy raises."""
        here = threading.current_thread()
        limited = here if isinstance(here, _Limited) else None
        if limited is not None:
            limited.enter(lambda: self.shown(question))
        try:
            answer = getattr(self.policy, self.name)(*question)
        except Exception as error:
            raise Broken(
                f"{self.shown(question)} raises {type(error).__name__}: {error}"
                f"{_line_of(error)}",
                "a policy answers every question; it raises nothing",
            ) from error
        finally:
            if limited is not None:
                limited.question = None
        if self._answers is not None:
            self._note(question, answer)
        return answer

    def _note(self, question: tuple[Any, ...], answer: Any) -> None:
        """Keep an answer, and compare it with that of the run before."""
        assert self._answers is not None
        at = len(self._answers)
        self._answers.append(shortened(repr(answer)))
        if self._before is not None and self._before[at : at + 1] != self._answers[at:]:
            was = "".join(self._before[at : at + 1]) or "nothing"
            raise Broken(
                f"{self.shown(question)} gave {was} in one run and "
                f"{self._answers[at]} in the next",
                "the same state gives the same decision: no chance, no clock, nothing "
                "that another instance left behind",
            )

    def shown(self, question: tuple[Any, ...], *answer: Any) -> str:
        """The question as a call, and the answer if there is one."""
        call = f"{self.name}({', '.join(shortened(repr(one)) for one in question)})"
        return f"{call} gives {shortened(repr(answer[0]))}" if answer else call


def shortened(text: str) -> str:
    """The text, or its beginning and its end."""
    half = SHOWN // 2
    return text if len(text) <= SHOWN else f"{text[:half]} … {text[-half:]}"


def _line_of(error: BaseException) -> str:
    """The user's line that raised, if its source is known."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f", at `{last.line}`" if last.line else ""


class _Limited(threading.Thread):
    """A thread that can be made to stop while a policy is asked.

    question: what is being asked just now; None between two questions. The exception
    that stops it is sent only then, so that it hits the policy, not the mechanism.
    """

    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__(name="policy", daemon=True)
        self._function = function
        self._overdue = False
        self.question: Callable[[], str] | None = None
        self.answer: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Call the function, and keep what comes of it."""
        try:
            self.answer = self._function()
        except BaseException as error:  # for the thread that waits
            self.error = error

    def enter(self, question: Callable[[], str]) -> None:
        """A question begins."""
        self.question = question
        if self._overdue:
            raise Overrun

    def stop(self) -> str:
        """End it; returns what was asked last. What does not end is left to itself."""
        self._overdue = True
        last, deadline = None, monotonic() + GRACE
        while self.is_alive() and monotonic() < deadline:
            if self.question is not None:
                last = self.question
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self.ident or 0), ctypes.py_object(Overrun)
                )
            self.join(0.05)
        return last() if last is not None else "the whole trace"


def within(seconds: float, function: Callable[[], Answer]) -> Answer:
    """The result of a function that asks policies; what it raises is raised here.

    seconds: of real time, after which `Broken` is raised. Ctrl-C ends it as well.
    """
    thread = _Limited(function)
    thread.start()
    try:
        thread.join(seconds)
    except BaseException:  # Ctrl-C: the policy must not go on behind our back
        thread.stop()
        raise
    if thread.is_alive():
        asked = thread.stop()
        after = " and could not be stopped" if thread.is_alive() else ""
        raise Broken(
            f"{asked} had no answer when {seconds:g} s were over{after}",
            "a policy decides at once: look for a loop that does not end",
        )
    if thread.error is not None:
        raise thread.error
    found: Answer = thread.answer
    return found
