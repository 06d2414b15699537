"""What notebooks are made of: cards that predict, checks of exercises, and text."""
