"""`npx.image`: operators on images, `_image_*` in the registry."""

from minimx.nd.namespaces import install_namespace
from minimx.npx.operators import functions_of as _functions_of

install_namespace(
    __name__, "mx.npx.image", "_image_", functions=_functions_of("_image_", "image.")
)
