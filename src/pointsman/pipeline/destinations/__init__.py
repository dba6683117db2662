"""The stage ``deliver``: deliveries are written to their destinations, one kind of destination a file."""
