"""The lab: choose what to train, train it, turn knobs, and watch."""
