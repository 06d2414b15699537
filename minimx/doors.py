"""Doors: other names under which MXNet's programs import our rooms.

MXNet keeps `Dense` in `mxnet.gluon.nn.basic_layers` and `NDArray` in
`mxnet.ndarray.ndarray`; programs import from there. Our rooms are cut differently, so
such a name leads to the room that has what is asked for.
"""

from __future__ import annotations

import sys

# {where MXNet has it: where it is here}
DOORS = {
    "ndarray": "nd",
    "ndarray.ndarray": "nd",
    "ndarray.utils": "nd",
    "ndarray.numpy": "np",
    "symbol.numpy": "symbol.np",
    "contrib.amp": "amp",
    "contrib.amp.amp": "amp.amp",
    "contrib.amp.lists": "amp.lists",
    "contrib.amp.loss_scaler": "amp.loss_scaler",
    "contrib.ndarray": "nd.contrib",
    "contrib.symbol": "symbol.contrib",
    "gluon.nn.basic_layers": "gluon.nn",
    "gluon.nn.conv_layers": "gluon.nn",
    "gluon.data.dataloader": "gluon.data.loader",
    "gluon.contrib.data.sampler": "gluon.data.sampler",
    "io.io": "io",
    "module.base_module": "module",
    "kvstore.kvstore": "kvstore",
    "gluon.metric": "metric",
    "optimizer.optimizer": "optimizer",
    "optimizer.lr_scheduler": "lr_scheduler",
    "error": "errors",
}

#: The same for single names.
NAMES = {"nd.CachedOp": "symbol_op.SymbolOp"}


def open_doors() -> None:
    """Make `import minimx.<door>` give the room; a room of that name goes first.

    >>> import minimx
    >>> from minimx.gluon.nn.basic_layers import Dense
    >>> Dense is minimx.gluon.nn.Dense
    True
    """
    for door, room in DOORS.items():
        whole = f"minimx.{door}"
        if whole in sys.modules:
            continue
        sys.modules[whole] = sys.modules[f"minimx.{room}"]
        place, _, name = whole.rpartition(".")
        vars(sys.modules[place]).setdefault(name, sys.modules[whole])
    for door, home in NAMES.items():
        (place, name), (room, own) = (path.split(".") for path in (door, home))
        found = getattr(sys.modules[f"minimx.{room}"], own)
        setattr(sys.modules[f"minimx.{place}"], name, found)
