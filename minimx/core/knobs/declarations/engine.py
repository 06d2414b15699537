"""Knobs of the engine: which one, and how many threads of which kind."""

from __future__ import annotations

import os
from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "engine and threads"
MOST_THREADS = 256  # a typing error must not start a million threads

declare = partial(Knob, group=GROUP)


def usable_cores() -> int:
    """The cores this process may run on, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


KNOBS = (
    declare(
        name="MXNET_ENGINE_TYPE",
        sources=("env-vars-0.x.md:33", "env-vars-1.x.md:78", "env-vars-2.0.md:148"),
        type="choice",
        default="ThreadedEnginePerDevice",
        choices=("NaiveEngine", "ThreadedEngine", "ThreadedEnginePerDevice"),
        scope="restart",
        status="live",
        meaning=(
            "The engine that runs operations. NaiveEngine runs each one inside the "
            "call that asks for it: nothing overlaps, and an error shows up at its own "
            "line. ThreadedEngine puts everything into one queue for a common pool of "
            "workers. ThreadedEnginePerDevice gives every device workers and copy "
            "lanes of its own and honours priorities. Results are the same in all "
            "three. With workers, too, brief work on a CPU (less than 16 MFLOP and 2 "
            "MB) runs inside the call while all of them are idle and no record is on, "
            "as waking one takes longer. Here the engine changes while the program "
            "runs: the old one finishes its work, the new one takes over, and an empty "
            "text means the default. MXNet chooses once per process and stops at an "
            "empty text, although its page advises one. `mx.engine.register` adds a "
            "choice: a class that picks the next of the ready operations."
        ),
        observable=(
            "`mx.engine.engine_type()`, and the lanes of the engine timeline: the "
            "caller's own under NaiveEngine, worker lanes otherwise."
        ),
    ),
    declare(
        name="MXNET_CPU_WORKER_NTHREADS",
        sources=("env-vars-0.x.md:12", "env-vars-1.x.md:21", "env-vars-2.0.md:56"),
        type="int",
        default=1,
        low=1,
        high=MOST_THREADS,
        scope="restart",
        status="live",
        meaning=(
            "How many operations may run on a CPU device at the same time. Each worker "
            "calls kernels that are parallel themselves (`OMP_NUM_THREADS`), so more "
            "workers help when there are many small independent operations, and "
            "compete for cores otherwise. MXNet reads it when its library is loaded; "
            "here the workers are exchanged at once."
        ),
        observable="The number of `cpu(0)/…` lanes in the engine timeline.",
    ),
    declare(
        name="MXNET_CPU_PRIORITY_NTHREADS",
        sources=("env-vars-0.x.md:14", "env-vars-1.x.md:24", "env-vars-2.0.md:59"),
        type="int",
        default=4,
        low=1,
        high=MOST_THREADS,
        scope="restart",
        status="live",
        meaning=(
            "How many threads serve urgent CPU operations. These have a queue of their "
            "own, highest priority first, so that summing gradients does not wait "
            "behind ordinary work. What a kvstore sums and copies is urgent; "
            "Trainer and Module give a parameter the priority of its number, negative, "
            "so that the layers needed first come first. Only ThreadedEnginePerDevice "
            "has such a queue."
        ),
        observable=(
            "The number of `cpu priority/…` lanes in the engine timeline, and the "
            "column `priority` of a record's operations."
        ),
    ),
    declare(
        name="MXNET_GPU_WORKER_NTHREADS",
        sources=("env-vars-0.x.md:8", "env-vars-1.x.md:15", "env-vars-2.0.md:50"),
        type="int",
        default=2,
        low=1,
        high=MOST_THREADS,
        scope="restart",
        status="live",
        meaning=(
            "How many operations may run on each GPU at the same time. Every worker "
            "has a stream of its own. Two let independent kernels overlap at the price "
            "of more live memory; one keeps memory lowest. Until MXNet 0.8 the smaller "
            "of this and `MXNET_EXEC_NUM_TEMP` also bounded the number of workspaces."
        ),
        observable="The number of `gpu(0)/…` lanes in the engine timeline.",
    ),
    declare(
        name="MXNET_GPU_COPY_NTHREADS",
        sources=("env-vars-0.x.md:10", "env-vars-1.x.md:18", "env-vars-2.0.md:53"),
        type="int",
        default=2,
        low=1,
        high=MOST_THREADS,
        scope="restart",
        status="live",
        defaults_by_document={"0.x": "1", "1.x": "2", "2.0": "2"},
        meaning=(
            "How many copies between host and GPU may run at the same time, per GPU. "
            "Copies have lanes of their own, so that moving the next batch overlaps "
            "with computing on this one."
        ),
        observable="The number of `gpu(0) copy/…` lanes in the engine timeline.",
    ),
    declare(
        name="OMP_NUM_THREADS",
        sources=("env-vars-1.x.md:23", "env-vars-2.0.md:58", "performance-tips.md:59"),
        type="int",
        first=True,
        default=usable_cores(),
        default_words="all usable cores",
        low=1,
        high=1024,
        status="live",
        meaning=(
            "How many threads one kernel uses for one large operation. Unset, kernels "
            "use every core this process may run on, and so do matrix products. "
            "MXNet takes half the logical cores when it is unset, because two "
            "hyper-threads share one arithmetic unit, and the performance page gives "
            "the same advice. The number counts per engine worker: two workers with "
            "eight threads each ask for sixteen cores. Of a list such as `8,2`, one "
            "number a level of nesting, the first counts: kernels do not nest."
        ),
        observable=(
            "`minimx.core.kernels.threads` has the thread count that a large kernel "
            "ran with."
        ),
    ),
    declare(
        name="MXNET_GPU_WORKER_NSTREAMS",
        sources=("env-vars-1.x.md:195", "env-vars-2.0.md:300"),
        type="int",
        default=1,
        low=1,
        scope="bind",
        status="live",
        meaning=(
            "Streams that a single operator may use on a GPU. With two, the backward "
            "pass of a convolution computes its data gradient and its weight gradient "
            "side by side, which is a little faster and needs both workspaces at once. "
            "Every larger number means two, as in MXNet. It acts in graphs; gradients "
            "that are computed call by call are operations of their own, which overlap "
            "on two workers (`MXNET_GPU_WORKER_NTHREADS`) in any case. On a CUDA "
            "device the second stream is CUDA's; on a simulated GPU the time saved is "
            "that of the virtual clock."
        ),
        observable="Duration and peak workspace of a convolution's backward pass.",
    ),
    declare(
        name="MXNET_CPU_NNPACK_NTHREADS",
        sources=("env-vars-1.x.md:27",),
        type="int",
        default=4,
        low=1,
        high=MOST_THREADS,
        status="live",
        meaning=(
            "Threads of NNPACK, a library of Winograd and FFT convolutions that MXNet "
            "0.10 to 1.9 could be built with. Here it bounds the threads of the "
            "Winograd and FFT algorithms, which have no more than OMP_NUM_THREADS in "
            "any case. Results are the same to the bit."
        ),
        observable="Time of a Winograd convolution against the number of threads.",
    ),
    declare(
        name="MXNET_MP_WORKER_NTHREADS",
        sources=("env-vars-1.x.md:30", "env-vars-2.0.md:62"),
        type="int",
        default=1,
        low=1,
        high=MOST_THREADS,
        scope="create",
        made="a DataLoader",
        status="live",
        meaning=(
            "CPU engine threads inside each worker process of a DataLoader. Raising it "
            "runs more operators at once per worker; lower `num_workers` in exchange, "
            "or the processes fight for cores. It is read when a worker starts. "
            "Each of its kernels has one thread."
        ),
        observable="How many operators run at once in a worker of a DataLoader.",
    ),
    declare(
        name="MXNET_MP_OPENCV_NUM_THREADS",
        sources=("env-vars-1.x.md:33", "env-vars-2.0.md:65"),
        type="int",
        default=0,
        low=0,
        high=MOST_THREADS,
        scope="create",
        made="a DataLoader",
        status="live",
        meaning=(
            "Threads that OpenCV may use inside each worker process, for resizing and "
            "colours of images. Zero leaves all to the worker's own thread. It is read "
            "when a process is forked, or when a started one first needs OpenCV."
        ),
        observable="What OpenCV says in a worker process, cv2.getNumThreads().",
    ),
    declare(
        name="MXNET_OMP_MAX_THREADS",
        type="int",
        default=0,
        low=0,
        high=1024,
        default_words="no limit",
        status="live",
        meaning=(
            "An upper limit for the threads of one kernel when `OMP_NUM_THREADS` is "
            "unset. No document names it, but MXNet reads it."
        ),
        observable="The thread count that a large kernel ran with.",
    ),
    declare(
        name="KMP_AFFINITY",
        sources=("performance-tips.md:60",),
        type="str",
        default="",
        scope="restart",
        status="live",
        meaning=(
            "Which core each kernel thread stays on. Intel's OpenMP runtime reads it, "
            "not MXNet; here minimx does. Its form is [modifier,]type[,permute]"
            "[,offset], with type one of none, compact (neighbouring threads close "
            "together), scatter (far apart), balanced, explicit with proclist=[...]. "
            "The performance page suggests `granularity=fine,compact,1,0`, which gives "
            "every thread a core of its own before a second hyper-thread is used. The "
            "teams of several engine workers follow one another. Systems other than "
            "Linux do not bind threads; there it warns."
        ),
        observable="`minimx.fast.pinning.team()` inside an operation.",
    ),
    declare(
        name="MXNET_ENGINE_INFO",
        type="bool",
        default=False,
        status="live",
        meaning=(
            "Print who is waited for, and how long it took, around every wait for an "
            "array or for everything. A line names the operation, the line of the "
            "program that pushed it, and its device. No document names it, but MXNet "
            "reads it when the engine starts, and logs addresses of variables. "
            "NaiveEngine never waits, and on the virtual clock no time passes: they "
            "print nothing. The engine timeline shows the same and more."
        ),
        observable="Lines on standard output around every wait.",
    ),
)
