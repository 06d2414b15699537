"""Compiled code on disk that processes may write at the same time. Imports numba.

numba numbers the data files of a function (`resize-12.py311.1.nbc`, `.2.nbc`, …). Two
processes that compile two signatures at the same time both see that number 1 is free:
both write it, and an index that names the other's file stays. From then on a call with
float64 runs the code made for float32, in every process. Here the name of a file comes
from its signature, so two signatures never share one. At worst an index misses a
signature, which is compiled again. So is what an older minimx kept and this one cannot
read, and a file that was cut short.
"""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

from numba.core import caching

#: How reading fails where a module has moved since, or bytes are missing.
UNREADABLE = (
    *(AttributeError, EOFError, ImportError, IndexError, ValueError),
    pickle.UnpicklingError,
)

Numbered: Any = caching.IndexDataCacheFile


class CodeFiles(Numbered):  # type: ignore[misc]
    """The index of one function, and one data file for each of its signatures."""

    def save(self, key: Any, data: Any) -> None:
        """Keep what was compiled for a signature; the index follows its file."""
        name = self._data_name_of(key)
        self._save_data(name, data)
        signatures = self._load_index()
        if signatures.get(key) != name:
            self._save_index({**signatures, key: name})

    def load(self, key: Any) -> Any:
        """What was kept for a signature; None if nothing that can be read was."""
        try:
            return super().load(key)
        except UNREADABLE:
            return None

    def _load_index(self) -> dict[Any, str]:
        try:
            found: dict[Any, str] = super()._load_index()
        except UNREADABLE:
            return {}
        return found

    def _data_name_of(self, key: Any) -> str:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return str(self._index_name.replace(".nbi", f".{digest}.nbc"))
