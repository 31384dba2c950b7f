"""ArduPilot's DataFlash log: records, their units, and series."""
