"""What an operator writes: the routing table, loaded from one YAML file."""
