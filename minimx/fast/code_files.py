"""Compiled code on disk that processes may write at the same time. Imports numba.

numba numbers the data files of a function (`resize-12.py311.1.nbc`, `.2.nbc`, …) and
keeps the numbers in an index. Two processes that compile two signatures at the same
time both see that number 1 is free: both write it, and from then on a call with float64
runs the code made for float32, in every process. And numba compiles a function again
when its own file changes, but not when a function that was compiled into it does.

Here the name of a file is computed: from the signature, and from the sources of the
function's module and of every module of kernels that it imports. Nothing else decides
which code is loaded, so there is no index. A file that was cut short, or that this
version cannot read, counts as missing.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import caching, ccallback, config, dispatcher

log = logging.getLogger(__name__)

#: How reading fails where a module has moved since, or bytes are missing.
UNREADABLE = (
    *(AttributeError, EOFError, ImportError, IndexError, OSError, ValueError),
    pickle.UnpicklingError,
)

IMPORTS = re.compile(r"^from (minimx[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)

Numbered: Any = caching.IndexDataCacheFile
FunctionCache: Any = caching.FunctionCache


class CodeFiles(Numbered):  # type: ignore[misc]
    """The data files of one function, one for each of its signatures."""

    def save(self, key: Any, data: Any) -> None:
        """Keep what was compiled for a signature; code of other sources goes.

        Where the disk is full, the program goes on with what it has just compiled.
        """
        name = self._data_name(key)
        try:
            self._save_data(name, data)
        except OSError as reason:
            log.warning("compiled code is not kept in %s: %s", self._cache_path, reason)
            return
        others = f"{name.partition('-of-')[0]}-of-*.nbc"
        for path in Path(self._cache_path).glob(others):
            if path.name != name:
                path.unlink(missing_ok=True)

    def load(self, key: Any) -> Any:
        """What was kept for a signature; None if nothing that can be read was."""
        try:
            return self._load_data(self._data_name(key))
        except UNREADABLE:
            return None

    def flush(self) -> None:
        """Delete the code of every signature."""
        base = self._index_name.removesuffix(".nbi")
        for path in Path(self._cache_path).glob(f"{base}.*.nbc"):
            path.unlink(missing_ok=True)

    def _data_name(self, key: Any) -> str:
        base = self._index_name.removesuffix(".nbi")
        signature, source = _digest(key), _digest((self._version, self._source_stamp))
        return f"{base}.{signature}-of-{source}.nbc"


class CodeCache(FunctionCache):  # type: ignore[misc]
    """numba's cache of one function, in such files."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = CodeFiles(
            self._cache_path, self._impl.filename_base, sources(function.__module__)
        )


@cache
def sources(name: str) -> tuple[str, ...]:
    """Digests of a module of kernels and of those that it imports, directly or not.

    It may still be in the middle of its import, if what it needs is there already.
    """
    found: dict[str, str] = {}
    _collect(name, found)
    return tuple(sorted(found.values()))


def _collect(name: str, found: dict[str, str]) -> None:
    file = getattr(sys.modules[name], "__file__", None)
    text = Path(file).read_text() if file else ""  # a notebook has none
    found[name] = hashlib.sha256(text.encode()).hexdigest()
    for package, listed in IMPORTS.findall(text):
        for part in ("", *re.findall(r"\w+", listed)):
            module = f"{package}.{part}".rstrip(".")
            kernels = {"kernels", "cpu"} & set(module.split("."))
            if kernels and module in sys.modules and module not in found:
                _collect(module, found)


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """What numba decorates inside the `with` block keeps its code in the folder."""
    settings: Any = config
    importers: Any = dispatcher, ccallback  # they know the class by name
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(folder)
    for module in importers:
        module.FunctionCache = CodeCache
    try:
        yield
    finally:
        settings.CACHE_DIR = before
        for module in importers:
            module.FunctionCache = FunctionCache
