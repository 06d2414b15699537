"""What some examples need of the machine, in the words of the cards."""

from __future__ import annotations

from typing import Final

SIMULATED: Final = "a simulated GPU (MINIMX_CUDA=off where there is a CUDA device)"
CUDA: Final = "a CUDA device, or NUMBA_ENABLE_CUDASIM=1 in the environment"
ONEDNN: Final = "oneDNN (pip install 'minimx[onednn]')"
OURS: Final = "minimx's own kernels (MXNET_ONEDNN_ENABLED=0 where oneDNN is installed)"
OPENCV: Final = "OpenCV (pip install opencv-python-headless)"
LINUX: Final = "Linux and two cores"
