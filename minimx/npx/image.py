"""`npx.image`: operators on images, `_image_*` in the registry."""

from minimx.nd.rooms import open_room
from minimx.npx.operators import room as _room

open_room(__name__, "mx.npx.image", "_image_", functions=_room("_image_", "image."))
