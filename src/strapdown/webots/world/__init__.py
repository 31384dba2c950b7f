"""A world in time: steps, robots, and the requests of controllers and supervisors."""
