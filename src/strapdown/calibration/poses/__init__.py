"""Calibration of accelerometer and gyro from poses and turns."""
