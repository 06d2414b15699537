"""Transforms of images: functions that datasets apply to each sample.

Images come as (H, W, C) of uint8, or a batch of them as (N, H, W, C); `ToTensor` turns
them into what networks want. `batchable` marks transforms whose result for a batch is
the batch of the results, so that a loader may apply them to whole batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.core.arrays.array import NDArray
from minimx.core.autograd import is_recording
from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError
from minimx.core.rng import numpys
from minimx.gluon.block import Block, HybridBlock
from minimx.gluon.data.vision import augment
from minimx.gluon.data.vision.augment import *  # noqa: F403
from minimx.gluon.nn.basic import HybridSequential, Sequential
from minimx.image import functions
from minimx.symbol.tracing.arrays import Traced

__all__ = [
    "Cast", "Compose", "HybridCompose", "Normalize", "RandomFlipLeftRight",
    "RandomFlipTopBottom", "RandomRotation", "Resize", "Rotate", "ToTensor",
]  # fmt: skip
__all__ += augment.__all__


class Compose(Sequential):
    """Transforms one after the other; hybrid ones in a row form a block of their own.

    Plain functions are welcome, too.
    """

    def __init__(self, transforms: Sequence[Any]) -> None:
        super().__init__()
        blocks = [t if isinstance(t, Block) else _Plain(t) for t in transforms]
        for hybrid, row in groupby(blocks, lambda b: isinstance(b, HybridBlock)):
            several = list(row)
            if hybrid and len(several) > 1:
                joined = _Row() if all(map(_is_ours, several)) else HybridSequential()
                joined.add(*several)
                several = [joined]
            self.add(*several)

    @property
    def batchable(self) -> bool:
        """Whether all the transforms are."""
        return _batchable(self)


class _Row(HybridSequential):
    """Transforms of ours: run as a graph where an image is like the one before.

    Where each image has a shape of its own, making graphs would take far longer than
    they save. Hooks are called one by one, so that with them there is no graph.
    """

    _before: Any = None

    def forward(self, x: Any, *args: Any) -> Any:
        if isinstance(x, NDArray) and not isinstance(x, Traced):
            before, self._before = self._before, x.spec
            hooks = [b._forward_hooks or b._forward_pre_hooks for b in self]
            if before is x.spec and not (args or is_recording() or any(hooks)):
                return self._through_graph((x,))
        return super().forward(x, *args)

    def __getstate__(self) -> dict[str, Any]:
        """For a worker process: without the graphs, which it makes again."""
        return {**self.__dict__, "_graphs": {}, "_latest": None, "_called": None}


# To programs it is one: by its text, and by how later blocks are counted.
_Row.__name__ = HybridSequential.__name__


def _is_ours(block: Block) -> bool:
    """Whether it is a transform of ours: what users write may change between calls."""
    ours = type(block).__module__ in (__name__, augment.__name__)
    return ours and not block._children  # children may be a user's


class HybridCompose(HybridSequential):
    """Hybrid transforms one after the other."""

    def __init__(self, transforms: Sequence[Any]) -> None:
        super().__init__()
        self.add(*transforms)

    @property
    def batchable(self) -> bool:
        """Whether all the transforms are."""
        return _batchable(self)


def _batchable(row: Any) -> bool:
    return all(
        _batchable(block)
        if isinstance(block, (Sequential, HybridSequential))
        else getattr(block, "batchable", False)
        for block in row
    )


class _Plain(Block):
    """A plain function among the blocks of a Compose."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        if not callable(function):
            raise ArgumentError(f"Compose takes transforms, not {function!r}.")
        self._function = function

    def forward(self, *args: Any) -> Any:
        return self._function(*args)


class Cast(HybridBlock):
    """To another element type."""

    batchable = True

    def __init__(self, dtype: Any = "float32") -> None:
        super().__init__()
        self._dtype = resolve(dtype).name

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Same shape as x."""
        return F.cast(x, dtype=self._dtype)


class ToTensor(HybridBlock):
    """(H, W, C) of 0 to 255 becomes (C, H, W) of float32, 0 to 1; batches alike."""

    batchable = True

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(C, H, W), or (N, C, H, W)."""
        return F.image.to_tensor(x)


