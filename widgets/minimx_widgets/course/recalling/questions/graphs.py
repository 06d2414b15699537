"""Notebooks 04 to 07: the tape, graphs, plans of memory and who shares it."""

from __future__ import annotations

import math
from itertools import pairwise

from minimx_widgets.course.recalling.question import choice, number


def _kept(batch: float) -> float:
    from minimx_widgets.course.taping import bytes_kept

    return float(bytes_kept(images=int(batch)))


def _doubled(lines: float) -> float:
    from minimx import autograd, nd

    x = nd.ones((1,))
    x.attach_grad()
    with autograd.record():
        y = x
        for _ in range(int(lines)):
            y = y + y
    y.backward()
    return float(x.grad.asscalar())


def _pieces(operators: float, limit: float) -> float:
    from minimx_widgets.course.cases.trying import pushes_forward

    return float(pushes_forward(operators, limit))


def _split(before: float, after: float) -> float:
    return math.ceil(before / 16) + 1 + math.ceil(after / 16)


def _neighbours(first: float) -> float:
    sizes = (first, first, first / 2, first / 2, first / 4)
    return max(one + other for one, other in pairwise(sizes))


QUESTIONS = (
    number(
        "04/kept-again",
        "A network with 784 inputs, 256 hidden numbers (relu) and 10 outputs reads a "
        "batch of {batch} images in float32, inside <code>record()</code>. How many "
        "bytes does the tape keep that only the tape holds?",
        _kept,
        "B",
        by="the pool",
        numbers={"batch": (16, 48, 96)},
        wrong={
            lambda batch: batch * 256 * 4: "The loss keeps something, too: the ten "
            "probabilities of each image.",
            lambda batch: batch * (784 + 256 + 10) * 4: "The images belong to the "
            "caller, who keeps them in any case.",
        },
        within=0.01,
        about=["04/kept", "04/frozen"],
    ),
    number(
        "04/doubled",
        "<code>x = x + x</code> stands {lines} times, one below the other, inside "
        "<code>record()</code>. What is the gradient of the first x?",
        _doubled,
        by="the tape",
        numbers={"lines": (5, 6, 8)},
        wrong={
            lambda lines: 2 * lines: "Each line doubles what the line before has "
            "doubled.",
            2: "That is one line.",
            lambda lines: 2.0 ** (lines * (lines + 1) / 2): "A rule is applied once, "
            "when all gradients of its result have arrived.",
        },
        about=["04/depth-first"],
    ),
    choice(
        "04/evaluate",
        "You evaluate a network inside <code>record()</code> and never call "
        "<code>backward()</code>. Until when does the tape keep what backward would "
        "need?",
        "Until the last array that leads to it is gone, here the loss.",
        {
            "Until the end of the block.": "The block only ends the recording. The "
            "loss still leads to all that was recorded.",
            "Nothing is kept without <code>backward()</code>.": "Whether it will be "
            "called cannot be known while the network runs.",
        },
        why="Outside of <code>record()</code> nothing is kept.",
    ),
    choice(
        "04/total",
        "<code>total = total + loss</code> stands inside <code>record()</code>, in a "
        "loop over batches. What is on the tape after 100 batches?",
        "All 100 batches.",
        {
            "The last batch.": "total leads to the last sum, this one to the sum "
            "before it, and so on.",
            "One hundred numbers.": "Each loss leads to everything that its network "
            "has kept.",
        },
        why="Add <code>loss.detach()</code>, or add outside of <code>record()</code>.",
    ),
    choice(
        "04/constant",
        "A layer without parameters multiplies by a constant. Must its input be kept "
        "for backward?",
        "No: its slope is the constant.",
        {
            "Yes, every rule reads its input.": "A rule reads what its slope needs. "
            "Here that is the constant alone.",
            "Yes, if the input is large.": "The size does not decide what a rule reads."
            "",
        },
        why="What must be kept depends on the rule.",
    ),
    number(
        "05/pieces",
        "A graph is a chain of {operators} operators. In training at most {limit} are "
        "joined into one piece. How many pieces does the engine get in a forward pass?",
        _pieces,
        "pieces",
        by="the engine",
        numbers={"operators": (40, 52, 70), "limit": (12, 15)},
        wrong={
            lambda operators, limit: operators: "That is without joining.",
            lambda operators, limit: operators // limit: "The operators that are left "
            "over are a piece as well: round up.",
        },
        about=["05/pushes-in-training", "05/pushes-of-a-prediction"],
    ),
    number(
        "05/elsewhere",
        "Pieces have at most 16 operators. One operator of a chain is on another "
        "device: {before} stand before it, {after} after it. How many pieces "
        "are there?",
        _split,
        "pieces",
        by="the rule",
        numbers={"before": (20, 15, 34), "after": (11, 17, 33)},
        wrong={
            lambda before, after: math.ceil((before + 1 + after) / 16): "The operator "
            "that is elsewhere is a piece of its own, and ends the piece before it.",
            lambda before, after: math.ceil(before / 16) + math.ceil(after / 16): "The "
            "operator that is elsewhere is pushed as well.",
        },
        about=["05/fastest-limit"],
    ),
    choice(
        "05/if",
        "A block in MXNet 1's style holds <code>if self.step &gt; 1000:</code>, and "
        "the training loop counts <code>net.step</code> up. What happens after "
        "hybridizing?",
        "The branch of the first call is taken for ever.",
        {
            "An error says that a graph has no <code>if</code>.": "The question is "
            "about a Python number and has an answer while the graph is written.",
            "The graph is written again at step 1001.": "A graph is written for shapes "
            "and types. A Python attribute is not among them.",
        },
        why="Give the number as an input and choose with <code>F.where</code>, or call "
        "<code>hybridize()</code> again at step 1000.",
        about=["05/python-runs"],
    ),
    choice(
        "05/machines",
        "A colleague trains on two machines and raises "
        "<code>MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN</code> to 1000. Each step gets "
        "slower. Why?",
        "The first gradient is ready only when the whole backward pass is.",
        {
            "Large pieces take longer to push.": "One push takes the same time for "
            "any piece. Fewer pushes are less work.",
            "The gradients of large pieces are larger.": "Gradients have the size of "
            "the weights.",
        },
        why="So sending cannot overlap with computing. Keep the large limit for the "
        "forward pass, <code>…_MAX_NODE_TRAIN_FWD</code>, and a small one for "
        "<code>…_BWD</code>.",
    ),
    number(
        "06/neighbours",
        "The layers of a chain have results of {first}, {first}, a half, a half and a "
        "quarter of that, in KiB. A result is given back after its last reader; "
        "nothing is written over. How many KiB are needed at the worst moment?",
        _neighbours,
        "KiB",
        by="the plan",
        numbers={"first": (96, 40, 160)},
        wrong={
            lambda first: first: "While the second layer runs, it reads the first "
            "result and writes its own.",
            lambda first: 3.25 * first: "That is all of them. Older results have been "
            "read for the last time.",
        },
        about=["06/apart", "06/at-once", "06/in-place"],
    ),
    choice(
        "06/mean",
        "At the end of a network you add a line that takes the mean of the input of "
        "its first <code>relu</code>: one number. The plan grows by the size of a "
        "layer. Why?",
        "That input now has a reader at the end, so it stays and cannot be written "
        "over.",
        {
            "A mean needs a copy of its input.": "It reads its input where it is. But "
            "the input has to be there until then.",
            "Every operator adds a block of the largest size.": "The result is one "
            "number. What stays alive has changed.",
        },
        about=["06/in-place"],
    ),
    choice(
        "06/sin",
        "A colleague replaces <code>tanh</code> by <code>sin</code> in every layer. To "
        "predict, the plan is as small as before; to train, it is larger. Why?",
        "The derivative of sin reads the input, that of tanh the output.",
        {
            "sin cannot be computed in place.": "To predict it is: the plan is as "
            "small as before.",
            "sin needs scratch memory in its backward pass.": "It computes number by "
            "number. What counts is which array has to stay.",
        },
        why="The derivative of tanh is 1 − y² and that of sin is cos x. So x cannot be "
        "written over.",
    ),
    choice(
        "06/alive",
        "You turn a knob for memory, and the planned total does not change by a byte. "
        "Another knob may have done its work already. How do you find out?",
        "Turn the other one off, and then turn this one.",
        {
            "Turn this one twice.": "Then the other one does its work twice. It has to "
            "be off.",
            "Take a larger network.": "In it the other knob does more work, too.",
        },
        why="A knob that is alive moves at least one of the four totals with both, "
        "either and none of them on.",
    ),
    number(
        "07/smallest",
        "A free block has {block} KiB, and the match range is {reach}. How many KiB "
        "has the smallest result that may be put into it?",
        lambda block, reach: block / reach,
        "KiB",
        by="the planner's rule",
        numbers={"block": (256, 512, 768), "reach": (16, 8, 4)},
        wrong={
            lambda block, reach: block: "That would be range 1. A block may be "
            "larger than the result, as many times as the range says.",
            lambda block, reach: block * reach: "That is larger than the block. The "
            "range says how much too large a block may be.",
        },
        about=["07/shrinking", "07/shrinking-default", "07/growing"],
    ),
    choice(
        "07/range",
        "A colleague sets <code>NNVM_EXEC_MATCH_RANGE=1024</code>, “so that everything "
        "fits”. What may happen?",
        "Small results take large blocks, and the plan grows.",
        {
            "The plan is as small as it can be.": "Everything fits, also one number "
            "into a block of a thousand. The next large result needs a new one.",
            "The planner needs much more time.": "It looks through the same list of "
            "free blocks.",
        },
        why="Let the planner search (<code>NNVM_AUTO_SEARCH_MATCH_RANGE</code>) and "
        "look at the total.",
        about=["07/growing"],
    ),
    number(
        "07/grows",
        "The largest free block has {block} KiB, and a result needs {wanted} KiB. The "
        "match range is 4. How many KiB more does the plan need then?",
        lambda block, wanted: wanted - block,
        "KiB",
        by="the planner's rule",
        numbers={"block": (24, 28, 36), "wanted": (64, 80, 90)},
        wrong={
            lambda block, wanted: wanted: "That is a new block. This one is too small "
            "by less than the range, so it grows.",
            lambda block, wanted: block: "That is the block itself, which the plan has "
            "already. Only the difference is new.",
        },
        about=["07/growing"],
    ),
    choice(
        "colours/two-causes",
        "Two operations have no result in common, and still one waits for the other. "
        "How can that be?",
        "Their results lie in the same block of memory.",
        {
            "The engine runs all operations in the order of the program.": "It runs "
            "what is ready. Only variables in common make an operation wait.",
            "One of them has the lower priority.": "A priority decides who is first "
            "when both are ready; with a free worker both run.",
        },
        why="The timeline shows arrows between them that no result explains. Colours "
        "help, at the price of memory.",
        about=["colours/four-branches"],
    ),
    choice(
        "colours/operators",
        "Five branches, four colours, and the two most expensive branches run one "
        "after the other. How can that be?",
        "A colour is a path with many operators, however small they are.",
        {
            "A colour can only be used by one worker.": "A worker takes any operation "
            "that is ready.",
            "The planner gives the expensive branches one colour to save memory.": "It "
            "does not know what an operator costs; it counts them.",
        },
        why="The last colour takes what is left: here both expensive branches, which "
        "have few operators.",
        about=["colours/four-branches"],
    ),
    number(
        "colours/price",
        "{branches} equal branches need {kib} KiB each, and two colours are allowed. "
        "How many KiB do the branches need?",
        lambda branches, kib: 2 * kib,
        "KiB",
        by="the planner's rule",
        numbers={"branches": (5, 4, 6), "kib": (300, 200, 150)},
        wrong={
            lambda branches, kib: branches * kib: "That is a colour for each branch. "
            "All branches without a colour of their own share the last one.",
            lambda branches, kib: kib: "That is one colour, in which all branches "
            "share their blocks.",
        },
        about=["colours/memory"],
    ),
)
