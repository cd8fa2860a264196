"""Training: compiled gradients in a loop of updates, or handed to somebody else's optimiser."""
