"""Notebooks 00 to 03: knobs, the two clocks, variables, workers."""

from __future__ import annotations

import math

from minimx.core.knobs import knobs
from minimx_widgets.course.recalling.question import choice, number

DEPTH = "DMLC_LOG_STACK_TRACE_DEPTH"


def _after_blocks(outside: float, inside: float) -> float:
    """The knob after two blocks, of which the inner one raised."""
    with knobs(**{DEPTH: int(outside)}):
        try:
            with knobs(**{DEPTH: int(inside)}), knobs(**{DEPTH: 2 * int(inside)}):
                raise LookupError
        except LookupError:
            return float(getattr(knobs, DEPTH))


def _independent(products: float, workers: float, ms: float = 4) -> float:
    from minimx_widgets.course.working import Task, run

    tasks = [Task(f"p{k}", int(ms)) for k in range(int(products))]
    return float(run(tasks, workers=int(workers)).ms)


def _queued(count: float, cost: float) -> float:
    """Ms until small operations are done that are pushed to one worker."""
    push, extra = 5, 1
    free = 0.0
    for k in range(1, int(count) + 1):
        free = max(free, push * k) + cost + extra
    return free / 1e3


def _readers(readers: float, cost: float) -> float:
    from minimx_widgets.course.depending import finish
    from minimx_widgets.scheduler.program import Program, op

    us = int(cost)
    first = [op(f"R{k}", reads="w", cost=us) for k in range(int(readers))]
    rest = [op("W", writes="w", cost=us), op("L", reads="w", cost=us)]
    return float(finish(Program.of(*first, *rest), workers=8))


def _five_lines(load: float) -> float:
    from minimx_widgets.course.depending import finish
    from minimx_widgets.scheduler.program import Program, op

    lines = (
        op("A", writes="a", cost=3),
        op("B", writes="b", cost=int(load)),
        op("C", reads="a b", writes="c", cost=2),
        op("D", writes="a", cost=1),
        op("E", reads="a c", writes="e", cost=2),
    )
    return float(finish(Program.of(*lines), workers=2))


def _chain_beside(ms: float) -> float:
    from minimx_widgets.course.working import Task, run

    chain = [Task("a1", int(ms)), Task("a2", int(ms), ("a1",))]
    chain.append(Task("a3", int(ms), ("a2",)))
    beside = [Task(f"b{k}", 2) for k in range(4)]
    return float(run([*chain, *beside], workers=4).ms)


