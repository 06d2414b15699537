"""Python for the reader's browser: the npm package `pyodide`, shipped with the book.

    site_python.unpack(folder)        # "" or, in a sentence, why there is none

The package has CPython as WebAssembly and the standard library, 13 MB. It is fetched
once and kept in the folder of the knob MINIMX_CACHE. Version and SHA-512 are those of
the npm registry; anything else that comes is refused. Without it the book is built all
the same, and its pages show frames that were computed before.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import tarfile
import urllib.request
from pathlib import Path

from minimx.core.knobs import knobs

#: Its Python is 3.11, the oldest that minimx runs on.
VERSION = "0.25.1"
ADDRESS = f"https://registry.npmjs.org/pyodide/-/pyodide-{VERSION}.tgz"
SHA512 = (
    "y0nJ/fLA3bxD2iZRzvVTbP2O+wp4Ewm2wThfV4HF0BytQ6hsoqTJFLNY4usLOcCVBrK8TTWqFqrmsVPzHe4"
    "rsw=="
)
#: What a page loads, and what says whose work it is and under which licence.
LOADED = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
FILES = (*LOADED, "pyodide-lock.json", "package.json", "README.md")
TIMEOUT = 60.0


def unpack(folder: Path) -> str:
    """Put what a page loads into a folder; "" or why that was not possible."""
    kept = Path(str(knobs.get("MINIMX_CACHE"))).expanduser() / "packages"
    try:
        packed = _packed(kept / f"pyodide-{VERSION}.tgz")
    except (OSError, ValueError) as error:
        return f"the package pyodide {VERSION} could not be had ({error})"
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
        for name in FILES:
            member = archive.extractfile(f"package/{name}")
            assert member is not None
            (folder / name).write_bytes(member.read())
    return ""


def _packed(path: Path) -> bytes:
    """The package's bytes, from a file or else from the registry, which is then kept.

    Raises OSError where neither can be read, ValueError for other bytes than those that
    are pinned.
    """
    if path.is_file() and is_pinned(found := path.read_bytes()):
        return found
    with urllib.request.urlopen(ADDRESS, timeout=TIMEOUT) as answer:
        packed: bytes = answer.read()
    if not is_pinned(packed):
        raise ValueError(f"{ADDRESS} has not the SHA-512 of version {VERSION}")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_bytes(packed)
    part.replace(path)
    return packed


def is_pinned(packed: bytes) -> bool:
    """Whether these are the bytes of the package."""
    return base64.b64encode(hashlib.sha512(packed).digest()).decode() == SHA512
