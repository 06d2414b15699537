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
    "ndarray.op": "nd",
    "ndarray.numpy_extension": "npx",
    "symbol.op": "symbol",
    "symbol.numpy_extension": "symbol.npx",
    "numpy.function_base": "np",
    "numpy.stride_tricks": "np",
    "numpy_extension.utils": "npx",
    "rnn.rnn": "rnn",
    "rnn.rnn_cell": "rnn",
    "contrib.svrg_optimization.svrg_optimizer": "contrib.svrg_optimization",
    "gluon.contrib.cnn.conv_layers": "gluon.contrib.cnn",
    "gluon.contrib.nn.basic_layers": "gluon.contrib.nn",
}

#: The same for single names: {where MXNet has them: (where they are here, names)}.
NAMES = {
    "contrib.text.embedding": (
        "contrib.text.pretrained",
        "FastText GloVe get_pretrained_file_names",
    ),
    "gluon.block": (
        "gluon.parameter",
        "DeferredInitializationError Parameter ParameterDict",
    ),
    "gluon.contrib.rnn.rnn_cell": (
        "gluon.rnn",
        "HybridRecurrentCell SequentialRNNCell",
    ),
    "gluon.data.dataset": ("gluon.data", "RecordFileDataset"),
    "gluon.data.vision.datasets": (
        "gluon.data.vision",
        "ImageFolderDataset ImageRecordDataset",
    ),
    "gluon.rnn.rnn_cell": (
        "gluon.rnn",
        "BidirectionalCell DropoutCell HybridSequentialRNNCell ModifierCell "
        "ResidualCell SequentialRNNCell ZoneoutCell",
    ),
    "image.detection": (
        "image",
        "Augmenter CastAug ColorJitterAug ColorNormalizeAug ForceResizeAug "
        "HueJitterAug LightingAug RandomGrayAug RandomOrderAug ResizeAug fixed_crop",
    ),
    "symbol.symbol": (
        "symbol",
        "Group Variable arange eye full histogram hypot linspace load load_json "
        "maximum minimum ones pow power split_v2 var zeros",
    ),
}


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
    for place, (room, names) in NAMES.items():
        home = sys.modules[f"minimx.{room}"]
        for name in names.split():
            setattr(sys.modules[f"minimx.{place}"], name, getattr(home, name))
    nd, symbol_op = sys.modules["minimx.nd"], sys.modules["minimx.symbol_op"]
    nd.CachedOp = symbol_op.SymbolOp  # type: ignore[attr-defined]
