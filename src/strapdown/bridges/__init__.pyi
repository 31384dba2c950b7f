from . import live as live
from . import mavlink as mavlink
from . import ros1 as ros1
from . import webots as webots
