# Written by `python -m minimx.symbol.stubs` from the data sheets.
from collections.abc import Sequence
from typing import Any

from minimx.core.device import DeviceLike
from minimx.symbol.symbol import Symbol

from minimx.symbol.operators import *
def adagrad_update(weight: Symbol | None = None, grad: Symbol | None = None, history: Symbol | None = None, lr: float = ..., epsilon: float = 1e-07, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, *, attr: Any = None, name: str | None = None) -> Symbol: ...
def retain(data: Symbol | None = None, indices: Symbol | None = None, *, attr: Any = None, name: str | None = None) -> Symbol: ...
