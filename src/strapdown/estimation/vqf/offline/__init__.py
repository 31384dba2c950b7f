"""The kernels of the offline VQF."""
