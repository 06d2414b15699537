"""`gluon.contrib.data`: a sampler, and texts to train language models on."""

from typing import TYPE_CHECKING

from minimx.aliases import resolve as _resolve
from minimx.gluon.contrib.data import text
from minimx.gluon.data.sampler import IntervalSampler

__all__ = ["IntervalSampler", "text"]

if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        return _resolve(__name__, name, __all__)
