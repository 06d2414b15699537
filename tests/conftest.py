"""What every test may rely on: defaults everywhere, no deadline on a busy machine."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from importlib import import_module
from typing import Any

import hypothesis
import pytest

# A learner's own settings must not decide what the tests find. Compiled kernels may be
# shared, though: compiling them anew takes minutes.
KEPT = {"MINIMX_CACHE"}
for _name in list(os.environ):
    if _name.startswith(("MXNET_", "NNVM_", "MINIMX_", "DMLC_")) and _name not in KEPT:
        del os.environ[_name]

# Nor whether the call path was compiled once on this machine: `make calls` tests a
# build (CALLS=compiled), and every other run plain Python.
_BUILD = dict.fromkeys(
    ("MXNET_ENABLE_CYTHON", "MXNET_ENFORCE_CYTHON"),
    str(int(os.environ.get("CALLS") == "compiled")),
)
os.environ.update(_BUILD)
import_module("minimx").knobs.reset(*_BUILD)  # the import has decided it

# A shell ignores Ctrl-C on behalf of what it starts in the background, and so would the
# tests of interrupts, which send it to themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The programs that a test draws are new ones in every run, but not where a run decides
# what may land; the failing one is printed in a form that can be pasted. Time limits
# are pytest-timeout's affair.
# What decides draws the same ones each time, so fewer of them say as much.
_DECIDES = "CI" in os.environ
hypothesis.settings.register_profile(
    "minimx",
    deadline=None,
    print_blob=True,
    derandomize=_DECIDES,
    max_examples=50 if _DECIDES else 100,
)
hypothesis.settings.load_profile("minimx")

# Programs for other Pythons, and for `python -m`: pytest must not import them.
collect_ignore_glob = ["compat/*", "benchmarks/programs/*"]


#: Files that need the same kernels: two processes would compile each of them twice.
TOGETHER = {
    "tests/core/ops/test_every_op_in_place.py": "tests/core/ops/test_every_op.py",
    "tests/gluon/model_zoo/test_originals.py": "tests/core/kernels/test_convolution.py",
    "tests/test_same_numbers.py": "tests/core/kernels/test_convolution.py",
}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The tests of a file stay in one process (`--dist loadfile`).

    Marks would do for `--dist loadgroup`; xdist 3.8 loses them under pytest 9.2, whose
    items keep their names elsewhere.
    """
    from xdist.scheduler import LoadFileScheduling

    scheduler: Any = LoadFileScheduling(config, log)
    file_of = scheduler._split_scope
    scheduler._split_scope = lambda node: TOGETHER.get(file_of(node), file_of(node))
    return scheduler


def forget_what_stands() -> None:
    """The garbage collector need not visit again what is alive now.

    Collected tests, reports and compiled kernels are a million objects that stay to the
    end. Tests that look for leaks collect garbage themselves, hundreds of times: with
    all these to visit, a fifth of the suite's time was spent there.
    """
    from minimx.core.storage.garbage import collect

    collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    """Collected tests stay."""
    forget_what_stands()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Modules, kernels and reports of one file are nothing to visit for the next.

    At its very end, when what the last test used is dropped. Where arrays are left on
    a GPU all is visited once more: they may hang in what stood before, and tests build
    that device anew.
    """
    found = yield
    if nextitem is not None and nextitem.path != item.path:
        from minimx.core.storage import pools

        if any(pool.name.startswith("gpu") and pool.in_use() for pool in pools()):
            gc.unfreeze()
        forget_what_stands()
    return found


#: What is asked about minimx's own kernels, graphs and plans: these files and folders
#: are as where oneDNN is not installed. It computes by other algorithms.
OWN_KERNELS = (
    "tests/widgets/",
    "tests/core/knobs/test_convolution_liveness.py",
    "tests/core/knobs/test_pass_liveness.py",
    "tests/core/knobs/test_planner_liveness.py",
    "tests/core/knobs/test_running_liveness.py",
    "tests/gluon/test_hybrid.py",
    "tests/profiler/test_totals.py",
    "tests/test_executor.py",
)


@pytest.fixture(autouse=True, scope="module")
def without_onednn(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hide oneDNN, where it is installed, from `OWN_KERNELS`."""
    from minimx.core.ops import registry
    from minimx.fast.onednn import library

    def look_again() -> None:
        for known in (library.found, library.listed, library.loaded):
            known.cache_clear()
        registry.forget_plans()

    if not request.node.nodeid.startswith(OWN_KERNELS) or not library.listed():
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "_candidates", lambda: iter(()))
        look_again()
        yield
    look_again()


@pytest.fixture(autouse=True)
def knobs_go_back() -> Iterator[None]:
    """No test leaves a knob turned."""
    from minimx.core.knobs import knobs

    yield
    changed = set(knobs.diff()) - KEPT
    if changed:
        knobs.reset(*changed)
