"""What routes ask of messages, on Spark."""
