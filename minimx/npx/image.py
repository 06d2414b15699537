"""`npx.image`: operators on images, `image_*` in the registry."""

from minimx.nd.rooms import open_room

open_room(__name__, "mx.npx.image", "_image_")
