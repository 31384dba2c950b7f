"""Bodies of a world and what moves them: kinematics or MuJoCo."""
