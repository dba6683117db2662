"""What a pipeline remembers from one micro-batch to the next."""
