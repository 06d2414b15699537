"""Every other knob: what each changes, seen by running a few lines under its values.

`tried(name)` is a card of one knob: what it is for, the lines, and what they print
under each value, run here and now. The lines are those of `mx.knobs.describe(name)`,
which tests run as well. What cannot run on this machine is shown as it is tested
elsewhere, and the card says so. `check_hunt` is the exercise: five effects that one
dictionary of settings has to reach.
"""

from __future__ import annotations

import contextlib
import html
import importlib.util
import io
import math
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import minimx as mx
from minimx.core.errors import MXNetError
from minimx.core.graph.memory.workspaces import workspaces
from minimx.core.knobs import knobs
from minimx.core.knobs.example import Example
from minimx.core.knobs.knob import Knob
from minimx.cuda import toolkit
from minimx.fast.onednn import library as onednn
from minimx.tools.knob_examples import Needs
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import Shown, code, words
from minimx_widgets.language import tr

MIB: Final = 1 << 20
_WIDTH: Final = "max-width:50em;margin:0.2em 0"
#: Where a card may say what a knob needs: whether this machine has it.
_HERE: Final[dict[str, Callable[[], bool]]] = {
    "": lambda: True,
    Needs.SIMULATED: lambda: toolkit.stack().count == 0,
    Needs.CUDA: lambda: toolkit.stack().count > 0,
    Needs.ONEDNN: lambda: onednn.loaded() is not None,
    Needs.OURS: lambda: onednn.loaded() is None or not knobs.MXNET_ONEDNN_ENABLED,
    Needs.OPENCV: lambda: importlib.util.find_spec("cv2") is not None,
    Needs.LINUX: lambda: sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1,
    Needs.MPI: lambda: importlib.util.find_spec("mpi4py") is not None,
}


class Tried(Shown):
    """Knobs that were turned, one below the other.

    printed: what the lines of each knob printed, by name and value. A knob that could
    not be tried here has no entry.
    """

    def __init__(self, cards: Sequence[_Card]) -> None:
        self.printed = {one.knob.name: one.printed for one in cards if one.printed}
        super().__init__(
            "\n\n".join(one.plain() for one in cards), "".join(map(_rich, cards))
        )


@dataclass(frozen=True)
class _Card:
    """A knob, its lines, and what they printed here; nothing where they did not run."""

    knob: Knob
    name: str
    example: Example | None
    printed: Mapping[str, str]

    @property
    def shown(self) -> Mapping[str, str]:
        """What is printed under each value: here, or else in the tests."""
        return self.printed or (self.example.expect if self.example else {})

    @property
    def remark(self) -> str:
        """Why nothing ran here; empty where it did."""
        if self.example is None:
            return "Planned: it is checked and stored, and does not act yet."
        if self.printed:
            return ""
        return f"Not run here, as it needs {self.example.needs}. As tested elsewhere:"

    def title(self) -> str:
        old = f", called {self.name} before" if self.name != self.knob.name else ""
        return f"{self.knob.name}{old}"

    def plain(self) -> str:
        lines = [f"{self.title()} (default {self.knob.default_text})"]
        lines += [self.remark] if self.remark else []
        for value, text in self.shown.items():
            first, *more = text.split("\n")
            lines.append(f"  {value}: {first}")
            lines += [f"      {line}" for line in more]
        return "\n".join(lines)


