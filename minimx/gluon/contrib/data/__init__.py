"""`gluon.contrib.data`: a sampler, and texts to train language models on."""

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.gluon.contrib.data import text
from minimx.gluon.data.sampler import IntervalSampler

__all__ = ["IntervalSampler", "text"]

_resolve_missing(__name__, __all__)
