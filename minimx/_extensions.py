"""Which modules provide what the core uses beside its own; see `core/extensions.py`."""

from __future__ import annotations

from minimx.core.extensions import provide

EXTENSIONS = {
    "cuda": "minimx.cuda.interface",
    "GPU launcher": "minimx.cuda.launcher",
    "knob examples": "minimx.tools.knob_examples",
}

for _name, _module in EXTENSIONS.items():
    provide(_name, _module)
