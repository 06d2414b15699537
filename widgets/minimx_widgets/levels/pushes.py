"""Levels of the kvstore: which gradient takes the link next.

    game = PushGame((Layer("conv1", 2048, forward=2, backward=4), ...))

Backward makes the gradient of the last layer first, and the next step's forward needs
the weights of the first layer first. In between every gradient takes one link, there
and back, a message at a time. Cut into slices, an urgent gradient can overtake a large
one (P3: A. Jayarajan et al., 2019). Times are whole µs of a virtual clock.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from minimx.core.errors import ArgumentError
from minimx.kvstore.simulation.events import Times, Work, by_arrival, in_order
from minimx_widgets.levels.game import Bar, Choice, Cost, Game, Row, Scene
from minimx_widgets.levels.play import chosen
from minimx_widgets.units import counted, human_bytes

BACKWARD, LINK, FORWARD = range(3)
#: More layers, and more messages, than so many are more than a page can show.
MOST, MOST_MESSAGES = 40, 200


@dataclass(frozen=True)
class Layer:
    """A layer: the bytes of its gradient, the µs of its forward and backward."""

    name: str
    nbytes: int
    forward: int
    backward: int


@dataclass(frozen=True)
class Sent:
    """What the link did: (layer, start, end) of each message, and the time now."""

    messages: tuple[tuple[int, int, int], ...] = ()
    time: int = 0


class PushGame(Game[Sent]):
    """The layers of a network, the first one in front, and the link of their gradients.

    speed: bytes a µs. latency: µs that a message takes beside that. piece: the most
    bytes of a message; 0: a gradient is one message. Raises `ArgumentError` for no
    layers, too many, or such as take no time.
    """

    kinds = (
        ("backward", "gradient"),
        ("on the link", "communication"),
        ("next forward", "parameter"),
    )

    def __init__(
        self,
        layers: Sequence[Layer],
        name: str = "pushes",
        lesson: str = "",
        *,
        speed: int = 1024,
        latency: int = 1,
        piece: int = 0,
    ) -> None:
        if not 1 <= len(layers) <= MOST:
            raise ArgumentError(f"PushGame: {len(layers)} layers; give 1 to {MOST}.")
        if len({one.name for one in layers}) < len(layers):
            raise ArgumentError("PushGame: two layers have the same name.")
        for one in layers:
            if min(one.nbytes, one.forward, one.backward) < 1:
                raise ArgumentError(
                    f"PushGame: {one} is not possible; bytes and µs are at least 1."
                )
        if speed < 1 or latency < 0 or piece < 0:
            raise ArgumentError(
                f"PushGame: speed={speed}, latency={latency}, piece={piece}: give a "
                "speed of at least 1 byte a µs, and nothing below 0."
            )
        self.layers, self.name, self.lesson = tuple(layers), name, lesson
        self.speed, self.latency, self.piece = speed, latency, piece
        self.made_as = "mine, as priorities" if piece else "mine"
        every = range(len(layers))
        behind = [sum(one.backward for one in layers[k:]) for k in every]
        #: By layer: the µs at which its gradient is there, its messages in µs each, and
        #: the µs of forward from it to the end.
        self.ready = behind
        self.pieces = [self._pieces(one.nbytes) for one in layers]
        self.tail = [sum(one.forward for one in layers[k:]) for k in every]
        if sum(map(len, self.pieces)) > MOST_MESSAGES:
            raise ArgumentError(
                f"PushGame: slices of {piece:,} bytes make "
                f"{sum(map(len, self.pieces)):,} messages; take larger ones, so that "
                f"there are at most {MOST_MESSAGES}."
            )
        #: All of it one after the other: the end of the axis.
        self.latest = self.ready[0] + sum(map(sum, self.pieces)) + self.tail[0]

    def _pieces(self, nbytes: int) -> list[int]:
        step = self.piece or nbytes
        sizes = [min(step, nbytes - at) for at in range(0, nbytes, step)]
        return [self.latency + -(-size // self.speed) for size in sizes]

    # -- rules -------------------------------------------------------------------------

    def begin(self) -> Sent:
        """The link is free, and the last layer's gradient is there."""
        return Sent(time=self.ready[-1])

    def count(self, state: Sent, layer: int) -> int:
        """How many messages of a layer were sent."""
        return sum(one[0] == layer for one in state.messages)

    def _left(self, state: Sent) -> list[int]:
        """The layers of which something is to be sent."""
        every = range(len(self.layers))
        return [k for k in every if self.count(state, k) < len(self.pieces[k])]

    def over(self, state: Sent) -> bool:
        """Whether all gradients were sent."""
        return not self._left(state)

    def coming(self, state: Sent) -> tuple[str, ...]:
        """The gradients that backward has yet to make."""
        return tuple(
            f"{self.layers[k].name} at {self.ready[k]} µs"
            for k in reversed(self._left(state))
            if self.ready[k] > state.time
        )

    def question(self, state: Sent) -> str:
        """What the link is free for."""
        if self.over(state):
            return f"The next forward ends after {self.cost(state)[0]} µs."
        there = [k for k in self._left(state) if self.ready[k] <= state.time]
        names = ", ".join(self.layers[k].name for k in there)
        return f"{state.time} µs: the link is free, and {names} could go. What is next?"

    def choices(self, state: Sent) -> tuple[Choice, ...]:
        """Each layer, and to wait for the next gradient."""
        if self.over(state):
            return ()
        found = []
        for k, one in enumerate(self.layers):
            sent, pieces = self.count(state, k), self.pieces[k]
            text = f"{one.name}: {human_bytes(one.nbytes)}"
            if len(pieces) > 1:
                text += f", slice {min(sent + 1, len(pieces))} of {len(pieces)}"
            found.append(Choice(one.name, text, k, self._refusal(state, k)))
        following = self._next(state)
        refused = ""
        if following is None:
            refused = "Backward is over: no gradient will come any more to wait for."
        until = f" until {following} µs" if following is not None else ""
        return (*found, Choice("wait", f"wait{until}", -1, refused))

    def _refusal(self, state: Sent, layer: int) -> str:
        one = self.layers[layer]
        if self.count(state, layer) == len(self.pieces[layer]):
            end = max(m[2] for m in state.messages if m[0] == layer)
            return f"The gradient of {one.name} was sent: it was there at {end} µs."
        if self.ready[layer] > state.time:
            done = [k for k, at in enumerate(self.ready) if at <= state.time]
            return (
                f"The gradient of {one.name} is not there yet: at {state.time} µs "
                f"backward has come to {self.layers[done[0]].name}, and it makes that "
                f"of {one.name} at {self.ready[layer]} µs."
            )
        return ""

    def _next(self, state: Sent) -> int | None:
        """When the next gradient is there; None after the last one."""
        return min((at for at in self.ready if at > state.time), default=None)

    def after(self, state: Sent, key: str) -> Sent:
        """That layer's next message on the link, or time goes on."""
        one = chosen(self.choices(state), key, self.name)
        return self._waited(state) if one.row < 0 else self._sent(state, one.row)

    def _waited(self, state: Sent) -> Sent:
        following = self._next(state)
        assert following is not None
        return Sent(state.messages, following)

    def _sent(self, state: Sent, layer: int) -> Sent:
        """One more message; time goes on to where another could go."""
        end = state.time + self.pieces[layer][self.count(state, layer)]
        made = Sent((*state.messages, (layer, state.time, end)), end)
        left = self._left(made)
        if left and all(self.ready[k] > end for k in left):
            return Sent(made.messages, min(self.ready[k] for k in left))
        return made

    # -- cost --------------------------------------------------------------------------

    def cost(self, state: Sent) -> Cost:
        """The µs at which the next forward ends, or cannot end before."""
        return self.least(state)

    def says(self, cost: Cost) -> str:
        """The end of the step."""
        return f"forward done after {cost[0]:,} µs"

    def numbers(self, state: Sent) -> tuple[tuple[str, str], ...]:
        """Time, messages, and the end."""
        every = sum(map(len, self.pieces))
        return (
            ("time", f"{state.time} µs"),
            ("messages", f"{len(state.messages)} of {every}"),
            (
                "done after" if self.over(state) else "not before",
                f"{self.cost(state)[0]} µs",
            ),
        )

    # -- for the search ----------------------------------------------------------------

    def tried(self, state: Sent) -> Iterator[tuple[str, Sent]]:
        """The gradients that are there, and to wait where a more urgent one comes."""
        left = self._left(state)
        for k in left:
            if self.ready[k] <= state.time:
                yield self.layers[k].name, self._sent(state, k)
        if any(self.ready[k] > state.time for k in left):
            yield "wait", self._waited(state)

    def least(self, state: Sent) -> Cost:
        """If messages could be interrupted: always the layer with most behind it first.

        With interruptions that order is the best one there is (Jackson's), so no order
        of whole messages ends before.
        """
        left = {
            k: sum(self.pieces[k][self.count(state, k) :]) for k in self._left(state)
        }
        ends = {k: end for k, _, end in state.messages}
        worst = max((end + self.tail[k] for k, end in ends.items()), default=0)
        time = state.time
        while left:
            there = [k for k in left if self.ready[k] <= time]
            later = [self.ready[k] for k in left if self.ready[k] > time]
            if not there:
                time = min(later)
                continue
            first = min(there)  # the layer in front has the longest tail
            spent = min([left[first], *(at - time for at in later)])
            time += spent
            left[first] -= spent
            if not left[first]:
                del left[first]
                worst = max(worst, time + self.tail[first])
        return (worst,)

    def same(self, state: Sent) -> Hashable:
        """Time, what was sent, and what the finished layers take at least."""
        counts = tuple(self.count(state, k) for k in range(len(self.layers)))
        ends = {k: end for k, _, end in state.messages}
        return (
            state.time,
            counts,
            max((e + self.tail[k] for k, e in ends.items()), default=0),
        )

    # -- picture -----------------------------------------------------------------------

    def scene(self, state: Sent) -> Scene:
        """A row for each layer: its backward, its messages, its next forward."""
        rows = tuple(Row(one.name, human_bytes(one.nbytes), 0.2) for one in self.layers)
        bars = []
        free = 0
        for k, one in enumerate(self.layers):
            start = self.ready[k] - one.backward
            said = f"backward of {one.name}: {start} to {self.ready[k]} µs"
            later = self.ready[k] > state.time
            bars.append(Bar(k, start, self.ready[k], "", said, BACKWARD, later=later))
            for number, (_, a, b) in enumerate(m for m in state.messages if m[0] == k):
                said = f"message {number + 1} of {one.name}: {a} to {b} µs"
                text = str(number + 1) if self.piece else ""
                bars.append(Bar(k, a, b, text, said, LINK))
        ends = {k: end for k, _, end in state.messages}
        for k, one in enumerate(self.layers):
            if k not in ends or self.count(state, k) < len(self.pieces[k]):
                break
            start = max(free, ends[k])
            free = start + one.forward
            said = f"forward of {one.name}: {start} to {free} µs"
            bars.append(Bar(k, start, free, "", said, FORWARD))
        return Scene(rows, tuple(bars), self.latest, state.time, "µs")

    # -- the runtime -------------------------------------------------------------------

    def served(
        self,
        priority: Callable[[str], int],
        times: Callable[[list[Work]], list[Times]] = by_arrival,
    ) -> Cost:
        """The end by the simulation of the kvstore, with a priority for each key."""
        every = reversed(range(len(self.layers)))
        return self._simulated(
            [
                self._work(k, taken, priority(self.layers[k].name))
                for k in every
                for taken in self.pieces[k]
            ],
            times,
        )

    def _work(
        self, layer: int, taken: int, priority: int = 0, after: tuple[int, ...] = ()
    ) -> Work:
        """A message of a layer that takes the link for so many µs."""
        return Work(
            kind="push",
            key=self.layers[layer].name,
            place="link",
            first=("link",),
            last=("link",),
            turns={"link": 1},
            seconds=float(taken),
            count=1,
            after=after,
            each=False,
            release=float(self.ready[layer]),
            priority=-priority,
        )

    def _simulated(
        self, works: list[Work], times: Callable[[list[Work]], list[Times]]
    ) -> Cost:
        ends: dict[str, float] = {}
        for work, found in zip(works, times(works), strict=True):
            ends[work.key] = max(ends.get(work.key, 0.0), found.end)
        tails = zip(self.layers, self.tail, strict=True)
        return (round(max(ends[one.name] + tail for one, tail in tails)),)

    def compared(self) -> dict[str, Cost]:
        """As the gradients come, and the front first, as P3 does."""
        place = {one.name: k for k, one in enumerate(self.layers)}
        return {
            "as they come": self.served(lambda name: 0, in_order),
            "the front first (P3)": self.served(lambda name: -place[name]),
        }

    def ran(self, made: Any) -> Cost:
        """The end by the simulation of the kvstore, as a class with `send` sends.

        Of slices: under the priorities of a class with `priority`.
        """
        if self.piece:
            return self.served(made().priority)
        place = {one.name: k for k, one in enumerate(self.layers)}
        noted = _Noted()
        made().send(noted, dict.fromkeys(place, noted))
        works: list[Work] = []
        for key in noted.keys:
            (taken,) = self.pieces[place[key]]
            before = (len(works) - 1,) if works else ()
            works.append(self._work(place[key], taken, after=before))
        return self._simulated(works, by_arrival)

    def policy(self, state: Sent, name: str) -> str:
        """The order in which a class sends gradients to a store, as source text.

        Of slices: priorities of keys, the highest for what was there first; a priority
        cannot make the link wait.
        """
        ends = {k: end for k, _, end in state.messages}
        order = [self.layers[k].name for k in sorted(ends, key=ends.__getitem__)]
        says = f"{self.says(self.cost(state))} for {counted(len(order), 'layer')}"
        if not self.piece:
            return f'''class {name}:
    """What I sent first: {says}.

    {name}().send(store, gradients)   # {{key: gradient}}, after loss.backward()
    """

    ORDER = {order!r}

    def send(self, store, gradients):
        for key in self.ORDER:  # the link waits for a gradient where I waited
            store.pushpull(key, gradients[key])
            gradients[key].wait_to_read()
'''
        priority = {key: rank for rank, key in enumerate(reversed(order))}
        return f'''class {name}:
    """What was there first: {says}.

    store.pushpull(key, gradient, priority={name}().priority(key))
    """

    PRIORITY = {priority!r}  # the larger, the more urgent

    def priority(self, key):
        return self.PRIORITY.get(key, 0)
'''


class _Noted:
    """In place of a store and of gradients: notes the keys that are sent."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def pushpull(self, key: str, value: Any) -> None:
        """Note a key."""
        self.keys.append(key)

    def wait_to_read(self) -> None:
        """There is nothing to wait for."""
