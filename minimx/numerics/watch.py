"""`Watch`: looks at the numbers of a network while it trains, every few steps.

In a step whose turn it is, what comes out of the layers is counted when the forward
pass ends, weights and gradients when the trainer is about to change the weights. The
counting is one operation for each of the three, handed to the engine like any other,
and its result is read a step later, so that training never waits for it. A step that
the loss scaler skips is always looked at: its gradients say what overflowed.

Nothing is counted while no record runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any

from minimx.core import autograd, events
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke
from minimx.core.device import Context, current_context
from minimx.core.dtypes import LAYOUTS
from minimx.core.errors import ArgumentError
from minimx.gluon import Block, Trainer
from minimx.gluon.utils import HookHandle
from minimx.operators.arrays.precision import Exponents

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
        self._looked: set[tuple[int, Context]] = set()  # whose activations counted
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

    def _enter(self, block: Block, inputs: Any) -> None:
        if block is self._net:
            self._outs = {}
            steps = self._trainer._steps
            self._looked = {one for one in self._looked if one[0] == steps}
            self._looking = (
                events.recorder is not None
                and steps % self.interval == 0
                and (steps, _device(inputs)) not in self._looked
                and autograd.is_training()
            )
        if self._looking and block._active:
            self._set_watch(block, (self._of_operator, False))

    def _leave(self, block: Block, inputs: Any, out: Any) -> None:
        if not self._looking:
            return
        if block._active:
            self._set_watch(block, None)
        elif block.prefix in self._layers:
            self._note(block.prefix, out)
        if block is self._net:
            self._looking = False
            self._looked.add((self._trainer._steps, _device(inputs)))
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
        kinds = {layer: out.spec.dtype.name for layer, out in outs.items()}
        self._used |= kinds
        subjects = [
            ("activation", layer, self._named("output", outs[layer]), kind, kind)
            for layer, kind in kinds.items()
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
        scale = trainer._amp_original_scale / trainer._scale
        if turn:
            own = self._several and trainer._kvstore is None
            self._count_parameters("weight", 1.0, own)
        own = self._several and (trainer._kvstore is None or self._in_store)
        self._count_parameters("gradient", scale, own)

    def _count_parameters(self, kind: str, scale: float, everywhere: bool) -> None:
        """Weights or gradients: everywhere, or of the first of devices that agree."""
        by_device: dict[Context, tuple[list[Subject], list[NDArray]]] = {}
        for _, parameter in self._trainer._learning():
            if not parameter._stype == parameter._grad_stype == "default":
                continue
            data = parameter.list_data()
            if not _is_real(data[0]):
                continue
            arrays = data if kind == "weight" else parameter.list_grad()
            for array in arrays if everywhere else arrays[:1]:
                subjects, found = by_device.setdefault(array.context, ([], []))
                subjects.append(self._subject(kind, parameter, array, everywhere))
                found.append(array)
        for subjects, found in by_device.values():
            self._count(self._trainer._steps, scale, subjects, found)

    def _subject(
        self, kind: str, parameter: Any, array: NDArray, everywhere: bool
    ) -> Subject:
        dtype = array.spec.dtype.name
        used = self._used.get(parameter.layer, dtype)
        name = self._named(parameter.name, array) if everywhere else parameter.name
        return kind, parameter.layer, name, dtype, used

    @property
    def _several(self) -> bool:
        """Whether the network is on several devices."""
        return any(len(p._contexts()) > 1 for p in self._trainer._params)

    @property
    def _in_store(self) -> bool:
        """Whether gradients are summed where they are not seen here."""
        return bool(self._trainer._update_on_kvstore)

    def _named(self, name: str, array: NDArray) -> str:
        """With the device, where there are several."""
        return f"{name} of {array.context}" if self._several else name

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

    What is found goes to the recorder: the tables `tensors` and `exponents` of
    `mx.Record`. activations: also look at what comes out of the layers; a hybridized
    network then goes operator by operator in the steps that are looked at. End it with
    `close()`, or use it in a `with`.

    Of a network on several devices, what they have in common is counted once: weights,
    and gradients that were summed before. What differs is counted on each, under a name
    that ends with the device (`output of gpu(1)`): activations, gradients that a store
    sums while it updates, and everything where there is no store.

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


def _device(inputs: Any) -> Context:
    """Where a network was called."""
    arrays = (x for x in inputs if isinstance(x, NDArray))
    return next((x.context for x in arrays), current_context())


def _is_real(array: NDArray) -> bool:
    return array.spec.dtype.name in LAYOUTS
