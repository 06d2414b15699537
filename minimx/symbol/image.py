"""`mx.sym.image`: operators called `_image_*`, under their short names."""

from minimx.nd.namespaces import install_namespace
from minimx.symbol.functions import FUNCTIONS

install_namespace(__name__, "mx.sym.image", "_image_", functions=FUNCTIONS)
