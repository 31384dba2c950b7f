"""What the error-state filter makes of the magnetic field."""
