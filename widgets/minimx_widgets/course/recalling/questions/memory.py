"""Notebooks 08 and 09: pools, and memory that is bought with time."""

from __future__ import annotations

from minimx.core.storage.policy import naive, round_power2
from minimx_widgets.course.recalling.question import choice, number

MIB = 1 << 20


def _round(size: float) -> float:
    return round_power2().rounding(int(size * MIB)) / MIB


def _slabs(size: float) -> float:
    return naive().rounding(int(size * MIB)) / MIB


def _all_lengths(most: float) -> float:
    from minimx_widgets.course.own_policies.serving import served

    sizes = [10 * MIB * k for k in range(1, int(most) + 1)]
    rows = served("Naive", [*sizes, *sizes[::-1], *sizes])
    new = [row for row in rows if row[3] == "the device"]
    return sum(int(row[2].replace(",", "")) for row in new) / MIB


def _again(layers: float, segments: float) -> float:
    from minimx_widgets.course.mirroring import segmented

    return float(segmented(int(layers), int(segments)).again)


QUESTIONS = (
    number(
        "08/cutoff-again",
        "A request of {size} MiB in the <b>Round</b> pool, whose cutoff is 24. How "
        "large is the block?",
        _round,
        "MiB",
        by="the pool",
        numbers={"size": (19, 35, 50, 70)},
        wrong={
            lambda size: size: "That is the request itself. The pool rounds up.",
            _slabs: "That is Naive's rule, slabs of 2 MiB. Above its cutoff, Round "
            "steps by 16 MiB.",
        },
        about=["08/round"],
    ),
    number(
        "08/lengths",
        "Requests of 10, 20, 30 and so on up to {most} times 10 MiB come one at a "
        "time, again and again, in any order. How many MiB does the <b>Naive</b> pool "
        "hold in the end?",
        _all_lengths,
        "MiB",
        by="the pool",
        numbers={"most": (6, 5, 8)},
        wrong={
            lambda most: 10 * most: "That is the largest request. A block of it serves "
            "no other size.",
            lambda most: 10 * most * (most + 1) / 4: "That is half of them. A block "
            "serves only requests of its own size.",
        },
        about=["08/naive-holds", "08/round-calls"],
    ),
    choice(
        "08/reserves",
        "A training run reserves 9 GB, needs 3 GB at its peak, and never fails. When "
        "does the difference cost something?",
        "When another program wants the memory, and when flushes begin.",
        {
            "At every step: idle blocks have to be searched.": "A block is found by "
            "its size at once, however many there are.",
            "Never: idle blocks are free for all programs.": "They belong to the pool "
            "of this program until it gives them back.",
        },
        why="After a flush the driver has to be asked again, which is slow.",
        about=["08/naive-holds"],
    ),
    choice(
        "08/classes",
        "One pool has 5 sizes of blocks, another 500. Which one probably wastes more "
        "<i>inside</i> its blocks?",
        "The one with 5 sizes.",
        {
            "The one with 500 sizes.": "Many sizes mean little rounding. They waste "
            "between blocks: an idle one rarely fits.",
            "Both the same: the requests decide.": "The same request is rounded up "
            "further where there are few sizes.",
        },
        about=["08/round"],
    ),
    choice(
        "08/pieces",
        "An error says that 60 MiB of a GPU are free, and 14 MiB are refused. What do "
        "you look for first?",
        "Small blocks that stay in use, with the free memory between them.",
        {
            "A leak: arrays that are not freed any more.": "A leak takes memory. Here "
            "60 MiB are free.",
            "A reserve that is set too large.": "That is a small share of all. It does "
            "not hold back 46 MiB of 60.",
        },
        why="The message names the largest free piece and the largest owners, and the "
        "address map shows where they are.",
    ),
    number(
        "09/slots-again",
        "A chain of 100 equal layers in {segments} equal segments. At its peak a "
        "training step holds how many slots: borders, one segment and the gradient?",
        lambda segments: 100 / segments + segments,
        "slots",
        by="the plan",
        numbers={"segments": (10, 5, 20)},
        wrong={
            lambda segments: 100 / segments: "That is the inside of one segment. What "
            "crosses the borders is kept as well.",
            100: "That is with everything kept.",
        },
        within=0.06,
        about=["09/slots"],
    ),
    number(
        "09/again",
        "A chain of {layers} layers in {segments} segments. Borders are kept, and the "
        "last segment is still there. How many layers run again at most?",
        _again,
        "layers",
        by="the planner",
        numbers={"layers": (120, 60), "segments": (10, 6, 5)},
        wrong={
            lambda layers, segments: layers: "The borders are kept, and so is the "
            "inside of the last segment.",
            lambda layers, segments: layers - segments: "The last segment need not run "
            "again.",
        },
        within=0.04,
        about=["09/speed-of-segments"],
    ),
    choice(
        "09/tanh",
        "A network is a chain of products, each followed by tanh. The mirror switch "
        "moves neither memory nor time much. Why?",
        "Backward reads the output of tanh, and to compute it again something as large "
        "has to be kept.",
        {
            "tanh is too expensive to run twice.": "It is cheap. But its input would "
            "have to be kept, which is as large.",
            "The switch is broken.": "On a chain with cheap operators whose inputs "
            "stay anyway it moves both.",
        },
        why="Products themselves are too much work for that rule. Segments help here: "
        "<code>MINIMX_MIRROR=best</code>.",
        about=["09/speed-of-remap"],
    ),
    choice(
        "09/dropout",
        "Dropout is never computed again, whatever a plan says. Why?",
        "It would draw another mask.",
        {
            "It is too expensive.": "Drawing numbers is cheap beside a product.",
            "Its result is not read by backward.": "It is: what was dropped gets no "
            "gradient.",
        },
        why="The gradient would belong to a network that was never run. Only what "
        "gives the same bits a second time may be computed a second time.",
    ),
)
