"""Functions on their way to ranks, and what they return on its way back.

cloudpickle ships a function of a cell with what it uses from outside, which Python's
own pickle cannot. It leaves out where the code stood; that goes along here, so that a
traceback on a rank names the cell and shows its line.
"""

from __future__ import annotations

import io
import linecache
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any, Final

from minimx.core.errors import ArgumentError, MXNetError

#: The name that cloudpickle gives to the file of any code.
NOWHERE: Final = "<dynamic-code>"


def shipped(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[bytes, dict[str, str]]:
    """The call as bytes, and the texts of its cells by the names of their code.

    Raises `ArgumentError` for what cannot be pickled.
    """
    import cloudpickle

    names: set[str] = set()

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, CodeType) and obj.co_filename != NOWHERE:
                names.add(obj.co_filename)
                return placed, (obj.replace(co_filename=NOWHERE), obj.co_filename)
            return super().reducer_override(obj)

    stream = io.BytesIO()
    try:
        Pickler(stream).dump((function, args, kwargs))
    except Exception as reason:
        name = getattr(function, "__name__", repr(function))
        raise ArgumentError(
            f"{name} cannot be sent to the ranks: {reason}. A function brings along "
            "what it uses from outside; make inside it what cannot be sent."
        ) from reason
    cells = [name for name in names if not Path(name).exists()]
    return stream.getvalue(), {
        name: "".join(linecache.getlines(name)) for name in cells
    }


def placed(code: CodeType, name: str) -> CodeType:
    """Code with the name of its file, or cell."""
    return code.replace(co_filename=name)


def know(cells: dict[str, str]) -> None:
    """Let tracebacks of this process show the lines of cells, which are in no file."""
    for name, text in cells.items():
        lines = text.splitlines(keepends=True)
        linecache.cache[name] = (len(text), None, lines, name)


def received(rank: int, result: bytes) -> Any:
    """What a rank returned. Raises `MXNetError` if it means nothing here."""
    import cloudpickle

    try:
        return cloudpickle.loads(result)
    except Exception as reason:
        raise MXNetError(
            f"what rank {rank} returned cannot be read here: {reason}. Return NumPy "
            "arrays and plain data."
        ) from reason
