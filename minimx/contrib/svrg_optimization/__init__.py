"""Training with gradients that vary less from batch to batch (SVRG)."""

from typing import TYPE_CHECKING

from minimx.aliases import resolve as _resolve
from minimx.contrib.svrg_optimization import svrg_module

__all__ = ["svrg_module"]

if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        return _resolve(__name__, name, __all__)
