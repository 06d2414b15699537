"""`gluon.contrib.data`: a sampler, and texts to train language models on."""

from minimx.gluon.contrib.data import text
from minimx.gluon.data.sampler import IntervalSampler

__all__ = ["IntervalSampler", "text"]
