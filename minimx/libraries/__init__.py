"""What libraries that were built on MXNet need beside its public names.

GluonCV, GluonNLP and GluonTS import `mxnet`, and from its modules names that MXNet
keeps for itself. `minimx.aliases` leads each of those names here:

    gluon.py           of `mx.gluon`, its utilities and its loader
    feed_forward.py    `mx.model.FeedForward`, the interface before `Module`
    loader.py          `mx.contrib.io.DataLoaderIter`, and workers of a loader

`minimx.libraries.as_mxnet()` lets `import mxnet` mean minimx in this process; the
command `minimx run program.py` does it for a program.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from minimx.aliases import Finder

__all__ = ["as_mxnet"]


class _Finder(Finder):
    """Lets `import mxnet.<name>` give `minimx.<name>`."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """A spec for mxnet and what is below it; None for all else."""
        if fullname != "mxnet" and not fullname.startswith("mxnet."):
            return None
        try:  # so that Python misses `mxnet.nd.array`, not `minimx.nd.array`
            if find_spec(self._meant(fullname)) is None:
                return None
        except ModuleNotFoundError:
            return None
        loader: Any = self  # by its methods; importlib.abc is slow to import
        return ModuleSpec(fullname, loader)

    def _meant(self, fullname: str) -> str:
        return fullname.replace("mxnet", "minimx", 1)


def as_mxnet() -> None:
    """Let `import mxnet` mean minimx from now on, in this process.

    Raises RuntimeError if MXNet itself was imported before.
    """
    loaded = sys.modules.get("mxnet")
    if loaded is not None and loaded.__name__ != "minimx":
        raise RuntimeError(
            "mxnet is imported already, and it is not minimx. Call as_mxnet() first of "
            "all, or leave the other import away."
        )
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
