"""Reading and writing the small formats that text from outside comes in: JSON, Base64, times."""
