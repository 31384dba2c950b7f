"""The kernels of the strapdown navigator."""
