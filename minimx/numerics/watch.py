"""`Watch`: looks at the numbers of a network while it trains, every few steps.

In a step whose turn it is, what comes out of the layers is counted when the forward
pass ends, weights and gradients when the trainer is about to change the weights. The
counting is one operation for each of the three, handed to the engine like any other,
and its result is read a step later, so that training never waits for it. A step that
the loss scaler skips is always looked at: its gradients say what overflowed.

Nothing is counted while nobody records.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any

from minimx import autograd, events
from minimx.dtypes import LAYOUTS
from minimx.errors import ArgumentError
from minimx.gluon import Block, Trainer
from minimx.gluon.utils import HookHandle
from minimx.nd.array import NDArray
from minimx.nd.launch import invoke
from minimx.ops.precision import Exponents

# kind, layer, name, dtype, and the type in which the layer computes
Subject = tuple[str, str, str, str, str]


class Watch:
    """Looks at a network and its trainer until `close`; see `watch`."""

    def __init__(
        self, net: Block, trainer: Trainer, interval: int = 10, activations: bool = True
    ) -> None:
        if not isinstance(net, Block) or not isinstance(trainer, Trainer):
            given = f"a {type(net).__name__} and a {type(trainer).__name__}"
            raise ArgumentError(
                f"numerics.watch: {given} were given. It wants a gluon network and the "
                "gluon.Trainer of its parameters."
            )
        if interval < 1:
            raise ArgumentError(f"numerics.watch: interval={interval}; give 1 or more.")
        self.interval = interval
        self._net, self._trainer = net, trainer
        self._waiting: list[tuple[int, float, list[Subject], NDArray]] = []
        self._used: dict[str, str] = {}  # layer -> the type of what it gave last
        self._outs: dict[str, NDArray] = {}  # of the forward pass under way, by layer
        self._looking = False  # the forward pass under way is looked at
        self._looked = -1  # the last step whose activations were counted
        self._hooks: list[HookHandle] = []
        self._layers: dict[str, str] = {}  # what names in it begin with -> its path
        if activations:
            self._follow(net)
        trainer._watchers.append(self._stepped)

    def close(self) -> None:
        """Note what was counted, and look no more."""
        for hook in self._hooks:
            hook.detach()
        if self._stepped in self._trainer._watchers:
            self._trainer._watchers.remove(self._stepped)
        self._read()

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Watch(every {self.interval} steps, {self._trainer._steps} taken)"

    # -- what comes out of layers -----------------------------------------------------

    def _follow(self, net: Block) -> None:
        """Hooks on all blocks: which of them run as graphs is seen when they run."""
        for block, path, is_layer in _walk(net, ""):
            if is_layer:
                self._layers[block.prefix] = path
            self._hooks.append(block.register_forward_pre_hook(self._enter))
            self._hooks.append(block.register_forward_hook(self._leave))

    def _enter(self, block: Block, _inputs: Any) -> None:
        if block is self._net:
            self._outs = {}
            self._looking = (
                events.recorder is not None
                and self._trainer._steps % self.interval == 0
                and self._looked != self._trainer._steps
                and autograd.is_training()
            )
        if self._looking and block._active:
            self._set_watch(block, (self._of_operator, False))

    def _leave(self, block: Block, _inputs: Any, out: Any) -> None:
        if not self._looking:
            return
        if block._active:
            self._set_watch(block, None)
        elif block.prefix in self._layers:
            self._note(block.prefix, out)
        if block is self._net:
            self._looking = False
            self._count_activations()

    @staticmethod
    def _set_watch(block: Any, watching: Any) -> None:
        block._watch = watching

    def _of_operator(self, name: str, _operator: str, out: NDArray) -> None:
        """An operator of a graph ran; the last one of a layer gives what comes out."""
        fitting = [prefix for prefix in self._layers if name.startswith(prefix)]
        if fitting:
            self._note(max(fitting, key=len), out)

    def _note(self, prefix: str, out: Any) -> None:
        if isinstance(out, NDArray) and _is_real(out):
            self._outs[self._layers[prefix]] = out

    def _count_activations(self) -> None:
        outs, self._outs = self._outs, {}
        self._looked = self._trainer._steps
        kinds = {layer: out.spec.dtype.name for layer, out in outs.items()}
        self._used |= kinds
        subjects = [
            ("activation", layer, "output", kind, kind) for layer, kind in kinds.items()
        ]
        self._count(self._trainer._steps + 1, 1.0, subjects, list(outs.values()))

    # -- weights and gradients --------------------------------------------------------

    def _stepped(self, skipped: bool) -> None:
        """The trainer is about to change the weights, or to skip the step."""
        self._read()
        trainer = self._trainer
        turn = (trainer._steps - 1) % self.interval == 0
        if events.recorder is None or not (turn or skipped):
            return
        learning = [
            (parameter, parameter.list_data()[0], parameter.list_grad()[0])
            for _, parameter in trainer._learning()
            if parameter._stype == parameter._grad_stype == "default"
        ]
        learning = [one for one in learning if _is_real(one[1])]
        scale = trainer._amp_original_scale / trainer._scale
        if turn:
            subjects = [self._subject("weight", *one[:2]) for one in learning]
            self._count(trainer._steps, 1.0, subjects, [one[1] for one in learning])
        subjects = [self._subject("gradient", *one[::2]) for one in learning]
        self._count(trainer._steps, scale, subjects, [one[2] for one in learning])

    def _subject(self, kind: str, parameter: Any, array: NDArray) -> Subject:
        dtype = array.spec.dtype.name
        used = self._used.get(parameter.layer, dtype)
        return kind, parameter.layer, parameter.name, dtype, used

    # -- counting ---------------------------------------------------------------------

    def _count(
        self, step: int, scale: float, subjects: list[Subject], arrays: list[NDArray]
    ) -> None:
        """Begin to count; the result is read in a later step."""
        if not arrays:
            return
        with autograd.pause():
            rows = invoke(Exponents.of(num_arrays=len(arrays)), arrays)
        self._waiting.append((step, scale, subjects, rows))

    def _read(self) -> None:
        waiting, self._waiting = self._waiting, []
        for step, scale, subjects, rows in waiting:
            numbers = rows.asnumpy()
            recorder = events.recorder
            if recorder is None:
                return
            for (kind, layer, name, dtype, used), row in zip(
                subjects, numbers, strict=True
            ):
                recorder.tensor(step, kind, layer, name, dtype, used, scale, row)


def watch(
    net: Block, trainer: Trainer, interval: int = 10, activations: bool = True
) -> Watch:
    """Count the numbers of a network by power of two, every `interval` steps.

    What is found goes to whoever records: the tables `tensors` and `exponents` of
    `mx.Record`. activations: also look at what comes out of the layers; a hybridized
    network then goes operator by operator in the steps that are looked at. End it with
    `close()`, or use it in a `with`. Of several devices the first is looked at.

    Raises `ArgumentError` for anything but a gluon network and its Trainer.

    Examples
    --------
    with mx.Record() as record, mx.numerics.watch(net, trainer, interval=10):
        train(net, trainer)
    """
    return Watch(net, trainer, interval, activations)


def _walk(block: Block, outer: str) -> Iterator[tuple[Block, str, bool]]:
    """All blocks down to the layers, with their paths, and whether it is a layer.

    A layer has no parts, or only parts without parameters, as a Dense with activation.
    """
    path = block._path_under(outer)
    parts = list(block._children.values())
    plain = not any(len(part.collect_params()) for part in parts)
    is_layer = plain and bool(block._reg_params or not parts)
    yield block, path, is_layer
    for part in parts if not is_layer else []:
        yield from _walk(part, path)


def _is_real(array: NDArray) -> bool:
    return array.spec.dtype.name in LAYOUTS
