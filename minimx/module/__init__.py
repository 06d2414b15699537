"""`mx.mod`: training of symbols, from before Gluon.

A `Module` joins a symbol, an executor of it on each device, the parameters and an
optimizer. `loops.py` has the loops over data, the other files the steps that they are
made of; a `BucketingModule` has a module for each length of its data, a
`SequentialModule` a chain of modules, and a `PythonModule` no symbol at all.
"""

from __future__ import annotations

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.module.bucketing_module import BucketingModule
from minimx.module.loops import BaseModule
from minimx.module.module import Module
from minimx.module.python_module import PythonLossModule, PythonModule
from minimx.module.sequential_module import SequentialModule

__all__ = [
    "BaseModule",
    "BucketingModule",
    "Module",
    "PythonLossModule",
    "PythonModule",
    "SequentialModule",
]

_resolve_missing(__name__, __all__)
