"""`mx.nd.linalg`: `nd.linalg.gemm2` is the operator `_linalg_gemm2`."""

from minimx.nd.namespaces import install_namespace

install_namespace(__name__, "mx.nd.linalg", "_linalg_", "linalg_")
