"""The text of a view's state: its kind, a version, and what was set.

    EngineTimeline:1?axis=events&pinned=["cpu(0)/1"]&op=12

It holds no spaces, so it can be pasted as one word. A value that is plain text stands
as it is, every other one as JSON; white space, control characters, `%` and `&` are
written as in a web address. Pages write the same text (`static/lib/page/kept.js`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from minimx.core.errors import ArgumentError

VERSION = 1
#: Longer ones are refused unread.
MOST = 8000
_UNSAFE = re.compile(r"[%&\s\x00-\x1f\x7f]")
_SHAPE = re.compile(r"([A-Za-z]\w{0,60}):([0-9]{1,9})(?:\?(.*))?", re.S | re.A)
_NAME = re.compile(r"[a-z]\w{0,60}", re.A)
_LARGEST = 1 << 63


def written(view: str, parts: Mapping[str, Any]) -> str:
    """The text of a state.

    >>> written("MemoryTimeline", {"measure": "reserved", "window": [0, 2500.0]})
    'MemoryTimeline:1?measure=reserved&window=[0,2500.0]'
    >>> written("MemoryTimeline", {})
    'MemoryTimeline:1'
    """
    pairs = "&".join(f"{name}={_value(value)}" for name, value in parts.items())
    return f"{view}:{VERSION}{'?' if pairs else ''}{pairs}"


def parsed(text: str) -> tuple[str, dict[str, Any]]:
    """The kind of view and the parts of a state. Raises `ArgumentError`.

    >>> parsed("PoolMap:1?ghost=Round&at=7")
    ('PoolMap', {'ghost': 'Round', 'at': 7})
    """
    if not isinstance(text, str):
        raise _wrong(f"it is a text, not {type(text).__name__}")
    text = text.strip()
    if len(text) > MOST:
        raise _wrong(f"it has {len(text):,} characters, and {MOST:,} are the most")
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise _wrong(f"{text[:40]!r} does not begin with a view and a version")
    view, version, rest = found[1], int(found[2]), found[3] or ""
    if version != VERSION:
        raise _wrong(f"it has version {version}, and this minimx reads {VERSION}")
    parts: dict[str, Any] = {}
    for pair in rest.split("&") if rest else []:
        name, equals, value = pair.partition("=")
        if not equals or not _NAME.fullmatch(name) or name in parts:
            raise _wrong(f"{pair[:40]!r} is no name=value, or is there twice")
        parts[name] = _read(name, value)
    return view, parts


def _value(value: Any) -> str:
    """A value as text: plain texts as they are, the rest as JSON."""
    if not isinstance(value, str) or _is_json(value):
        value = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return _UNSAFE.sub(lambda found: quote(found[0], safe=""), value)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _read(name: str, text: str) -> Any:
    """A value from text; numbers that no view can have are refused."""
    try:
        plain = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise _wrong(f"{name} holds no text in UTF-8") from None
    try:
        value = json.loads(plain)
    except RecursionError:
        raise _wrong(f"{name} is nested too deep") from None
    except ValueError:
        return plain
    _check_numbers(name, value)
    return value


def _check_numbers(name: str, value: Any) -> None:
    inside = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list):
        for one in inside:
            _check_numbers(name, one)
    elif isinstance(value, int | float) and not abs(value) < _LARGEST:
        raise _wrong(f"{name} holds a number that is too large")


def _wrong(what: str) -> ArgumentError:
    return ArgumentError(
        f"state_string: {what}. Copy one with Shift+C in a view, or print "
        "view.state_string; it looks like EngineTimeline:1?axis=events."
    )
