"""Damage inside of files that stay sound around it: archives, JSON, headers."""

from __future__ import annotations

import io
import random
import zipfile
from typing import Any

import numpy as np

import minimx as mx
from minimx import nd
from tests.probe.mutations import changed, changed_json


def json_changed(content: bytes, draw: random.Random) -> bytes:
    """As text, or as JSON that is still JSON."""
    if draw.randrange(4) == 0:
        return changed(content, draw)
    return changed_json(content, draw).encode("utf-8", "surrogatepass")


def member_changed(content: bytes, draw: random.Random) -> bytes:
    """A zip archive that is sound, with something wrong inside."""
    if draw.randrange(3) == 0:
        return changed(content, draw)
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        names = old.namelist()
        chosen = draw.choice(names)
        for name in names:
            inside = old.read(name)
            if name == chosen:
                inside = _manifest_changed(name, inside, draw)
            new.writestr(name, inside, draw.choice((0, 0, 8)))
    return made.getvalue()


def _manifest_changed(name: str, inside: bytes, draw: random.Random) -> bytes:
    if not name.startswith("manifest") or draw.randrange(4) == 0:
        return changed(inside, draw)
    text = changed_json(np.load(io.BytesIO(inside)).tobytes(), draw)
    packed = io.BytesIO()
    np.save(packed, np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8))
    return packed.getvalue()


def header_changed(content: bytes, draw: random.Random) -> bytes:
    """States of an optimizer, of which the header is JSON in an array."""
    if draw.randrange(4) == 0:
        return changed(content, draw)
    arrays: Any = nd.load_frombuffer(content)
    text = changed_json(arrays["header"].asnumpy().tobytes(), draw).encode()
    arrays["header"] = nd.array(np.frombuffer(text, np.uint8), dtype="uint8")
    return mx.nd.serialize.dumps(arrays)
