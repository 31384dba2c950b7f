"""The pieces of VQF that know nothing of its state."""