def tried(*names: str) -> Tried:
    """Turn knobs one after the other, and show what a few lines print under each value.

    names: of knobs; an older name of one is shown with the name of today. Raises
    `KnobError` for a name that is none. Afterwards all knobs are as before, and what
    was written into the working folder is gone.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return Tried([_card(name) for name in names])


def _card(name: str) -> _Card:
    known = knobs.declared.get(name) or next(
        (knob for knob in knobs if name in knob.aliases), None
    )
    knob = known or knobs.declared[knobs.resolve(name)]  # raises, with a near name
    example = knob.example
    ready = example is not None and _HERE[example.needs]()
    return _Card(knob, name, example, _run(knob.name, example) if ready else {})


def _run(name: str, example: Example | None) -> dict[str, str]:
    """What an example prints, by value."""
    assert example is not None
    space: dict[str, Any] = {"mx": mx}
    exec(compile(example.before, name, "exec"), space)
    code = compile(example.code, name, "exec")
    found = {}
    for value in example.expect:
        with (
            mx.knobs(**{name: value}),
            contextlib.redirect_stdout(io.StringIO()) as out,
        ):
            exec(code, space)
        found[value] = out.getvalue().rstrip("\n")
    return found


def _rich(card: _Card) -> str:
    knob = card.knob
    first, _, more = tr(knob.meaning).partition(". ")
    rows = "".join(
        f"<tr><th style='text-align:left'><code>{html.escape(value) or '(empty)'}"
        f"</code></th><td style='text-align:left'>{code(text)}</td></tr>"
        for value, text in card.shown.items()
    )
    documents = ", ".join(knob.sources)
    default = tr("default")
    return (
        f"<h4 style='margin:1.2em 0 0.3em'><code>{html.escape(card.title())}</code> · "
        f"{default} <code>{html.escape(str(knob.default_text))}</code></h4>"
        f"<p style='{_WIDTH}'>{words(first.rstrip('.'))}.</p>"
        f"<details><summary>{tr('more, and where it is documented')}</summary>"
        f"<p style='{_WIDTH}'>{words(more)}</p>"
        f"<small>{html.escape(documents)}</small></details>"
        + (code(card.example.typed()) if card.example else "")
        + (f"<p><i>{html.escape(tr(card.remark))}</i></p>" if card.remark else "")
        + (f"<table style='margin-left:0'>{rows}</table>" if rows else "")
    )


# -- what the notebook asks ------------------------------------------------------------


def block_mib(nbytes: float) -> float:
    """The block in MiB that the Naive pool of the host gives for a request of bytes."""
    block = mx.storage.pool_for(mx.cpu()).alloc(int(nbytes))
    size = block.size
    block.free()
    return float(size / MIB)


def round_mib(mib: float, cutoff: int = 24) -> float:
    """The block in MiB that the Round pool of the host gives for a request of MiB."""
    kind = {"MXNET_CPU_MEM_POOL_TYPE": "Round"}
    with mx.knobs(**kind, MXNET_CPU_MEM_POOL_ROUND_LINEAR_CUTOFF=cutoff):
        return block_mib(mib * MIB)


def pushes_forward(layers: float, limit: float) -> int:
    """How many operations a forward pass of so many layers is, at this limit."""
    x = mx.sym.var("x")
    for _ in range(int(layers)):
        x = mx.sym.softmax(x)
    with mx.knobs(MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD=int(limit)):
        net = x.simple_bind(x=(4, 4))
        with mx.Record() as seen:
            net.forward(is_train=True)[0].wait_to_read()
    return len(seen.ops())


def updates(weights: float, optimizer: str = "sgd") -> int:
    """How many operations of an optimizer update so many weights."""
    update = mx.optimizer.get_updater(mx.optimizer.create(optimizer))
    w = [mx.nd.ones((3,)) for _ in range(int(weights))]
    mx.nd.waitall()
    with mx.Record() as seen:
        update(list(range(len(w))), w, w)
        mx.nd.waitall()
    return len(seen.ops())


def busiest_kib(gpus: float, kib: float) -> float:
    """KiB that arrive at the busiest of so many simulated GPUs in one pushpull."""
    n = int(kib) * 256  # float32 numbers
    small = {"MINIMX_SIM_GPU_MEMORY": "64MiB"}  # each reserves all that it has
    with mx.knobs(MINIMX_SIM_GPUS=int(gpus), MINIMX_SIM_LINKS="mesh", **small):
        store = mx.kv.create("device")
        store.init(0, mx.nd.zeros(n))
        values = [mx.nd.ones(n, ctx=mx.gpu(i)) for i in range(int(gpus))]
        with mx.Record() as seen:
            store.pushpull(0, values)
            mx.nd.waitall()
        del store, values
    rows = seen.comm()
    return float(
        max(rows["nbytes"][rows["dst"] == one].sum() for one in set(rows["dst"])) / 1024
    )


def pinned_bytes(nbytes: int) -> int:
    """The block that the pool of pinned host memory gives for a request of bytes."""
    block = mx.storage.pool_for(mx.cpu_pinned()).alloc(nbytes)
    size = block.size
    block.free()
    return size


def scratch_buffers(graphs: int) -> int:
    """How many scratch buffers the graphs of so many convolutions share."""
    net = mx.sym.Convolution(kernel=(5, 5), num_filter=8, no_bias=True, name="c")
    for _ in range(graphs):
        net.simple_bind(mx.cpu(), "null", c_data=(8, 16, 32, 32)).forward()
    mx.nd.waitall()
    return len(workspaces(mx.cpu()).each)


# -- the exercise ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Effect:
    """Something that the settings have to reach: how it is measured, and an idea."""

    wanted: str
    measure: Callable[[], float]
    reached: Callable[[float], bool]
    unit: str
    idea: str


EFFECTS: Final = (
    _Effect(
        "a request of 3,000,000 bytes takes less than 2.9 MiB of host memory",
        lambda: block_mib(3_000_000),
        lambda mib: mib < 2.9,
        "MiB",
        "the pool of the CPU: one knob sets where blocks become coarse",
    ),
    _Effect(
        "twelve weights are updated by two operations",
        lambda: updates(12),
        lambda count: count == 2,
        "operations",
        "how many weights one call of an update operator changes",
    ),
    _Effect(
        "twelve layers forward are four operations",
        lambda: _twelve_layers(),
        lambda count: count == 4,
        "operations",
        "bulking: the knob of the forward pass alone",
    ),
    _Effect(
        "a request of 1 byte takes at most 100 bytes of pinned memory",
        lambda: pinned_bytes(1),
        lambda nbytes: nbytes <= 100,
        "bytes",
        "the pool of pinned memory, and its unit",
    ),
    _Effect(
        "of eight GPUs none receives more than 3 KiB for a gradient of 1 KiB",
        lambda: busiest_kib(8, 1),
        lambda kib: kib <= 3,
        "KiB",
        "who adds what: a flat sum, or trees",
    ),
)


def _twelve_layers() -> float:
    limit = mx.knobs.MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD
    return pushes_forward(
        12, mx.knobs.MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN if limit is None else limit
    )


@check
def check_hunt(settings: Mapping[str, Any]) -> Feedback:
    """Whether settings reach the five effects together, each of them measured."""
    try:
        with mx.knobs(**settings):
            found = [(effect, effect.measure()) for effect in EFFECTS]
    except (MXNetError, TypeError) as error:
        return Feedback(False, str(error), "names and values that are knobs'")
    for effect, number in found:
        if not effect.reached(number):
            seen = f"{math.floor(number * 100) / 100:g} {effect.unit}"
            return Feedback(False, seen, effect.wanted, effect.idea)
    return Feedback(True, f"five effects by {len(settings)} settings")


SENTENCE: Final = (
    "A knob only acts where the code that obeys it runs: one device, one kind of "
    "allocation or one phase, so a setting that changes nothing says which code did "
    "not run."
)
HINTS: Final = (
    "Each effect has one knob in a card above. Read the table of its values, and think "
    "of the value that is not in it.",
    "One of them is a switch. The others are numbers: 12 layers in groups of how many "
    "make 4? 12 weights in groups of how many make 2?",
    "The names: <code>MXNET_CPU_MEM_LARGE_ALLOC_ROUND_SIZE</code>, "
    "<code>MXNET_OPTIMIZER_AGGREGATION_SIZE</code>, "
    "<code>MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD</code>, "
    "<code>MXNET_CPU_PINNED_MEM_POOL_PAGE_SIZE</code>, "
    "<code>MXNET_KVSTORE_USETREE</code>.",
)
