"""`mx.nd.linalg`: `nd.linalg.gemm2` is the operator `_linalg_gemm2`."""

from minimx.nd.rooms import open_room

open_room(__name__, "mx.nd.linalg", "_linalg_", "linalg_")
