"""Notebooks 13, 14 and 16: data-parallel training, profiling, policies."""

from __future__ import annotations

import math
from collections.abc import Sequence

from minimx_widgets.course.recalling.question import choice, number


class _FirstThatFits:
    """The smallest idle block that is large enough, else exactly what is asked for."""

    def size(self, nbytes: int, idle: Sequence[int]) -> int:
        return min((size for size in idle if size >= nbytes), default=nbytes)


def _up_and_down(up: float, down: float) -> float:
    from minimx_widgets.course.own_policies.serving import driver_calls

    rising = [1000 * k for k in range(1, int(up) + 1)]
    falling = [rising[-1] - 500 * k for k in range(1, int(down) + 1)]
    return float(driver_calls(_FirstThatFits, [*rising, *falling]))


def _pages(count: float) -> float:
    from minimx_widgets.course.own_policies.serving import driver_calls

    return float(driver_calls("Naive", [1500 * k for k in range(1, int(count) + 1)]))


QUESTIONS = (
    number(
        "13/ring",
        "A gradient of {mib} MiB is added up over {gpus} GPUs on a ring. How many MiB "
        "come into each GPU?",
        lambda mib, gpus: 2 * (gpus - 1) / gpus * mib,
        "MiB",
        by="the plan",
        numbers={"mib": (24, 48), "gpus": (16, 4, 64)},
        wrong={
            lambda mib, gpus: (gpus - 1) * mib: "That is one GPU that adds for all. On "
            "a ring a message is a piece of the gradient.",
            lambda mib, gpus: (gpus - 1) / gpus * mib: "That is one way round. Then "
            "the sums have to go round as well.",
        },
        within=0.01,
        about=["13/into-ring", "13/into-device"],
    ),
    number(
        "13/rounds",
        "A sum over a ring of {gpus} devices. In how many rounds does each of them "
        "send a message?",
        lambda gpus: 2 * (gpus - 1),
        "rounds",
        by="the plan",
        numbers={"gpus": (64, 24, 40)},
        wrong={
            lambda gpus: gpus - 1: "That is until each piece is added up somewhere. "
            "Then the sums go round.",
            lambda gpus: gpus: "A piece passes all others, and the sum once more.",
        },
        why="With small gradients the latency of so many messages is all there is.",
        about=["13/into-ring"],
    ),
    number(
        "13/links",
        "A step takes 100 ms, of which {waiting} are waiting for bytes; nothing is "
        "hidden. Links become {factor} times as fast. How long is a step?",
        lambda waiting, factor: 100 - waiting + waiting / factor,
        "ms",
        by="the sum",
        numbers={"waiting": (60, 30, 45), "factor": (2, 3)},
        wrong={
            lambda waiting, factor: 100 / factor: "Only the waiting gets shorter.",
            lambda waiting, factor: 100 - waiting: "Then the links would take no time "
            "at all.",
        },
        within=0.01,
        why="With latency it is more. With hidden communication it may be less, "
        "because that gets shorter as well.",
        about=["13/step", "13/idle"],
    ),
    choice(
        "13/apart",
        "Two ranks end with different weights, although gradients are added. The "
        "difference is as large at the first step as at the last. What is likely?",
        "They began with different weights.",
        {
            "One of them has another optimizer.": "Then the difference would grow from "
            "step to step.",
            "One of them skips updates.": "Then it would be zero at first.",
        },
        why="Compare the weights before the first step.",
    ),
    number(
        "14/quicker",
        "A step takes 10 ms. The data part takes {data} ms of it, and you make that "
        "part {times} times as fast. How long is the step then?",
        lambda data, times: 10 - data + data / times,
        "ms",
        by="the sum",
        numbers={"data": (3, 6, 7), "times": (4, 10)},
        wrong={
            lambda data, times: 10 - data: "A part of it stays.",
            lambda data, times: 10 / times: "Only the data part becomes faster.",
        },
        within=0.01,
        about=["14/product", "14/chain"],
    ),
    number(
        "14/bits",
        "A trace in profiler mode {mode} has no operator that was called by hand, "
        "which is bit 2. Which mode adds these operators, and nothing else?",
        lambda mode: int(mode) | 2,
        by="the bits",
        numbers={"mode": (9, 8, 5)},
        wrong={
            lambda mode: mode + 1: "That changes bit 1, and in an odd mode the others "
            "as well.",
            2: "Then only these are left.",
        },
        about=["14/mode-1", "14/mode-9"],
    ),
    number(
        "14/entries",
        "A graph of five operators is called {calls} times. Each time {hand} operators "
        "are called by hand as well. How many operators are in a trace in mode 15?",
        lambda calls, hand: calls * (1 + hand),
        "operators",
        by="the trace",
        numbers={"calls": (6, 8, 9), "hand": (3, 4)},
        wrong={
            lambda calls, hand: calls * (5 + hand): "A graph is one entry for each "
            "call: its operators ran as one.",
            lambda calls, hand: calls: "15 has bit 2 as well, so the operators that "
            "are called by hand are there.",
        },
        about=["14/mode-15"],
    ),
    choice(
        "14/leak",
        "A counter of memory ends 4 bytes above where it began. What is it most "
        "likely?",
        "The result, which a variable still holds.",
        {
            "A leak.": "It may be. First let go of what you hold; what is left then is "
            "a leak.",
            "An error of rounding.": "Bytes are whole numbers.",
        },
    ),
    number(
        "16/up-and-down",
        "A pool takes the smallest idle block that is large enough. {up} requests, "
        "each larger than the one before, are followed by {down}, each smaller; each "
        "is freed before the next. How often is the device asked?",
        _up_and_down,
        "times",
        by="the pool",
        numbers={"up": (8, 15, 25), "down": (5, 9)},
        wrong={
            lambda up, down: up + down: "The smaller ones find an idle block that is "
            "large enough.",
            1: "A block of a smaller request does not fit a larger one.",
        },
        about=["16/rising", "16/falling"],
    ),
    number(
        "16/pages",
        "Requests of 1,500, 3,000, 4,500 and so on up to {count} times 1,500 bytes, "
        "each freed before the next. The pool rounds up to pages of 4,096 bytes. How "
        "often is the device asked?",
        _pages,
        "times",
        by="the pool",
        numbers={"count": (10, 16, 25)},
        wrong={
            lambda count: count: "Requests that need the same number of pages share a "
            "block.",
            lambda count: math.floor(count * 1500 / 4096): "The last request needs a "
            "part of another page: round up.",
        },
        about=["16/rising-naive"],
    ),
    choice(
        "16/half",
        "A policy answers with half of the requested bytes. What detects it?",
        "The checks, at the first request.",
        {
            "The operator that writes beyond the end of the block.": "It never runs: "
            "an answer that is too small is refused.",
            "Nothing, until another array is overwritten.": "Every answer is compared "
            "with the request.",
        },
        why="In the running system the pool itself would notice, and the built-in "
        "policy would take over.",
    ),
    choice(
        "16/scores",
        "Your policy scores 1.2 in training and 6 in adversarial traces. For which "
        "program would you use it?",
        "For one whose shapes do not change.",
        {
            "For one that reads images of all sizes.": "Its requests are nearer to the "
            "other traces.",
            "For none: the mean of both counts.": "A program has traces of its own, "
            "and not the mean of all.",
        },
    ),
    choice(
        "16/replay",
        "Why must a policy answer the same for the same state?",
        "A replay of a recorded run would otherwise be another run.",
        {
            "The pool asks it twice for each request.": "It asks once. But recorded "
            "runs are replayed through the same class.",
            "Chance is slower than a rule.": "Not enough to notice. What is lost is "
            "the comparison.",
        },
    ),
)