class Normalize(HybridBlock):
    """(x - mean) / std for each channel of (C, H, W) or (N, C, H, W).

    mean, std: a number, or one for each channel.
    """

    batchable = True

    def __init__(self, mean: Any = 0.0, std: Any = 1.0) -> None:
        super().__init__()
        self._mean = _per_channel("mean", mean)
        self._std = _per_channel("std", std)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Same shape as x."""
        return F.image.normalize(x, mean=self._mean, std=self._std)


class Resize(HybridBlock):
    """To another size: (H, W, C), or a batch of such.

    size: (width, height), or the length of both, as in MXNet. keep_ratio: with a single
        number, make the shorter side that long.
    interpolation: as in `nd.image.resize`: 0 takes the nearest pixel, 1 mixes the four
        nearest, …
    """

    batchable = True

    def __init__(
        self,
        size: int | Sequence[int],
        keep_ratio: bool = False,
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        self._settings = {
            "size": size if isinstance(size, int) else tuple(size),
            "keep_ratio": keep_ratio,
            "interp": interpolation,
        }

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(H', W', C) of the same dtype."""
        return F.image.resize(x, **self._settings)


class RandomFlipLeftRight(HybridBlock):
    """Mirror the image in half of the cases."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Same shape as x."""
        return F.image.random_flip_left_right(x)


class RandomFlipTopBottom(HybridBlock):
    """Turn the image upside down in half of the cases."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Same shape as x."""
        return F.image.random_flip_top_bottom(x)


class Rotate(Block):
    """Turn images (C, H, W) or (N, C, H, W) of float32 about their middle.

    rotation_degrees: clockwise. zoom_in: enlarge until no corner is empty; zoom_out:
    shrink until all of the image is seen.
    """

    def __init__(
        self, rotation_degrees: Any, zoom_in: bool = False, zoom_out: bool = False
    ) -> None:
        super().__init__()
        self._how = rotation_degrees, zoom_in, zoom_out

    def forward(self, x: NDArray) -> NDArray:
        """Same shape as x."""
        return functions.imrotate(x, *self._how)  # type: ignore[no-any-return]


class RandomRotation(Block):
    """Turn images by random angles, one for each; see `Rotate`.

    angle_limits: (least, most) degrees. rotate_with_proba: how often to turn at all.
    """

    def __init__(
        self,
        angle_limits: Sequence[float],
        zoom_in: bool = False,
        zoom_out: bool = False,
        rotate_with_proba: float = 1.0,
    ) -> None:
        super().__init__()
        lower, upper = angle_limits
        if lower >= upper:
            raise ArgumentError(
                f"RandomRotation: angle_limits={angle_limits!r} must be (least, most) "
                "degrees."
            )
        if not 0 <= rotate_with_proba <= 1:
            raise ArgumentError(
                f"RandomRotation: rotate_with_proba={rotate_with_proba} is no "
                "probability; give a number from 0 to 1."
            )
        self._how = (lower, upper), zoom_in, zoom_out
        self._share = rotate_with_proba

    def forward(self, x: NDArray) -> NDArray:
        """Same shape as x."""
        if numpys.random() > self._share:
            return x
        return functions.random_rotate(x, *self._how)  # type: ignore[no-any-return]


def _per_channel(name: str, value: Any) -> tuple[float, ...]:
    found = np.atleast_1d(np.asarray(value, np.float64))
    if found.ndim != 1 or (name == "std" and not found.all()):
        raise ArgumentError(
            f"Normalize: {name}={value!r} must be a number, or one for each channel"
            f"{'; none may be 0' if name == 'std' else ''}."
        )
    return tuple(found.tolist())


_resolve_missing(__name__, globals())
