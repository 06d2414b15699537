"""Messages between workers and servers: numbered, repeated when lost, by urgency."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from minimx.core.knobs import knobs
from minimx.kvstore.dist.servers.post import Frame, Loopback, Post
from minimx.kvstore.dist.servers.reliable import Outbox, Reliable


class Lossy:
    """A wire to another process: it loses, repeats and reorders what it carries."""

    def __init__(self, me: int, draws: random.Random, percent: int) -> None:
        self._me, self._draws, self._percent = me, draws, percent
        self._came: deque[tuple[int, Frame]] = deque()
        self.other: Lossy

    def send(self, to: int, frame: Frame) -> None:
        for _ in range(2):  # twice, if neither is lost
            if self._draws.random() * 100 >= self._percent:
                self.other._came.append((self._me, frame))

    def room(self, to: int) -> bool:
        return self._draws.random() < 0.7

    def received(self) -> Iterator[tuple[int, Frame]]:
        frames = list(self._came)
        self._came.clear()
        self._draws.shuffle(frames)
        yield from frames


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 80), st.integers(0, 12))
def test_every_message_comes_once_however_many_are_lost(
    seed: int, percent: int, count: int
) -> None:
    draws, now = random.Random(seed), 0
    wires = [Lossy(me, draws, percent) for me in (0, 1)]
    wires[0].other, wires[1].other = wires[1], wires[0]
    posts = [Post(wire, clock=lambda: now) for wire in wires]
    came: list[list[int]] = [[], []]
    with knobs(PS_RESEND=1, PS_RESEND_TIMEOUT=2000):
        for number in range(count):
            for me in (0, 1):
                posts[me].send(1 - me, {"of": number}, priority=number % 3)
        while any(post.busy for post in posts):
            now += 1
            assert now < 2000
            for me in (0, 1):
                came[me] += [frame.header["of"] for _, frame in posts[me].step()]
    assert [sorted(one) for one in came] == [list(range(count))] * 2


@given(st.lists(st.integers(0, 30), max_size=60))
def test_a_number_is_fresh_once(numbers: list[int]) -> None:
    link = Reliable[str]()
    fresh = [number for number in numbers if link.fresh(4, number)]
    assert fresh == list(dict.fromkeys(numbers))
    assert link.fresh(5, 0)  # senders have numbers of their own


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-3, 3)), max_size=40))
def test_the_most_urgent_goes_first_and_equals_in_order(
    items: list[tuple[int, int]],
) -> None:
    box = Outbox[int]()
    for place, (to, priority) in enumerate(items):
        box.put(to, place, priority)
    taken = []
    while (found := box.take(lambda to: to != 2)) is not None:
        taken.append(found[1])
    wanted = [place for place, (to, _) in enumerate(items) if to != 2]
    assert taken == sorted(wanted, key=lambda place: -items[place][1])
    assert len(box) == len(items) - len(taken)


def test_a_payload_comes_as_it_was_sent_and_lines_say_so() -> None:
    lines: list[str] = []
    post = Post(Loopback(), log=lines.append)
    with knobs(PS_VERBOSE=2):
        post.send(0, {"do": "push"}, np.arange(5, dtype=np.uint8))
        assert post.step() == []
        ((source, frame),) = post.step()
    assert (source, frame.header["do"]) == (0, "push")
    assert frame.payload is not None
    assert frame.payload.tolist() == [0, 1, 2, 3, 4]
    kinds = [line.split("{")[0] for line in lines]
    assert kinds == ["[PS] first message to 0", "[PS] to 0 ", "[PS] from 0 "]


def test_a_lost_message_is_counted_and_stays_lost_without_resend() -> None:
    post = Post(Loopback())
    with knobs(PS_DROP_MSG=100):
        post.send(0, {})
        post.step()
        assert post.step() == []
    assert (post.counts.sent, post.counts.lost, post.busy) == (1, 1, False)
