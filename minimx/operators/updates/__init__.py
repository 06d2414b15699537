"""Update operators of optimizers beside the main ones."""
