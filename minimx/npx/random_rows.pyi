# Written by `python -m minimx.np.stubs` from the functions as they run.
from collections.abc import Sequence
from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.core.device import DeviceLike
from minimx.np.multiarray import ndarray

def normal_n(loc: Any = 0.0, scale: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: DeviceLike | None = None, device: DeviceLike | None = None) -> ndarray: ...
def uniform_n(low: Any = 0.0, high: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: DeviceLike | None = None, device: DeviceLike | None = None) -> ndarray: ...
