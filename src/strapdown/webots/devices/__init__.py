"""Devices of a robot: formulas, errors and refreshes."""