QUESTIONS = (
    choice(
        "00/child",
        'A program runs <code>os.environ["X"] = "1"</code>. Who can see it?',
        "A program that it starts afterwards.",
        {
            "The shell that started it.": "A process gets a copy of the environment of "
            "its parent, and the copy of the parent does not follow.",
            "Every program that is started from now on.": "Only its own children get a "
            "copy of its environment.",
        },
        why="A process gets a copy of its parent's environment when it starts. The "
        "copies do not follow each other.",
    ),
    choice(
        "00/copied",
        'A module runs <code>LIMIT = os.environ["LIMIT"]</code> when it is imported. '
        'Later a program changes <code>os.environ["LIMIT"]</code>. What is '
        "<code>LIMIT</code> now?",
        "The old text.",
        {
            "The new text.": "The line copied a text. It does not run again.",
            "It raises an error when it is read.": "It is a plain name that holds a "
            "text, and nothing watches the environment.",
        },
        why="It was copied when the line ran. Keep this in mind for the next ten "
        "minutes.",
    ),
    choice(
        "00/colleague",
        "A colleague sets <code>MXNET_CPU_WORKER_NTHREADS=4</code> in the middle of a "
        "program that uses MXNet, sees no change, and concludes that her program "
        "cannot run in parallel. What do you ask her first?",
        "Was it set before MXNet was imported?",
        {
            "How many cores has the machine?": "Too few cores would limit the speed. "
            "But the number was never read: MXNet reads it when the library is loaded.",
            "Is 4 a value that it allows?": "It is. But it was not read: MXNet reads "
            "the "
            "variable once, when the library is loaded.",
        },
        why="She has measured a copy that was not renewed. Set it before the import, "
        "and look at an observable: how many lanes are busy.",
        about=["00/mxnet"],
    ),
    number(
        "00/blocks",
        "A knob is {outside}. A block sets it to {inside}, and in it a second block "
        "doubles that and raises an error, which is caught outside of both. What is "
        "the knob then?",
        _after_blocks,
        by="the knob",
        numbers={"outside": (3, 5, 7), "inside": (10, 20, 30)},
        wrong={
            lambda outside, inside: inside: "Both blocks are over, and each has put "
            "back what it had found.",
            lambda outside, inside: 2 * inside: "A block puts the value back however "
            "it ends, also by an error.",
        },
        why="<code>with mx.knobs(…)</code> acts for a block and puts back what was "
        "there before.",
    ),
    choice(
        "00/alive",
        "You turn a knob, and the program behaves as before. How do you find out "
        "whether the knob works?",
        "Find the number that it should move; turn it, look; turn it back, look again.",
        {
            "See whether setting it raises an error.": "A knob that nothing reads "
            "raises none. A knob that is dead and one that is not needed look alike.",
            "Look whether a document names it.": "Documents name variables that the "
            "code spells in another way, or does not read at all.",
        },
        why="That number is its observable. Without one, no test can show that it "
        "works.",
        about=["00/minimx"],
    ),
    choice(
        "01/reading",
        "Training prints the loss of each step with <code>loss.asscalar()</code>. A "
        "profiler says that 95 % of the time goes into that line. Why?",
        "The line waits for the whole step that was queued before it.",
        {
            "Copying a number to Python is slow.": "One number is copied in "
            "microseconds. The line has to wait until there is a number.",
            "The loss is computed a second time.": "It is computed once, by the "
            "engine. The line waits for it.",
        },
        why="Reading the loss one step late lets the next step be queued meanwhile.",
        about=["01/finish-by-issue", "01/naive"],
    ),
    number(
        "01/several-workers",
        "{products} products that do not need each other take 4 ms each. After how "
        "many ms are they done on <b>{workers}</b> workers?",
        _independent,
        "ms",
        by="the virtual clock",
        numbers={"products": (10, 7, 13), "workers": (3, 4)},
        wrong={
            lambda products, workers: 4 * products: "That is the time of one worker.",
            lambda products, workers: 4 * products / workers: "That is the work shared "
            "evenly. In the last round some workers have nothing to do.",
            4: "That needs a worker for each product.",
        },
        about=["01/two-workers"],
    ),
    number(
        "01/small-operations",
        "On the virtual clock a push takes 5 µs, and an operation 1 µs more than it "
        "has to compute. You push {count} independent operations of {cost} µs to one "
        "worker. After about how many ms are they done?",
        _queued,
        "ms",
        by="the virtual clock",
        numbers={"count": (1000, 2000, 3000), "cost": (2, 3, 7)},
        wrong={
            lambda count, cost: count * (cost + 6) / 1e3: "Pushing and computing go on "
            "at the same time. The slower of the two counts.",
            lambda count, cost: count * (5 if cost > 4 else cost + 1) / 1e3: "That is "
            "the quicker of the two. The other one takes longer.",
        },
        within=0.02,
        why="Small operations are bound by the thread that pushes, and more workers "
        "change nothing. Joining operations does: notebook 05.",
    ),
    choice(
        "01/benchmark",
        "Your benchmark says 3 ms. The record says that workers were busy for 30 ms. "
        "What is likely?",
        "The benchmark did not wait for the results.",
        {
            "The benchmark also counted the making of its inputs.": "Then it would say "
            "more than the record, not less.",
            "The record counts every operation ten times.": "It has a row for each "
            "operation. Look at what the stopwatch waited for.",
        },
        why="More than the record means that it counted something else: inputs, "
        "compilation, or work of others that was still under way.",
        about=["01/finish-by-issue"],
    ),
    number(
        "02/readers",
        "{readers} operations read <code>w</code>, then one writes it, then one reads "
        "it. Each takes {cost} µs. There are eight workers. After how many µs are all "
        "of them done?",
        _readers,
        "µs",
        by="the virtual clock",
        numbers={"readers": (8, 6, 5), "cost": (2, 5, 3)},
        wrong={
            lambda readers, cost: (readers + 2) * cost: "Operations that only read a "
            "variable do not wait for each other.",
            lambda readers, cost: 2 * cost: "The write waits for all readers before "
            "it, and the last read waits for the write.",
            lambda readers, cost: cost: "Then all of them would run at once. The write "
            "may not.",
        },
        about=["02/two-workers"],
    ),
    number(
        "02/five-lines",
        "<code>a = …</code> (3 µs), <code>b = …</code> ({load} µs), "
        "<code>c = a + b</code> (2 µs), <code>a[:] = 1</code> (1 µs), "
        "<code>e = a * c</code> (2 µs). After how many µs are <b>two</b> workers done?",
        _five_lines,
        "µs",
        by="the virtual clock",
        numbers={"load": (5, 6, 9)},
        wrong={
            lambda load: load + 8: "That is one worker. The first two lines do not "
            "need each other.",
            lambda load: load + 4: "The fourth line writes a, which the third still "
            "reads. So it has to wait.",
        },
        about=["02/one-worker", "02/program-4"],
    ),
    choice(
        "02/deadlock",
        "Can two operations wait for each other for ever?",
        "No: an operation waits only for what was pushed before it.",
        {
            "Yes, if each writes what the other reads.": "Both stand in the queues of "
            "both variables in the same order, so one of them is first in both.",
            "Yes, if there is only one worker.": "A worker does not wait for an "
            "operation. It takes one that is ready.",
        },
        why="Along any chain of waiting the pushes become older, and the oldest waits "
        "for no other.",
    ),
    choice(
        "02/undeclared",
        "Your program is right with one worker and sometimes wrong with four. What do "
        "you look for?",
        "An operation that touches something which it does not declare.",
        {
            "A wait that is missing at the end of a step.": "A wait would hide the "
            "fault most of the time. The engine would still not know what is read.",
            "A worker that takes operations in the wrong order.": "Any order is right "
            "that obeys what operations declare.",
        },
        why="A NumPy view of an array's memory, a Python object that two functions "
        "share, memory that a library keeps. NaiveEngine does not help to find it: it "
        "runs all in order.",
    ),
    number(
        "03/chain",
        "Three tasks of {ms} ms form a chain. Four tasks of 2 ms need nothing. After "
        "how many ms are <b>four</b> workers done?",
        _chain_beside,
        "ms",
        by="the virtual clock",
        numbers={"ms": (5, 4, 9)},
        wrong={
            lambda ms: (3 * ms + 8) / 4: "That is the work divided by four. A chain "
            "cannot be divided: each of its tasks waits for the one before.",
            lambda ms: 3 * ms + 8: "That is the time of one worker.",
        },
        about=["03/four-workers", "03/two-workers"],
    ),
    number(
        "03/least-workers",
        "A program has {work} ms of work, and its longest chain takes {chain} ms. What "
        "is the least number of workers with which it <i>might</i> be done in {chain} "
        "ms?",
        lambda work, chain: math.ceil(work / chain),
        "workers",
        by="the bound",
        numbers={"work": (90, 65, 140), "chain": (25, 40)},
        wrong={
            lambda work, chain: work // chain: "With so few there is more work than "
            "they can do in that time: round up.",
            1: "One worker needs the time of all the work.",
        },
        why="Whether it is done then depends on the order. With any order that leaves "
        "no worker idle while a task is ready, it takes at most work ÷ workers + "
        "(1 − 1 ÷ workers) · chain (Graham, 1966).",
        about=["03/one-worker"],
    ),
    number(
        "03/threads",
        "{processes} data-loading processes, with <code>OMP_NUM_THREADS</code> unset, "
        "run on a machine with {cores} cores. How many threads are there, if each "
        "process takes one for each core?",
        lambda processes, cores: processes * cores,
        "threads",
        by="the count",
        numbers={"processes": (10, 6, 12), "cores": (16, 24)},
        wrong={
            lambda processes, cores: cores: "A process does not know of the others. "
            "Each makes as many threads as there are cores.",
            lambda processes, cores: processes: "Each process is not one thread, but "
            "as many as there are cores.",
        },
        why="Set the variable so that processes × workers × threads is about the "
        "number of cores.",
        about=["03/oversubscribed"],
    ),
    choice(
        "03/priority",
        "You raise a task's priority, and the program gets slower. How can that be?",
        "Another task now starts later, and a longer path follows it.",
        {
            "The engine has to sort its queue more often.": "That takes microseconds. "
            "The order in which tasks run takes milliseconds.",
            "The task does not wait for what it needs any more.": "It does. A priority "
            "only chooses among tasks that are ready.",
        },
        why="Only the whole program tells which task is urgent.",
    ),
)
