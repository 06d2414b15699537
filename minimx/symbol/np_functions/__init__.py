"""What `mx.sym.np` offers beyond operators of the same name."""
