"""`mx.sym.linalg`: operators called `_linalg_*`, under their short names."""

from minimx.nd.namespaces import install_namespace
from minimx.symbol.functions import FUNCTIONS

install_namespace(__name__, "mx.sym.linalg", "_linalg_", functions=FUNCTIONS)
