"""What PX4 remembers of the messages of two sensors."""
