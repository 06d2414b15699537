"""Training with gradients that vary less from batch to batch (SVRG)."""

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.contrib.svrg_optimization import svrg_module

__all__ = ["svrg_module"]

_resolve_missing(__name__, __all__)
