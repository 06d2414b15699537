"""`gluon.contrib.data`: samplers that MXNet tried out."""

from minimx.gluon.data.sampler import IntervalSampler

__all__ = ["IntervalSampler"]
