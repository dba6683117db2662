"""The benchmarks behind ``pointsman bench``. Each compares with peers in the same run, on the same data."""
