"""Case files, and the cases: before you rely on it, every other knob, the same."""

from __future__ import annotations

import math

from minimx_widgets.course.recalling.question import choice, number


def _updates(weights: float) -> float:
    from minimx_widgets.course.cases.trying import updates

    return float(updates(weights))


QUESTIONS = (
    number(
        "rely/bytes",
        "A batch of {rows} rows with {columns} float32 numbers passes one layer on the "
        "wrong device, which has as many outputs. How many KiB cross in a step of "
        "training?",
        lambda rows, columns: 4 * rows * columns * 4 / 1024,
        "KiB",
        by="the record",
        numbers={"rows": (64, 48, 96), "columns": (512, 1024)},
        wrong={
            lambda rows, columns: rows * columns * 4 / 1024: "That is one of four: "
            "there and back, forward and backward.",
            lambda rows, columns: 2 * rows * columns * 4 / 1024: "That is the forward "
            "pass. The gradient crosses twice as well.",
        },
        within=0.01,
        about=["rely/crossing"],
    ),
    choice(
        "rely/momentum",
        "A restart from <code>load_parameters</code> has the right first loss, and "
        "then learns more slowly for a while. What is missing?",
        "The trainer's states: the momentum begins at zero.",
        {
            "A part of the weights.": "Then the first loss would be another one.",
            "The order of the batches.": "Another order changes losses a little, and "
            "does not make them slower.",
        },
        why="<code>trainer.load_states</code> brings them back. The first loss only "
        "reads weights.",
        about=["rely/restart"],
    ),
    choice(
        "rely/double",
        "A colleague doubles the batch and reports twice as many images per second. "
        "What do you ask?",
        "The accuracy after the same number of images.",
        {
            "The time of a step.": "That is what was reported, in another unit.",
            "How much memory it takes.": "It fits, or there would be no report. What "
            "was learnt?",
        },
        why="There were half as many steps; with the same learning rate the network "
        "may have learnt less.",
        about=["rely/steps"],
    ),
    number(
        "every/groups",
        "A network has {weights} weights, and an operation updates up to 4 of them. "
        "How many operations update all?",
        _updates,
        "operations",
        by="the engine",
        numbers={"weights": (30, 17, 41)},
        wrong={
            lambda weights: weights: "One for each: so it is with the knob at 1.",
            lambda weights: math.floor(weights / 4): "The last group may have fewer "
            "than four: round up.",
        },
        about=["every/updates"],
    ),
    choice(
        "every/page",
        "A colleague sets <code>MXNET_CPU_MEM_POOL_PAGESIZE=64</code> for MXNet 2.0 "
        "and measures no difference. What do you look at first?",
        "How the code spells the name.",
        {
            "Whether the pool rounds at all.": "It does. But the variable has not been "
            "read: its code has another name for it.",
            "Whether requests are larger than 64 bytes.": "They are. But the variable "
            "has not been read.",
        },
        why="The code asks for <code>MXNET_CPU_POOL_PAGE_SIZE</code>; the document has "
        "another name.",
        about=["every/block", "every/cutoff"],
    ),
    choice(
        "every/seed",
        "The same seed gives other random numbers on a second machine, with the same "
        "version. Which variable do you compare first?",
        "The one for the number of random generators.",
        {
            "The one for the number of workers.": "Workers decide when an operation "
            "runs, not which generator it draws from.",
            "The one for the threads of a kernel.": "Threads share the work of a "
            "kernel. The number of generators decides who draws what.",
        },
        why="Samplers take the generators in turn. <code>MXNET_CPU_PARALLEL_RAND_COPY"
        "</code> and <code>MXNET_GPU_PARALLEL_RAND_COPY</code> say how many there are.",
    ),
    choice(
        "every/tree",
        "When is <code>MXNET_KVSTORE_USETREE=1</code> no help?",
        "With a store that is not <code>device</code>.",
        {
            "With more than four GPUs.": "Then it helps most: one GPU would receive "
            "from all others.",
            "With large gradients.": "With these a link is what the step waits for.",
        },
        about=["every/busiest"],
    ),
    choice(
        "same/apart",
        "Two runs begin with the same weights and agree to six digits in the first "
        "loss. After an epoch their accuracies are 19 points apart. Is one of them "
        "wrong?",
        "It need not be: each step multiplies the difference.",
        {
            "Yes: rounding is not that large.": "It is small at first. A deep network "
            "with a large learning rate makes much of it.",
            "Yes: the first loss should agree in all digits.": "Sums in another order "
            "differ in the last digits.",
        },
        why="Look at the first losses, which must agree, and at the means of several "
        "seeds at the end.",
        about=["same/one-epoch", "same/three-epochs"],
    ),
    choice(
        "same/rate",
        "Two programs differ by 3 % in the learning rate. Where do you see it?",
        "In the first losses, from the second step on.",
        {
            "In the last scores.": "Many rates end near the same score.",
            "In the loss of the very first step.": "It is computed before any update.",
        },
    ),
    choice(
        "same/alone",
        "You cannot run the other library. How do you find out how much of a "
        "difference is nothing at all?",
        "Change a bit or a seed, and run your own program again.",
        {
            "Train longer, until both agree.": "Without the other library there is "
            "nothing to agree with.",
            "Compute in float64.": "That shows what rounding does in one run, not how "
            "far runs go apart.",
        },
        why="What that changes is the measure for all other differences.",
        about=["same/lstm"],
    ),
    number(
        "15/late",
        "A program reads its losses after every {every} steps, steps are counted from "
        "0, and an operation fails in step {at}. In which step does the program stop?",
        lambda at, every: (at // every + 1) * every - 1,
        by="the rule",
        numbers={"at": (10, 13, 16), "every": (6, 4, 7)},
        wrong={
            lambda at, every: at: "That is where the operation failed. The program "
            "hears of it when it reads a result.",
            lambda at, every: (at // every + 1) * every: "The losses are read at the "
            "end of that step, not in the next one.",
        },
        about=["15/heard"],
    ),
    number(
        "15/again",
        "A job has {steps} steps. It is stopped after {saved} of them, and goes on "
        "from a checkpoint of the weights, without the momentum. How many of its "
        "losses are those of a job that never stopped?",
        lambda steps, saved: saved + 1,
        "losses",
        by="the rule",
        numbers={"saved": (11, 17, 22), "steps": (40, 60)},
        wrong={
            lambda steps, saved: saved: "The first loss after the restart is computed "
            "from weights alone, and these came back.",
            lambda steps, saved: steps: "The next update needs the momentum.",
        },
        about=["15/kept"],
    ),
    choice(
        "15/decides",
        "Three causes are left. Which probe do you pay for?",
        "One for which each of the causes predicts another number.",
        {
            "The one that shows most at once.": "What it shows may be the same for all "
            "three causes.",
            "The one that fits the cause that you believe in.": "If the other causes "
            "fit as well, it decides nothing.",
        },
        why="Write the three numbers down before the probe runs.",
    ),
    choice(
        "15/nodes",
        "Two nodes end with different weights. The difference was there before the "
        "first step, and hardly changes. Is the sum of the gradients missing?",
        "No: then the difference would begin at zero and grow.",
        {
            "Yes: without a sum the nodes train alone.": "They would, from equal "
            "weights, and the difference would grow with every step.",
            "It cannot be said without another probe.": "Both causes predict something "
            "for the first row, and not the same.",
        },
    ),
    choice(
        "15/cured",
        "A colleague changes three settings at once, and the job is healthy. What is "
        "known about its cause?",
        "That one of the three, or several together, cure it.",
        {
            "That all three were wrong.": "Two of them may have changed nothing.",
            "Nothing at all.": "Something among the three helps: take them back one at "
            "a time.",
        },
        why="A remedy is an experiment as well, and one that changes three things "
        "cannot be read.",
    ),
)
