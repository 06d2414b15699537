"""What views draw, as pure functions: static pictures and layouts."""
