"""Every error that minimx raises, as one family.

A message has three parts: what was asked for, what is true, and what to try.

    MXNetError                  the root, a RuntimeError, as in MXNet
    ├─ KnobError                an unknown knob, or a value it cannot take (ValueError)
    │  └─ KnobBusy              …that it cannot take yet
    ├─ ShapeError               shapes that do not fit together (ValueError)
    ├─ DTypeError               element types that do not fit together (TypeError)
    ├─ DeviceError              an unknown device, or arrays on different devices
    ├─ OutOfMemory              a device has no room for a request (MemoryError)
    ├─ MemoryLeak               memory that should have come back is still in use
    ├─ OperatorError            an operator was called with wrong or missing settings
    │  ├─ ElementError          …or asked for an element that is not there (IndexError)
    │  └─ OperandError          …or for what its inputs cannot be used for (TypeError)
    ├─ ArgumentError            a Python argument that cannot be used (ValueError)
    │  └─ MissingArgument       …because it is not there (TypeError, as in Python)
    ├─ NotImplementedForSymbol  a symbol was asked for what only arrays have (TypeError)
    │  └─ TracingError          …while a block was made into a graph
    ├─ GradientError            `backward` was asked for what was never recorded
    ├─ PolicyError              a policy of a user's own breaks a rule (ValueError)
    ├─ EngineError              the engine was used after it stopped
    ├─ DataError                a file is missing, damaged, or not what it claims to be
    └─ ParameterError           a Gluon parameter cannot be used so (ValueError)
       ├─ DeferredInitializationError   …because its shape is not known yet
       └─ ParameterMismatch     …it is not what others say of it (AssertionError)

None derives from KeyError, whose `str` puts quotes round the message.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


class MXNetError(RuntimeError):
    """The root of every error raised by minimx; MXNet's own name for it."""


class KnobError(MXNetError, ValueError):
    """A knob that does not exist, or a value that it cannot take."""


class KnobBusy(KnobError):
    """A knob cannot be obeyed now, because of what lives or runs.

    `later` has the part obey its knob as soon as it can.
    """

    def __init__(self, message: str, later: Callable[[], object]) -> None:
        super().__init__(message)
        self.later = later


class ShapeError(MXNetError, ValueError):
    """Shapes that do not fit together."""


class DTypeError(MXNetError, TypeError):
    """Element types that do not fit together."""


class DeviceError(MXNetError):
    """An unknown device, or arrays that live on different devices."""


class OutOfMemory(MXNetError, MemoryError):
    """A device has no room for a request, even after its cache was given back."""


class MemoryLeak(MXNetError):
    """Memory that should have come back is still in use; see `storage.check_leaks`."""


class OperatorError(MXNetError, ValueError):
    """An operator was called with wrong, missing or unknown settings."""


class ElementError(OperatorError, IndexError):
    """An operator was asked for an element that an array does not have."""


class OperandError(OperatorError, TypeError):
    """An operator was given settings or inputs of a kind that it cannot use."""


class ArgumentError(MXNetError, ValueError):
    """A Python function or class was called with an argument that it cannot use."""


class ListedTwice(ArgumentError, AssertionError):
    """Lists of mixed precision contradict each other."""


class Unavailable(ArgumentError, NotImplementedError):
    """An argument that NumPy or MXNet knows has a value that is not available here."""


class MissingArgument(ArgumentError, TypeError):
    """A Python function or class was called without an argument that it needs."""


class NotImplementedForSymbol(MXNetError, TypeError):
    """A symbol was asked for what only an array has, such as its numbers."""


class TracingError(NotImplementedForSymbol):
    """A block cannot be made into a graph: its Python code depends on the data.

    filename, lineno: the user's line that asked for numbers, if there is one.
    """

    filename: str | None = None
    lineno: int | None = None


class GradientError(MXNetError):
    """`backward` or `grad` was asked for something that was never recorded."""


class PolicyError(MXNetError, ValueError):
    """A policy that a user wrote breaks a rule; see `mx.policies`."""


class EngineError(MXNetError):
    """The engine was used in a way that its state does not allow."""


class ProfilerError(MXNetError, ValueError):
    """Something that the profiler cannot do, or wrong arguments for it."""


class DataError(MXNetError, ValueError):
    """A file is missing, damaged, or not what it claims to be."""


class ParameterError(MXNetError, ValueError):
    """A Gluon parameter was used before it has a value, or not as it can be."""


class DeferredInitializationError(ParameterError):
    """A Gluon parameter was used before its shape is known."""


class ParameterMismatch(ParameterError, AssertionError):
    """A parameter and what is stored or asked for it differ; MXNet asserts that."""


class MisshapenValues(ParameterMismatch, ShapeError):
    """Values for a parameter have another shape than it has."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence naming the closest known name, or an empty string.

    >>> did_you_mean("Threded", ["NaiveEngine", "Threaded"])
    ' Did you mean Threaded?'
    """
    folded = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.5)
    return f" Did you mean {folded[close[0]]}?" if close else ""
