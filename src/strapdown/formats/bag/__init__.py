"""ROS 1 and ROS 2 bags: reading, writing and salvage."""
