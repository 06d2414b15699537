"""`npx.image`: operators on images, `_image_*` in the registry."""

from minimx.nd.namespaces import install_namespace
from minimx.npx.operators import room as _room

install_namespace(
    __name__, "mx.npx.image", "_image_", functions=_room("_image_", "image.")
)
