"""What MXNet has and minimx has not, and what to say to somebody who asks for it.

A room asks `missing` from its module's `__getattr__`. A name that MXNet knows is told
from a misspelt one: the first gets a sentence, the second a suggestion.
"""

from __future__ import annotations

from collections.abc import Iterable

from minimx.errors import did_you_mean

_ROOMS = {
    "onnx": "graphs in the form of ONNX",
}

#: By place: the names that MXNet has there, each with a few words on what it is.
LATER: dict[str, dict[str, str]] = {
    "mx": _ROOMS,
    "mx.contrib": dict.fromkeys(
        ["io", "onnx", "quantization", "tensorboard"],
        "what MXNet tried out",
    ),
    "mx.gluon": {
        "probability": "distributions",
    },
}


def missing(place: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error for a name that is asked of a place and is not there.

    >>> print(missing("mx", "onnx", ["nd"]))
    mx.onnx is not in minimx yet (graphs in the form of ONNX).
    >>> print(missing("mx.nd", "sofmax", ["softmax"]))
    mx.nd has no 'sofmax'. Did you mean softmax?
    """
    what = LATER.get(place, {}).get(name)
    if what is not None:
        return AttributeError(f"{place}.{name} is not in minimx yet ({what}).")
    # Tools ask for names like __wrapped__ by the thousand; nobody misspells those.
    meant = "" if name.startswith("__") else did_you_mean(name, known)
    return AttributeError(f"{place} has no {name!r}.{meant}")
