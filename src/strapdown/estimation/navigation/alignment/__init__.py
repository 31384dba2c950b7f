"""The start of the strapdown navigator."""
