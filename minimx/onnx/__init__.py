"""`mx.onnx`: models of ONNX, written from symbols and read as symbols.

    net.export("net")                               # net-symbol.json, net-0000.params
    mx.onnx.export_model(
        "net-symbol.json", "net-0000.params", [(1, 3, 224, 224)],
        onnx_file_path="net.onnx")

    sym, arg_params, aux_params = mx.onnx.import_model("net.onnx")
    net = mx.onnx.import_to_gluon("net.onnx", ctx=mx.cpu())

`mx.contrib.onnx` is the same module. It needs the package onnx:
`pip install "minimx[onnx]"`. `get_operator_support()` lists what can be written.
"""

from __future__ import annotations

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.onnx.exporting import export_model, get_operator_support
from minimx.onnx.importing import get_model_metadata, import_model, import_to_gluon

__all__ = [
    "export_model",
    "get_model_metadata",
    "get_operator_support",
    "import_model",
    "import_to_gluon",
]

_resolve_missing(__name__, __all__)
