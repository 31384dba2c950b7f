"""Voting: how far each sensor is from the middle of all."""
