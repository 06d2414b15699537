"""The package `onnx`, imported when it is first needed, and files of models."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from minimx.core.dtypes import DType, resolve
from minimx.core.errors import DataError
from minimx.core.files import write_whole

#: The opsets whose nodes are written: all of them mean the same by each.
OPSETS = range(13, 18)
#: The version of the file format; programs that know opset 17 know it.
IR_VERSION = 8


def package(part: str = "onnx") -> Any:
    """The package `onnx`, or a module of it. Raises ImportError with what to install.

    It is no part of what minimx needs, so nothing here imports it at the top.
    """
    try:
        return import_module(part)
    except ImportError as reason:
        raise ImportError(
            f"mx.onnx reads and writes models through the package onnx ({reason}). "
            'Install it: pip install "minimx[onnx]"'
        ) from None


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a file, checked. Raises DataError for what is no sound model."""
    onnx = package()
    broken = package("google.protobuf.message").DecodeError
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise DataError(f"{name}: there is no such file.")
    try:
        onnx.checker.check_model(name)
        return onnx.load_model(name)
    except (broken, onnx.checker.ValidationError, ValueError, OSError) as reason:
        raise DataError(f"{name}: this is no sound ONNX model: {reason}") from None


def dtype_of(kind: int) -> DType:
    """The element type of a number of ONNX's. Raises DataError or DTypeError."""
    try:
        return resolve(package("onnx.helper").tensor_dtype_to_np_dtype(kind))
    except KeyError:
        raise DataError(f"ONNX has no element type {kind}.") from None


def save(model: Any, path: str | os.PathLike[str], large: bool = False) -> None:
    """Write a model; large: its arrays into a second file, `<name>.data`.

    A file of one piece holds 2 GB at most. Raises DataError where the checker of `onnx`
    refuses the model, before a file of one piece is written.
    """
    onnx = package()
    name = os.fspath(path)
    if large and os.path.exists(f"{name}.data"):
        os.remove(f"{name}.data")  # onnx would append to it
    try:
        if large:
            second = f"{os.path.basename(name)}.data"
            onnx.save_model(model, name, save_as_external_data=True, location=second)
        onnx.checker.check_model(name if large else model)
    except onnx.checker.ValidationError as reason:
        raise DataError(
            f"{name}: the checker of onnx refuses the model: {reason}"
        ) from None
    if not large:
        write_whole(name, model.SerializeToString(), "export_model")
