"""`mx.image.image`: everything about images without boxes, where MXNet has it."""

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.image import augment, functions
from minimx.image.augment import *  # noqa: F403
from minimx.image.functions import *  # noqa: F403
from minimx.image.iterator import ImageIter

__all__ = ["ImageIter"]
__all__ += augment.__all__
__all__ += functions.__all__

_resolve_missing(__name__, __all__)
