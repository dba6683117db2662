"""What a message must say: SQL predicates and metadata conditions."""
