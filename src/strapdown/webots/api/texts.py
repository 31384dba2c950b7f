"""Messages to a controller on stderr, in the wording of the Webots R2025a controller library."""

from __future__ import annotations

import sys

__all__ = ["say"]

NEGATIVE_PERIOD = "Error: wb_{0}_enable() called with negative sampling period."
DISABLED = "Error: wb_{0}_{1}() called for a disabled device! Please use: wb_{0}_enable()."
INVALID_TAG = "Error: wb_{0}_{1}(): invalid device tag."
NO_SUCH_TAG = "Error: device with tag={0} not found."
NO_DEVICE_ON_ROBOT = 'Device "{0}" was not found on robot "{1}"'
INDEX_OUT_OF_BOUNDS = "Error: The index of wb_robot_get_device_by_index() is out of the bounds."
SECOND_ROBOT = "Error: only one Robot instance can be created per controller process."
EMPTY_NAME = "Error: wb_robot_get_device() called with NULL or empty argument."
UNSUPPORTED_TYPE = 'Unsupported device type: {0} for device named "{1}"'
NO_DEVICE = 'Warning: "{0}" device not found.'
STEP_BEFORE_END = "Warning: wb_robot_step() called before calling wb_robot_step_end()."
SECOND_BEGIN = (
    "Warning: robot_step_begin() called multiple times before calling wb_robot_step_end()."
)
SECOND_END = "Warning: robot_step_end() called multiple times before calling wb_robot_step_begin()."
VERSIONS_DIFFER = (
    "Warning: Webots [{0}] and libController [{1}] versions are not the same for Robot '{2}'! "
    "Different versions can lead to undefined behavior."
)
DEPRECATED_GETTER = "DEPRECATION: Robot.get{0} is deprecated, please use Robot.getDevice instead."
DEPRECATED_DATA = (
    "DEPRECATION: Receiver.getData is deprecated, please use Receiver.getString instead."
)
UNSUPPORTED_DATA = "Emitter.send(): unsupported data type: {0}"
WRONG_MODE = "Error: wb_robot_set_mode() cannot set mode to {0}."
NOT_A_NUMBER = "Error: wb_motor_{0}() called with an invalid '{1}' argument (NaN)."
NOT_A_SUPERVISOR = (
    "Error: ignoring illegal call to {0}() in a 'Robot' controller.\n"
    "Error: this function can only be used in a 'Supervisor' controller."
)
WRONG_VALUE = "Error: new field value has wrong type or length."
WRONG_LENGTH = "Error: {0}(): length of 'value' argument should be {1}."
INERT_DEVICES = "inert devices: {0}; calls are accepted and nothing is simulated"
INERT_CALL = "inert call: {0}() is accepted and nothing is simulated"


def say(text: str, *values: object) -> None:
    """Write one message."""
    sys.stderr.write(text.format(*values) + "\n")
