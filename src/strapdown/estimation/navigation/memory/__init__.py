"""What the strapdown navigator remembers."""
