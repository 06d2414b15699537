"""Which modules provide what the core uses beside its own; see `core/extensions.py`."""

from __future__ import annotations

from minimx.core.extensions import provide

EXTENSIONS = {
    "cuda": "minimx.cuda.interface",
    "GPU launcher": "minimx.cuda.launcher",
    "convolution tuner": "minimx.fast.tuner",
    "fusion": "minimx.fast.fusion",
    "knob examples": "minimx.tools.knob_examples",
    "oneDNN products": "minimx.fast.onednn_products",
    "operator tuning": "minimx.fast.tuning",
}

for _name, _module in EXTENSIONS.items():
    provide(_name, _module)
