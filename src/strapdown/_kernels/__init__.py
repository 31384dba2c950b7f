"""Kernels: one source that runs as plain Python and as machine code."""
