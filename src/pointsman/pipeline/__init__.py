"""The Spark runtime: each stage of the routing table as a function from DataFrame to DataFrame."""
