# Written by `python -m minimx.nd.stubs` from the data sheets in minimx/ops.
from collections.abc import Sequence
from typing import Any

from minimx.nd.array import NDArray


