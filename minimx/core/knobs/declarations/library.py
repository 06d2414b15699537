"""Knobs of the library itself: where things are, how calls are made, what is logged."""

from __future__ import annotations

import os
import sys
from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "library and logging"

declare = partial(Knob, group=GROUP)


def mxnet_home() -> str:
    """Where MXNet keeps downloads unless another folder is named."""
    if sys.platform == "win32" and "APPDATA" in os.environ:
        return os.path.join(os.environ["APPDATA"], "mxnet")
    return os.path.join(os.path.expanduser("~"), ".mxnet")


KNOBS = (
    declare(
        name="MXNET_HOME",
        sources=("env-vars-1.x.md:234", "env-vars-2.0.md:385"),
        type="path",
        folder=True,
        default=mxnet_home(),
        default_words="~/.mxnet",
        status="live",
        meaning=(
            "The folder in which data sets and trained models are looked up and kept. "
            "Data files that you have already, such as MNIST or CIFAR, are found in "
            "its folder `datasets`. On Windows the default is mxnet in %APPDATA%."
        ),
        observable="The path in which a data set looks for its files.",
    ),
    declare(
        name="MXNET_GLUON_REPO",
        sources=("env-vars-1.x.md:230", "env-vars-2.0.md:381"),
        type="url",
        default="https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/",
        status="live",
        meaning=(
            "The address from which data sets and trained models are fetched. It may "
            "be an http or https address, a file address, or the path of a folder, "
            "which becomes one. A missing slash at the end is added."
        ),
        observable="The address from which a missing file is fetched.",
    ),
    declare(
        name="DMLC_LOG_STACK_TRACE_DEPTH",
        sources=("env-vars-2.0.md:294",),
        type="int",
        default=0,
        low=0,
        high=1000,
        unit="frames",
        status="live",
        defaults_by_document={"2.0": "0", "code": "10 if unset, N if set to N"},
        meaning=(
            "How many calling lines an error of an operation shows beside the line "
            "that called it. Errors appear later than their cause, because "
            "operations are queued; the calling line is always kept, and this many of "
            "its callers with it. Each costs a little time at every operation. MXNet "
            "prints frames of its C++ stack."
        ),
        observable="The number of frames in the message of an asynchronous error.",
    ),
    declare(
        name="MXNET_LIBRARY_PATH",
        sources=("env-vars-1.x.md:11", "env-vars-2.0.md:43"),
        type="path",
        default="",
        scope="restart",
        status="live",
        meaning=(
            "The file of the library that holds the kernels. MXNet loads libmxnet from "
            "it. Here it is a Python file with a table "
            '`KERNELS = {"softmax.softmax": function}`; its kernels take the place of '
            "those of that name in `core/kernels/cpu`. The path must be absolute."
        ),
        observable="What the operator computes, and the line of `minimx doctor`.",
    ),
    declare(
        name="MXNET_ENABLE_CYTHON",
        sources=("env-vars-1.x.md:179", "env-vars-2.0.md:278"),
        type="bool",
        default=True,
        scope="create",
        made="a process",
        status="live",
        meaning=(
            "Use the compiled call path between Python and the core where there is "
            "one. In MXNet that is a Cython module in place of ctypes. Here it is a "
            "build of the files that a call passes through, the same that run without "
            "it: `minimx compile --cython` makes it, in the folder of MINIMX_CACHE; a "
            "program that starts with this knob at 1 imports it. On two cores `a + b` "
            "of 4 elements took 2.9 µs in place of 4.0 under NaiveEngine, and 5.1 in "
            "place of 7.2 under ThreadedEnginePerDevice. Debuggers and profilers of "
            "Python do not see the calls inside of a build, and views have no sources "
            "to show; so `minimx lab` runs plain Python unless this is set."
        ),
        observable="Microseconds per call of a tiny operator; `minimx doctor`.",
    ),
    declare(
        name="MXNET_ENFORCE_CYTHON",
        sources=("env-vars-1.x.md:184", "env-vars-2.0.md:283"),
        type="bool",
        default=False,
        scope="create",
        made="a process",
        status="live",
        meaning=(
            "Fail when the compiled call path is missing instead of taking the slow "
            "one. Only with `MXNET_ENABLE_CYTHON`. It is missing as well where the "
            "build is of other sources or for another version of Python."
        ),
        observable="An ImportError where there was a fallback.",
    ),
    declare(
        name="MXNET_STORAGE_FALLBACK_LOG_VERBOSE",
        sources=("env-vars-1.x.md:7", "env-vars-2.0.md:38"),
        type="bool",
        default=True,
        status="live",
        meaning=(
            "Say when an operator turns a sparse array into a dense one because it has "
            "no sparse kernel. Once per thread, operator and storage types."
        ),
        observable="A warning at the call of an operator without a sparse kernel.",
    ),
    declare(
        name="MXNET_INFER_STORAGE_TYPE_VERBOSE_LOGGING",
        type="bool",
        default=False,
        scope="bind",
        status="live",
        meaning=(
            "Print the storage type of every value of a graph when simple_bind makes "
            "its arrays. No document names it, but MXNet reads it."
        ),
        observable="A table of storage types.",
    ),
    declare(
        name="MXNET_EXEC_VERBOSE_LOGGING",
        type="bool",
        default=False,
        scope="bind",
        status="live",
        meaning=(
            "Print the nodes of a graph when it is bound. No document names it, but "
            "MXNet 1.x reads it."
        ),
        observable="A table of nodes.",
    ),
)
