"""The pipeline as a running program: a source, a table, destinations, and what a restart needs to go on."""
