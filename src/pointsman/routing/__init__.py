"""How a destination is chosen: one strategy, one file."""
