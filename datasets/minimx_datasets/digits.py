"""Real handwriting, 8 x 8 pixels, small enough to train on in a blink.

Optical Recognition of Handwritten Digits, by E. Alpaydin and C. Kaynak (1998), from the
UCI Machine Learning Repository, doi 10.24432/C50P49, licence CC BY 4.0. These are the
1,797 images of its test part, written by 13 people on forms. Each 32 x 32 bitmap was
cut into 4 x 4 blocks; a pixel is the number of ink dots in its block, from 0 to 16.

The source does not say who wrote which image, so both parts may hold the same hands: a
test score says how well a network knows these 13 people, not how well it reads yours.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from minimx_datasets.split import Split

TRAIN = 1_437


def load() -> Split:
    """Images (1437 + 360, 8, 8) of uint8 from 0 to 16, in the order of the source.

    >>> load().train_x[0][2].tolist()
    [0, 3, 15, 2, 0, 11, 8, 0]
    """
    stored = files("minimx_datasets") / "data" / "digits.npz"
    with stored.open("rb") as file, np.load(file, allow_pickle=False) as data:
        images, labels = data["images"], data["labels"]
    return Split(images[:TRAIN], labels[:TRAIN], images[TRAIN:], labels[TRAIN:])
