"""`mx.image`: read, cut and colour images, and hand them out in batches.

`codec.py` reads and writes files with OpenCV or Pillow.
"""

__all__: list[str] = []
