"""`mx.mod`: training of symbols, from before Gluon.

A `Module` joins a symbol, an executor of it, the parameters and an optimizer.
`loops.py` has the loops over data, `module.py` the steps that they are made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minimx.absent import missing
from minimx.module.loops import BaseModule
from minimx.module.module import Module

__all__ = ["BaseModule", "Module"]

if not TYPE_CHECKING:  # what is absent is an error for type checkers, too

    def __getattr__(name: str) -> object:
        raise missing("mx.mod", name, __all__)
