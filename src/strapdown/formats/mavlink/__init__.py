"""MAVLink: IMU messages and attitude as records and series, frames, and telemetry logs."""
