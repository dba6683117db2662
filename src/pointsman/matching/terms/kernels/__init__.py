"""Compiled code of the index for metadata conditions: plain functions over plain arrays, compiled by numba."""
