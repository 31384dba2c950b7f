"""What single samples tell the error-state filter: rest, and what has been lost."""
