"""PX4 logs as a whole: topics, parameters, health, integration and verification."""
