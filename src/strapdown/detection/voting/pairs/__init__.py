"""Voting: which of two sensors that differ is wrong."""
