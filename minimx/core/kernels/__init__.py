"""Loops over numbers: the same names in the same files for every backend.

    find("reduce.sum", "cpu")     a kernel by file and name, compiled on first use
    pointwise.kernel(...)         loops made from a formula, see `pointwise`
    warm_up()                     compile everything now, for later programs

numba is not imported before the first kernel is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from minimx.core.errors import OperatorError
from minimx.core.kernels import library, threads

#: By backend, the packages whose modules have kernels, in the order of looking.
PACKAGES = {
    "cpu": ("minimx.core.kernels.cpu", "minimx.operators.kernels", "minimx.fast.cpu"),
    "cuda": ("minimx.cuda.kernels",),
}


def find(name: str, backend: str = "cpu") -> Any:
    """The kernel `file.function` of a backend; its file is imported on first use.

    A file that MXNET_LIBRARY_PATH names may have a kernel in the place of ours.

    >>> find("random.uniform").__name__
    'uniform'
    """
    own = library.kernels().get(name) if backend == "cpu" else None
    return _ours(name, backend) if own is None else own


@cache
def _ours(name: str, backend: str) -> Any:
    threads.numba()
    file, _, function = name.partition(".")
    for package in _packages(backend):
        if find_spec(f"{package}.{file}") is not None:
            found = getattr(import_module(f"{package}.{file}"), function, None)
            if found is not None:
                return found
    places = " or ".join(package.replace(".", "/") for package in PACKAGES[backend])
    raise OperatorError(
        f"there is no kernel {name!r} for {backend}. Kernels live in {places}."
    )


def _packages(backend: str) -> Iterator[str]:
    """The packages of kernels and their folders, each of them a family."""
    for package in PACKAGES[backend]:
        yield package
        for module in iter_modules(import_module(package).__path__, f"{package}."):
            if module.ispkg:
                yield module.name


Job = tuple[str, Callable[[], None]]
_offers: list[Callable[[], Iterable[Job]]] = []


def offer(jobs: Callable[[], Iterable[Job]]) -> None:
    """Say what `warm_up` should run: a callable that gives (name, job) pairs.

    Rooms above know which kernels there are to compile, so they tell us.
    """
    _offers.append(jobs)


def warm_up(backwards: bool = False) -> Iterator[tuple[int, int, str]]:
    """Compile every kernel into the cache; yields (done, total, name) after each.

    A program that never calls this compiles each kernel when it is first needed.
    backwards: from the last to the first, for a second process that meets this one.
    """
    todo = [job for jobs in _offers for job in jobs()]
    for done, (name, job) in enumerate(todo[::-1] if backwards else todo, start=1):
        job()
        yield done, len(todo), name
