"""What a kind of policies is: who asks it, on which traces, and what an answer costs.

Each kind (`pools.py`, `schedulers.py`, `planners.py`, `trees.py`, `scalers.py`) is one
object of a subclass of `Kind`. Its *subject* is what the real mechanism runs: for pools
a `Policy` of `minimx.core.storage`. Built-in subjects are the runtime's own; `subject`
makes one from a policy of a user's own, in which every answer is checked.

`run` lets the mechanism run a subject over a trace, looks at every step whether the
rules hold, and returns what it cost. So checks, scores and property tests are one.
"""

from __future__ import annotations

import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from minimx.core.knobs import knobs
from minimx.core.knobs.knob import KnobWarning
from minimx.core.knobs.notices import warn
from minimx.policies.asking import Asked, Broken
from minimx.policies.watching import Watched


class Named(Protocol):
    """A trace has a name."""

    @property
    def name(self) -> str:
        """Its family and its seed."""


SubjectT = TypeVar("SubjectT")
TraceT = TypeVar("TraceT", bound=Named)


class PolicyWarning(KnobWarning):
    """A policy of a user's own failed in the running system; the built-in took over."""


class Entry:
    """A registered policy. failed: why it was given up, if it was."""

    def __init__(self, kind: Kind[Any, Any], name: str, policy: type) -> None:
        self.kind = kind
        self.name = name
        self.policy = policy
        self.failed: Broken | None = None
        self._lock = threading.Lock()
        self._giving_up: threading.Thread | None = None

    def new(self) -> Asked:
        """The question to a new instance."""
        return Watched(self.policy(), self.kind.method)

    def fail(self, reason: Broken) -> None:
        """Give the policy up: later questions go to the built-in.

        A thread of its own warns and turns the knobs back: it may have to wait for
        someone who holds their lock and waits, for the engine, for this very thread.
        """
        with self._lock:
            if self.failed is None:
                self.failed = reason
                self._giving_up = threading.Thread(target=self._give_up, daemon=True)
                self._giving_up.start()

    def _give_up(self) -> None:
        try:
            warnings.warn_explicit(
                f"{self.policy.__name__}, registered as {self.name!r}, failed in the "
                f"running system: {self.failed}. {self.kind.default} took over at that "
                "step, and nothing is lost. Repair it and register it again.",
                PolicyWarning,
                *_place_of(self.policy),
            )
        finally:
            self.kind.remove(self)

    def wait(self) -> None:
        """Until a policy that was given up is gone."""
        with self._lock:  # in which the thread is made and started
            giving_up = self._giving_up
        if giving_up is not None:
            giving_up.join()


def function_of(policy: type) -> FunctionType | None:
    """A function that a class defines: it knows where it was written.

    The class itself does not, if it stands in a cell of a notebook.
    """
    own = vars(policy).values()
    return next((one for one in own if isinstance(one, FunctionType)), None)


def _place_of(policy: type) -> tuple[str, int]:
    function = function_of(policy)
    code = None if function is None else function.__code__
    return (code.co_filename, code.co_firstlineno) if code else ("policy", 1)


class Kind(ABC, Generic[SubjectT, TraceT]):
    """One kind of policies.

    name: in words. method: what a class of this kind has; no other kind has it.
    families: of traces. unit: what `run` and `bound` give. bound_says: why nothing can
    cost less. default: the built-in that takes over. knobs: where a name is chosen.
    builtins: the runtime's own policies, by name.
    """

    name: ClassVar[str]
    method: ClassVar[str]
    families: ClassVar[tuple[str, ...]]
    unit: ClassVar[str]
    bound_says: ClassVar[str]
    default: ClassVar[str]
    knobs: ClassVar[tuple[str, ...]] = ()
    builtins: Mapping[str, SubjectT]

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._changing = threading.RLock()

    @abstractmethod
    def subject(self, ask: Asked) -> SubjectT:
        """What the mechanism runs; a wrong answer raises `Broken` in it."""

    @abstractmethod
    def trace(self, family: str, seed: int) -> TraceT:
        """A trace, the same for the same seed."""

    @abstractmethod
    def run(self, subject: SubjectT, trace: TraceT) -> float:
        """Run a trace and check each step; returns the cost. Raises `Broken`."""

    @abstractmethod
    def bound(self, trace: TraceT) -> float:
        """A cost that no policy can fall below."""

    @abstractmethod
    def _connect(self, entry: Entry) -> None:
        """Let the mechanism know a policy by its name."""

    @abstractmethod
    def _disconnect(self, name: str) -> None:
        """Let the mechanism forget a name."""

    def add(self, entry: Entry) -> None:
        """Make a policy that was checked selectable; one of the same name goes."""
        with self._changing:
            in_force = [knob for knob in self.knobs if knobs.get(knob) == entry.name]
            if entry.name in self.entries:
                self.remove(self.entries[entry.name])
            self._connect(entry)
            self.entries[entry.name] = entry
            self._offer()
            if in_force:
                knobs.set(**dict.fromkeys(in_force, entry.name))

    def remove(self, entry: Entry) -> None:
        """Turn the knobs away from a policy and forget it; once more does nothing."""
        with self._changing:
            if self.entries.get(entry.name) is not entry:
                return
            chosen = [knob for knob in self.knobs if knobs.get(knob) == entry.name]
            if chosen:
                knobs.set(**dict.fromkeys(chosen))
            del self.entries[entry.name]
            self._disconnect(entry.name)
            self._offer()

    def gone(self, name: str) -> None:
        """Warn that a name is in force which is not registered any more.

        A `with` block that was open when it was unregistered can put it back, and a
        record from another program can name it.
        """
        warn(
            f"{name!r} is no {self.name} that is registered here; {self.default} "
            "decides in its place.",
            PolicyWarning,
        )

    def _offer(self) -> None:
        for knob in self.knobs:
            own = knobs.declared[knob].choices
            builtin = [choice for choice in own if choice not in self._offered]
            knobs.offer(knob, (*builtin, *self.entries))
        self._offered = set(self.entries)

    _offered: set[str] = set()


def guarded(
    entry: Entry, usual: Callable[..., Any], own: Callable[..., Any]
) -> Callable[..., Any]:
    """A subject for the running system: `own`, and `usual` once it has failed."""

    def decide(*question: Any) -> Any:
        if entry.failed is None:
            try:
                return own(*question)
            except Broken as reason:
                entry.fail(reason)
        return usual(*question)

    return decide
