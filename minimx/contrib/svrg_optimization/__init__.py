"""Training with gradients that vary less from batch to batch (SVRG)."""

from minimx.contrib.svrg_optimization import svrg_module

__all__ = ["svrg_module"]
