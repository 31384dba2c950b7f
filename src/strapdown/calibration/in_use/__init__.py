"""Calibration in use: at rest, and from estimates in motion."""
