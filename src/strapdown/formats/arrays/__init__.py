"""Columns of numbers in binary files: npz and Parquet."""
