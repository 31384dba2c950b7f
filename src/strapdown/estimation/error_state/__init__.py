"""The error-state model that the online filter and the smoother share."""
