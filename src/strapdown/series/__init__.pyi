from .series import ImuSeries as ImuSeries
from .series import Increments as Increments
from .series import SensorIdentity as SensorIdentity
from .series import Trajectory as Trajectory
