from .gnss import BarometerSeries as BarometerSeries
from .gnss import FixType as FixType
from .gnss import GnssSeries as GnssSeries
from .gnss import pressure_altitude as pressure_altitude
from .series import ImuSeries as ImuSeries
from .series import Increments as Increments
from .series import SensorIdentity as SensorIdentity
from .series import Trajectory as Trajectory
