from .allan import AllanAccumulator as AllanAccumulator
from .files import load_calibration as load_calibration
from .files import save_calibration as save_calibration
from .imu import ImuCalibration as ImuCalibration
from .imu import Provenance as Provenance
from .triad import TemperatureCurve as TemperatureCurve
from .triad import TriadCalibration as TriadCalibration
