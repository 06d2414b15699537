"""Images in files, for the tests of this room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minimx.image import codec


def picture(number: int, height: int = 40, width: int = 50) -> Any:
    """A small image whose mean brightness tells its number."""
    y, x = np.mgrid[:height, :width]
    image = np.stack([x, y, x + y], -1) % 40 + 10 * number
    return image.astype(np.uint8)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven images, 0.png to 6.png."""
    place = tmp_path_factory.mktemp("images")
    for number in range(7):
        size = (40 + number, 50 - number)
        content = codec.encode(picture(number, *size)[..., ::-1], ".png", 1)
        (place / f"{number}.png").write_bytes(content)
    return place
