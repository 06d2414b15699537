"""A training session: a program run step by step in a thread of its own.

The program is an iterator. Each `next` does one bounded piece of work (a training step,
a batch of the test set) and says how far it got, so between two pieces the session can
pause, go on, take a single step, or stop. It knows nothing about networks.

Nothing here waits for a browser or for the cell that started it; a notebook whose
kernel goes away takes the thread with it, because it is a daemon.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass

# Pushing operations is Python work. With Python's usual 5 ms a message from the browser
# would wait for its turn longer than for everything else together.
SWITCH_INTERVAL = 0.0005

READY, RUNNING, PAUSED, DONE = "ready", "training", "paused", "done"
STOPPED, FAILED = "stopped", "failed"


@dataclass(frozen=True)
class Progress:
    """How far a program got: pieces done of a total, and in words.

    `step` is true if this piece was a training step, which is what "Step" counts.
    `pace` says in words how fast it goes, which holds only while it does.
    """

    done: int
    total: int
    text: str
    epoch: int = 0
    epochs: int = 0
    steps: int = 0
    step: bool = True
    pace: str = ""


NOTHING = Progress(0, 0, "")
Program = Generator[Progress, None, None]


class Session:
    """Runs programs, one at a time.

    `program` makes a new one, in the session's thread. `changed` is called after every
    piece and every change of state, in the thread where it happened; it must be quick.
    """

    def __init__(
        self,
        program: Callable[[], Program],
        changed: Callable[[Session], None] = lambda session: None,
    ) -> None:
        self._make = program
        self._changed = changed
        self._thread: threading.Thread | None = None
        self._condition = threading.Condition()
        self._pause_wanted = False
        self._stop_wanted = False
        self._single_steps = 0
        self._notifying = False  # others are still to hear of the state
        self.state = READY
        self.progress = NOTHING
        self.error: BaseException | None = None

    @property
    def alive(self) -> bool:
        """Whether a program is under way, running or paused."""
        return self.state in (RUNNING, PAUSED)

    def train(self) -> None:
        """Begin, or go on after a pause. Does nothing while it runs."""
        with self._condition:
            self._pause_wanted = False
            self._single_steps = 0
            self._go()

    def step(self) -> None:
        """Do one training step, then pause."""
        with self._condition:
            if self.state == RUNNING and not self._single_steps:
                return
            self._single_steps += 1
            self._pause_wanted = False
            self._go()

    def pause(self) -> None:
        """Pause after the piece of work that is under way."""
        with self._condition:
            if self.state == RUNNING:
                self._pause_wanted = True

    def stop(self, wait: bool = True) -> None:
        """End the program after the piece of work that is under way, and forget it."""
        with self._condition:
            self._stop_wanted = True
            self._condition.notify_all()
            thread = self._thread
        if wait and thread is not None and thread is not threading.current_thread():
            thread.join()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it neither runs nor is about to: done, paused, stopped or failed.

        Returns whether that happened within `timeout` seconds, and the views of
        the state have been called. Raises the error that ended the program. An
        interrupt ends the waiting; the session goes on.
        """
        end = None if timeout is None else time.monotonic() + timeout
        with self._condition:
            while self.state == RUNNING or self._notifying:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return False
                # In short naps, so that an interrupt reaches the main thread.
                self._condition.wait(0.2 if left is None else min(left, 0.2))
            error = self.error if self.state == FAILED else None
        if error is not None:
            raise error
        return True

    def reset(self, progress: Progress = NOTHING) -> None:
        """Stop, and be as if nothing had ever run, or as far as `progress`."""
        self.stop()
        self.progress, self.error = progress, None
        self._become(READY)

    def _go(self) -> None:
        """With the condition held: run, in a new thread unless one is paused."""
        if self.state == PAUSED:
            self.state = RUNNING
            self._condition.notify_all()
        elif self.state != RUNNING:
            self.state, self.error = RUNNING, None
            self._stop_wanted = False
            self._thread = threading.Thread(
                target=self._run, name="minimx training", daemon=True
            )
            self._thread.start()

    # What follows runs in the session's thread.

    def _run(self) -> None:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)
        program: Program | None = None
        try:
            program = self._make()
            self._become(self._through(program))
        except BaseException as error:
            self.error = error
            self._become(FAILED)
        finally:
            if program is not None:
                program.close()
            sys.setswitchinterval(interval)

    def _through(self, program: Program) -> str:
        """Run the program to its end, or until it is stopped; returns the end state."""
        self._changed(self)
        for progress in program:
            self.progress = progress
            if self._single_steps and progress.step:
                self._single_steps -= 1
                self._pause_wanted = self._pause_wanted or not self._single_steps
            if self._pause_wanted:
                self._rest()
            if self._stop_wanted:
                return STOPPED
            self._changed(self)
        return DONE

    def _rest(self) -> None:
        """Be paused until the user goes on or stops."""
        with self._condition:
            if not self._pause_wanted or self._stop_wanted:
                return
            self._pause_wanted = False
            self.state, self._notifying = PAUSED, True
        self._tell()
        with self._condition:
            while self.state == PAUSED and not self._stop_wanted:
                self._condition.wait()
            self.state = RUNNING

    def _become(self, state: str) -> None:
        with self._condition:
            self.state, self._notifying = state, True
        self._tell()

    def _tell(self) -> None:
        """Let others hear of the state, and then those who wait for it."""
        try:
            self._changed(self)
        finally:
            with self._condition:
                self._notifying = False
                self._condition.notify_all()
