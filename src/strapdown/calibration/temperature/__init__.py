"""Calibration of biases against temperature."""
