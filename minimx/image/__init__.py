"""`mx.image`: read, cut and colour images, and hand them out in batches.

Reading order: `codec.py` (files of images, through OpenCV or Pillow), `functions.py`
(resize, cut, turn), `augment.py` (the same as objects), `boxes.py` (…that move boxes,
too), `sources.py` and `iterator.py` (batches), `detection.py` (batches with boxes).
`image.py` and `detection.py` are the two modules that MXNet has.
"""

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.image import augment, detection, functions, image
from minimx.image import detection as det
from minimx.image.augment import *  # noqa: F403
from minimx.image.detection import *  # noqa: F403
from minimx.image.functions import *  # noqa: F403
from minimx.image.iterator import ImageIter

__all__ = ["ImageIter", "det", "detection", "image"]
__all__ += augment.__all__
__all__ += detection.__all__
__all__ += functions.__all__

_resolve_missing(__name__, __all__)
