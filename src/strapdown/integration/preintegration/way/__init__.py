"""One step of preintegration."""
