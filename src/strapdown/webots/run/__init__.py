"""Runs of a world: controllers in processes, recordings, whole runs as arrays."""
