"""What surrounds a test: environment variables, error output, luck."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from typing import Any

from minimx.core.engine import wait_all
from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs


@contextmanager
def environment(*args: Any) -> Iterator[None]:
    """Set environment variables inside the `with` block; None deletes one.

    args: a name and its text, or a dictionary of them. Variables that are knobs act at
    once, as `%env` does in a notebook.
    """
    if len(args) == 1 and isinstance(args[0], Mapping):
        changes = dict(args[0])
    elif len(args) == 2:
        changes = {args[0]: args[1]}
    else:
        raise ArgumentError("environment takes a name and a text, or one dictionary.")
    before = {name: os.environ.get(name) for name in changes}
    _set(changes)
    try:
        yield
    finally:
        try:
            wait_all()  # what was asked for inside still runs under these settings
        finally:
            _set(before)


def _set(texts: Mapping[str, str | None]) -> None:
    for name, text in texts.items():
        if text is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = text
    if any(name in knobs for name in texts):
        knobs.sync_from_environ()


@contextmanager
def discard_stderr() -> Iterator[None]:
    """Inside the `with` block, drop what is written to standard error.

    The file descriptor is redirected, so that output of C libraries goes too, and that
    of all threads.
    """
    with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
        kept = os.dup(2)
        try:
            os.dup2(nowhere.fileno(), 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def retry(n: int) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """A decorator: a test may fail with AssertionError up to `n` - 1 times.

    For tests of random numbers. Raises `ArgumentError` for n < 1.
    """
    if n < 1:
        raise ArgumentError(f"retry({n}): a test is tried once at least.")

    def decorate(f: Callable[..., Any]) -> Callable[..., None]:
        @functools.wraps(f)
        def wrapper(*args: Any, **kwargs: Any) -> None:
            for _ in range(n - 1):
                try:
                    f(*args, **kwargs)
                except AssertionError:
                    wait_all()
                else:
                    return
            f(*args, **kwargs)

        return wrapper

    return decorate


def is_cd_run() -> bool:
    """Whether CD_JOB=1 is set, as MXNet's continuous delivery sets it."""
    return os.environ.get("CD_JOB") == "1"


def is_aarch64_run() -> bool:
    """Whether the processor is a 64-bit ARM."""
    return platform.machine() == "aarch64"
