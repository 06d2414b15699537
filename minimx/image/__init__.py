"""`mx.image`: read, cut and colour images, and hand them out in batches.

Reading order: `codec.py` (files of images, through OpenCV or Pillow), `functions.py`
(resize, cut, turn), `augment.py` (the same as objects), `boxes.py` (…that move boxes,
too), `sources.py` and `iterator.py` (batches), `detection.py` (batches with boxes).
`image.py` and `detection.py` are the two modules that MXNet has.
"""

from typing import TYPE_CHECKING

from minimx.aliases import resolve as _resolve
from minimx.image import detection, image
from minimx.image import detection as det
from minimx.image.detection import (
    CreateDetAugmenter,
    CreateMultiRandCropAugmenter,
    DetAugmenter,
    DetBorrowAug,
    DetHorizontalFlipAug,
    DetRandomCropAug,
    DetRandomPadAug,
    DetRandomSelectAug,
    ImageDetIter,
)
from minimx.image.image import (
    Augmenter,
    BrightnessJitterAug,
    CastAug,
    CenterCropAug,
    ColorJitterAug,
    ColorNormalizeAug,
    ContrastJitterAug,
    CreateAugmenter,
    ForceResizeAug,
    HorizontalFlipAug,
    HueJitterAug,
    ImageIter,
    LightingAug,
    RandomCropAug,
    RandomGrayAug,
    RandomOrderAug,
    RandomSizedCropAug,
    ResizeAug,
    SaturationJitterAug,
    SequentialAug,
    center_crop,
    color_normalize,
    copyMakeBorder,
    fixed_crop,
    imdecode,
    imread,
    imresize,
    imrotate,
    random_crop,
    random_rotate,
    random_size_crop,
    resize_short,
    scale_down,
)

__all__ = [
    "Augmenter", "BrightnessJitterAug", "CastAug", "CenterCropAug", "ColorJitterAug",
    "ColorNormalizeAug", "ContrastJitterAug", "CreateAugmenter", "CreateDetAugmenter",
    "CreateMultiRandCropAugmenter", "DetAugmenter", "DetBorrowAug",
    "DetHorizontalFlipAug", "DetRandomCropAug", "DetRandomPadAug", "DetRandomSelectAug",
    "ForceResizeAug", "HorizontalFlipAug", "HueJitterAug", "ImageDetIter", "ImageIter",
    "LightingAug", "RandomCropAug", "RandomGrayAug", "RandomOrderAug",
    "RandomSizedCropAug", "ResizeAug", "SaturationJitterAug", "SequentialAug",
    "center_crop", "color_normalize", "copyMakeBorder", "det", "detection",
    "fixed_crop", "image", "imdecode", "imread", "imresize", "imrotate", "random_crop",
    "random_rotate", "random_size_crop", "resize_short", "scale_down",
]  # fmt: skip

if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        return _resolve(__name__, name, __all__)
