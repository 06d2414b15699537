"""How operators on images, on boxes in them, and on regions run on CUDA."""
