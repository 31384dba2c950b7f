from .motions import Ride as Ride
from .motions import find_motion as find_motion
from .recorder import SimulationReport as SimulationReport
from .recorder import record as record
from .run import Simulation as Simulation
from .run import find_sensor as find_sensor
from .run import rest_deviation as rest_deviation
from .run import simulate as simulate
