"""Parts outside the core that the core uses without knowing which module they are.

    provide("knob examples", "minimx.tools.knob_examples")    # at the front door
    provided("knob examples").of(name)                        # in the core

The core imports nothing from outside the core. Where it can use more than it has (CUDA
devices, faster kernels, examples of knobs), it asks for that by name; the module is
imported when it is first asked for. `minimx/__init__.py` has the table.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType

_modules: dict[str, str] = {}


def provide(name: str, module: str) -> None:
    """Enter a module as the provider of an extension of the core.

    name: of the extension, such as "operator tuning". module: its dotted name; nothing
    is imported yet. A later call for the same name replaces the module.
    """
    _modules[name] = module
    provided.cache_clear()


@cache
def provided(name: str) -> ModuleType:
    """The module that provides an extension, imported when it is first asked for.

    Raises KeyError for a name that no module provides.
    """
    return import_module(_modules[name])
