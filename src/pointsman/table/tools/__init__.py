"""What people do with a table beside routing: expectations, coverage, differences, pictures."""
