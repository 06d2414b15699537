"""What happened to a tape, as steps that a reader can follow: a pure function.

`Watch` tells single events, in the order of the real walk. A step gathers what belongs
together: a call is written down; a walk begins; a call is walked past, which means that
what arrived is summed, the rule is applied, gradients are sent on, and what was kept is
let go; a variable gets its gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from minimx.tools.tape_watch import Call, Event, Kept, Watch
from minimx_widgets.units import counted, human_bytes

#: What a box can be in: not there yet, on the tape, reached by a gradient, at work,
#: walked past and emptied, walked past and kept for another walk, filled.
STATES = ("absent", "recorded", "reached", "at work", "let go", "retained", "stored")
ABSENT, RECORDED, REACHED, AT_WORK, LET_GO, RETAINED, STORED = range(len(STATES))


@dataclass(frozen=True)
class Step:
    """One step.

    kind: "record", "begin", "walk", "store", "drop". at: the call, or minus the
    variable. came: how many gradients had arrived there. sent: calls and variables that
    got one. released: bytes that no call keeps any more. changes: the state of calls
    and variables after the step, where it is another one. Bytes after the step: kept,
    results that the tape keeps; flight, gradients between calls; ready, gradients of
    variables that are not yet stored.
    """

    kind: str
    at: int
    came: int
    sent: tuple[int, ...]
    released: int
    changes: tuple[tuple[int, int], ...]
    kept: int
    flight: int
    ready: int


@dataclass
class _Open:
    """A step that is not over: a walk may run inside another one."""

    kind: str
    at: int
    came: int = 0
    sent: list[int] = field(default_factory=list)
    changes: dict[int, int] = field(default_factory=dict)


class _TapeState:
    """What is kept and what is on its way, event by event."""

    def __init__(self, watch: Watch) -> None:
        self.calls = watch.calls
        self.keepers: dict[int, set[int]] = {}
        self.sizes: dict[int, int] = {}
        self.arrived: dict[int, list[tuple[int, int]]] = {}
        self.kept = 0

    def keep(self, call: Call) -> None:
        """A call keeps what its gradient needs."""
        for one in own(self.calls, call):
            if not self.keepers.setdefault(one.block, set()):
                self.kept += one.nbytes
            self.sizes[one.block] = one.nbytes
            self.keepers[one.block].add(call.number)

    def release(self, number: int) -> int:
        """A call lets go; returns how many bytes no call keeps then."""
        freed = 0
        for one in {one.block: one for one in own(self.calls, self.call(number))}:
            self.keepers[one].discard(number)
            if not self.keepers[one]:
                freed += self.sizes[one]
        self.kept -= freed
        return freed

    def call(self, number: int) -> Call:
        return self.calls[number - 1]

    def waiting(self) -> tuple[int, int]:
        """The bytes of gradients at calls, and of others at variables.

        Blocks that several share count once.
        """
        calls = {pair for at, those in self.arrived.items() if at > 0 for pair in those}
        every = {pair for those in self.arrived.values() for pair in those}
        sizes = [sum(nbytes for _, nbytes in part) for part in (calls, every - calls)]
        return sizes[0], sizes[1]


def steps(watch: Watch) -> tuple[Step, ...]:
    """The steps of what was watched, in order."""
    return tuple(_steps(watch))


def _steps(watch: Watch) -> Iterator[Step]:
    state = _TapeState(watch)
    stack: list[_Open] = []
    for event in watch.events:
        done, released = _Open("", 0), 0
        if event.kind == "record":
            state.keep(state.call(event.at))
            done = _Open("record", event.at, changes={event.at: RECORDED})
            for number in state.call(event.at).inputs:
                if number < 0:
                    done.changes[number] = RECORDED
        elif event.kind == "begin":
            stack.append(_Open("begin", 0))
            continue
        elif event.kind == "arrive":
            _arrive(state, stack, event)
            continue
        elif event.kind == "visit":
            if stack and stack[-1].kind == "begin":
                yield _closed(stack.pop(), state)
            came = len(state.arrived.pop(event.at, ()))
            stack.append(_Open("walk", event.at, came))
            continue
        elif event.kind in ("release", "stay"):
            done = stack.pop()
            released = state.release(event.at) if event.kind == "release" else 0
            emptied = event.kind == "release"
            done.changes[event.at] = LET_GO if emptied else RETAINED
        elif event.kind == "end":
            if stack and stack[-1].kind == "begin":  # nothing was walked past
                yield _closed(stack.pop(), state)
            continue
        elif event.kind == "drop":
            released = state.release(event.at)
            done = _Open("drop", event.at, changes={event.at: LET_GO})
        else:
            came = len(state.arrived.pop(event.at, ()))
            done = _Open("store", event.at, came, changes={event.at: STORED})
        yield _closed(done, state, released)


def _arrive(state: _TapeState, stack: list[_Open], event: Event) -> None:
    """A gradient came to a call or a variable."""
    state.arrived.setdefault(event.at, []).append((event.block, event.nbytes))
    if stack:
        stack[-1].sent.append(event.at)
        stack[-1].changes[event.at] = REACHED
        if stack[-1].kind == "begin":
            stack[-1].at = event.at


def _closed(step: _Open, state: _TapeState, released: int = 0) -> Step:
    return Step(
        step.kind, step.at, step.came, tuple(step.sent), released,
        tuple(step.changes.items()), state.kept, *state.waiting(),
    )  # fmt: skip


def origin_of(calls: list[Call], source: int) -> int:
    """Whose memory a source is: views have none of their own."""
    while source > 0 and calls[source - 1].op.is_view:
        source = calls[source - 1].inputs[0]
    return source


def own(calls: list[Call], call: Call) -> list[Kept]:
    """What a call keeps of results that were computed under `record`.

    The rest belongs to the caller: parameters, inputs, labels.
    """
    return [
        one
        for one in call.kept
        if one.category == "activation" or origin_of(calls, one.source) > 0
    ]


def kept(watch: Watch) -> int:
    """How many bytes of results the tape keeps when everything is recorded."""
    return max((step.kept for step in steps(watch)), default=0)


def sentence(watch: Watch, step: Step, name: dict[int, str]) -> str:
    """A step in a sentence; name: what calls and variables are called."""
    who = name.get(step.at, f"#{step.at}")
    if step.kind == "record":
        return f"{who} is written on the tape. {_keeps(watch, step.at)}"
    if step.kind == "begin":
        return f"A walk begins: the head, {who}, gets its gradient."
    if step.kind == "store":
        adds = watch.reqs[-step.at - 1] == "add"
        way = "is added to its grad" if adds else "overwrites its grad"
        many = f"{step.came} gradients are summed; the result" if step.came > 1 else ""
        return f"{who}: {many or 'what arrived'} {way}."
    if step.kind == "drop":
        gone = f", and with it {human_bytes(step.released)}" if step.released else ""
        return f"Nobody can reach {who} any more: it is gone from the tape{gone}."
    return _walked(watch, step, who, name)


def _keeps(watch: Watch, number: int) -> str:
    call = watch.calls[number - 1]
    mine = {one.block: one for one in own(watch.calls, call)}
    other = [one.name for one in call.kept if one.block not in mine]
    texts = [f"{one.name} ({human_bytes(one.nbytes)})" for one in mine.values()]
    if not texts and not other:
        return "Its gradient needs no value, so it keeps nothing."
    kept = f"It keeps {' and '.join(texts)}." if texts else ""
    borrowed = f"It points at the caller's {' and '.join(dict.fromkeys(other))}."
    return f"{kept} {borrowed if other else ''}".strip()


def _walked(watch: Watch, step: Step, who: str, name: dict[int, str]) -> str:
    came = counted(step.came, "gradient")
    summed = f"{came} arrived at {who}" + (" and are summed" if step.came > 1 else "")
    to = dict.fromkeys(name.get(one, f"#{one}") for one in step.sent)
    sent = f"its rule sends one to {', '.join(to)}" if to else "nothing is sent on"
    last = dict(step.changes).get(step.at)
    if last == RETAINED:
        end = "It stays on the tape: retain_graph."
    elif step.released:
        end = f"It lets go of {human_bytes(step.released)}."
    elif own(watch.calls, watch.calls[step.at - 1]):
        end = "What it kept, another call keeps as well."
    else:
        end = "There is nothing to let go of."
    return f"{summed}; {sent}. {end}"
