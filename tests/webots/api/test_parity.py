"""The controller interface against Webots R2025a: names, signatures, types.

Signatures are those of the Python tabs of the reference manual, and those that a Python shell
prints for the client library of that release. ``robot`` is an additional parameter of all classes
that belong to a robot.
"""

from __future__ import annotations

import inspect
import math
import re

import pytest

from strapdown.webots import api
from strapdown.webots.api import Device, Pen, Robot, Sensor

DEVICE = "getName() getModel() getNodeType()"
SENSOR = f"{DEVICE} enable(p) disable() getSamplingPeriod()"
PRESENCE = (
    "enablePresence(sampling_period) disablePresence() getPresence() getPresenceSamplingPeriod()"
)
NAMED = "name"
PERIODIC = "name, sampling_period=None"
FIELD_TYPES = "Bool Int32 Float Vec2f Vec3f Rotation Color String"
DEPRECATED = """
    Accelerometer Altimeter Brake Camera Compass Connector Display DistanceSensor Emitter
    GPS Gyro InertialUnit LED Lidar LightSensor Motor Pen PositionSensor Radar RangeFinder
    Receiver Skin Speaker TouchSensor
"""

METHODS = {
    "Device": f"__init__({NAMED}) {DEVICE}",
    "Sensor": f"__init__({PERIODIC}) {SENSOR}",
    "Accelerometer": f"__init__({PERIODIC}) {SENSOR} getValues() getLookupTable()",
    "Gyro": f"__init__({PERIODIC}) {SENSOR} getValues() getLookupTable()",
    "Compass": f"__init__({PERIODIC}) {SENSOR} getValues() getLookupTable()",
    "InertialUnit": f"""__init__({PERIODIC}) {SENSOR}
        getRollPitchYaw() getQuaternion() getNoise()""",
    "GPS": f"""__init__({PERIODIC}) {SENSOR} getValues() getSpeed() getSpeedVector()
        getCoordinateSystem() convertToDegreesMinutesSeconds(decimalDegrees)""",
    "Altimeter": f"__init__({PERIODIC}) {SENSOR} getValue()",
    "PositionSensor": f"""__init__({PERIODIC}) {SENSOR} getValue() getType() getMotor()
        getBrake()""",
    "DistanceSensor": f"""__init__({PERIODIC}) {SENSOR} getValue() getAperture() getLookupTable()
        getMaxValue() getMinValue() getType()""",
    "LightSensor": f"__init__({PERIODIC}) {SENSOR} getValue() getLookupTable()",
    "TouchSensor": f"""__init__({PERIODIC}) {SENSOR} getValue() getValues() getLookupTable()
        getType()""",
    "Motor": f"""__init__({NAMED}) {DEVICE} setPosition(position) setVelocity(velocity)
        setAcceleration(acceleration) setAvailableForce(force) setAvailableTorque(torque)
        setControlPID(p,i,d) setForce(force) setTorque(torque) getTargetPosition()
        getMinPosition() getMaxPosition() getVelocity() getMaxVelocity() getAcceleration()
        getAvailableForce() getMaxForce() getAvailableTorque() getMaxTorque() getMultiplier()
        enableForceFeedback(sampling_period) disableForceFeedback()
        getForceFeedbackSamplingPeriod() getForceFeedback()
        enableTorqueFeedback(sampling_period) disableTorqueFeedback()
        getTorqueFeedbackSamplingPeriod() getTorqueFeedback() getType() getBrake()
        getPositionSensor()""",
    "Brake": f"""__init__({NAMED}) {DEVICE} setDampingConstant(c) getType() getMotor()
        getPositionSensor()""",
    "LED": f"__init__({NAMED}) {DEVICE} set(v) get()",
    "Pen": f"__init__({NAMED}) {DEVICE} write(write) setInkColor(color,density)",
    "Connector": f"__init__({NAMED}) {DEVICE} {PRESENCE} lock() unlock() isLocked()",
    "VacuumGripper": f"__init__({NAMED}) {DEVICE} {PRESENCE} turnOn() turnOff() isOn()",
    "Camera": f"""__init__({PERIODIC}) {SENSOR} getExposure() setExposure(exposure)
        getFocalDistance() setFocalDistance(d) getFocalLength() getFov() setFov(f) getHeight()
        getWidth() getImage() getImageArray() imageGetRed(image,width,x,y)
        imageGetGreen(image,width,x,y) imageGetBlue(image,width,x,y) imageGetGray(image,width,x,y)
        getMaxFocalDistance() getMinFocalDistance() getMaxFov() getMinFov() getNear()
        saveImage(filename,quality) hasRecognition() recognitionEnable(sampling_period)
        recognitionDisable() getRecognitionSamplingPeriod() getRecognitionNumberOfObjects()
        getRecognitionObjects() hasRecognitionSegmentation() enableRecognitionSegmentation()
        disableRecognitionSegmentation() isRecognitionSegmentationEnabled()
        getRecognitionSegmentationImage() getRecognitionSegmentationImageArray()
        saveRecognitionSegmentationImage(filename,quality)""",
    "CameraRecognitionObject": """getId() getPosition() getOrientation() getSize()
        getPositionOnImage() getSizeOnImage() getNumberOfColors() getColors() getModel()""",
    "RangeFinder": f"""__init__({PERIODIC}) {SENSOR} getFov() getWidth() getHeight() getMaxRange()
        getMinRange() getRangeImage(data_type='list') getRangeImageArray()
        rangeImageGetDepth(image,width,x,y) saveImage(filename,quality)""",
    "Lidar": f"""__init__({PERIODIC}) {SENSOR} getFov() getVerticalFov() getMaxFrequency()
        getMinFrequency() getMaxRange() getMinRange() getHorizontalResolution() getNumberOfLayers()
        getFrequency() setFrequency(frequency) getNumberOfPoints() getRangeImage()
        getRangeImageArray() getLayerRangeImage(layer) disablePointCloud() enablePointCloud()
        isPointCloudEnabled() getPointCloud() getLayerPointCloud(layer)""",
    "LidarPoint": "__init__(data,offset)",
    "Radar": f"""__init__({PERIODIC}) {SENSOR} getMaxRange() getMinRange() getHorizontalFov()
        getVerticalFov() getNumberOfTargets() getTargets()""",
    "RadarTarget": "__init__(distance,receiver_power,speed,azimuth)",
    "Receiver": f"""__init__({PERIODIC}) {SENSOR} getBytes() getData() getDataSize() getFloats()
        getInts() getBools() getQueueLength() getString() nextPacket() getSignalStrength()
        getEmitterDirection() getChannel() setChannel(channel)""",
    "Emitter": f"""__init__({NAMED}) {DEVICE} getBufferSize() send(message,length=None) getChannel()
        setChannel(channel) getRange() setRange(range)""",
    "Display": f"""__init__({NAMED}) {DEVICE} attachCamera(camera) detachCamera()
        drawLine(x1,y1,x2,y2) drawOval(cx,cy,a,b) drawPixel(x,y) drawPolygon(x,y)
        drawRectangle(x,y,width,height) drawText(text,x,y) fillOval(cx,cy,a,b) fillPolygon(x,y)
        fillRectangle(x,y,width,height) getHeight() getWidth() imageCopy(x,y,width,height)
        imageDelete(image) imageNew(data,format,width,height) imageLoad(filename)
        imagePaste(image,x,y,blend) imageSave(image,filename) setAlpha(alpha) setColor(color)
        setFont(font,size,anti_aliasing) setOpacity(opacity)""",
    "Speaker": f"""__init__({NAMED}) {DEVICE} stop(sound=None) isSoundPlaying(sound)
        setEngine(engine) setLanguage(language) getLanguage() getEngine() isSpeaking()
        speak(text,volume) playSound(left,right,sound,volume,pitch,balance,loop)""",
    "Skin": f"""__init__({NAMED}) {DEVICE} getBoneCount() getBoneName(index)
        getBoneOrientation(index,absolute) getBonePosition(index,absolute)
        setBoneOrientation(index,orientation,absolute) setBonePosition(index,position,absolute)""",
    "Keyboard": """__init__(sampling_period=None) enable(p) disable() getSamplingPeriod()
        getKeyCode() getKey() get_key()""",
    "Mouse": """__init__(sampling_period=None) enable(p) disable() getSamplingPeriod() getState()
        enable3dPosition() disable3dPosition() is3dPositionEnabled()""",
    "MouseState": "__init__(u,v,x,y,z,left,middle,right)",
    "Joystick": """__init__(sampling_period=None) enable(p) disable() getSamplingPeriod()
        isConnected() getNumberOfAxes() getAxisValue(axis) getNumberOfPovs() getPovValue(pov)
        getPressedButton() setConstantForce(level) setConstantForceDuration(duration)
        setAutoCenteringGain(gain) setResistanceGain(gain) setForceAxis(axis)""",
    "Motion": """__init__(filename) isValid() play() stop() setLoop(loop) setReverse(reverse)
        isOver() getDuration() getTime() setTime(time)""",
    "Robot": f"""step(time_step=None) stepBegin(time_step=None) stepEnd() getDevice(name)
        getDeviceByIndex(index) getNumberOfDevices() getKeyboard() getMouse() getJoystick()
        getBasicTimeStep() getName() getModel() getCustomData() setCustomData(data)
        getProjectPath() getWorldPath() getSupervisor() getSynchronization() getTime()
        getUrdf(prefix='') wwiSendText(text) wwiReceiveText()
        waitForUserInputEvent(event_type,timeout) batterySensorEnable(sampling_period)
        batterySensorDisable() batterySensorGetSamplingPeriod() batterySensorGetValue() getMode()
        setMode(mode,arg) {" ".join(f"get{kind}(name)" for kind in DEPRECATED.split())}""",
    "Supervisor": """getRoot() getSelf() getFromDef(d) getFromId(id) getFromDevice(tag)
        getSelected() setLabel(id,label,x,y,size,color,transparency=0,font='Arial')
        simulationQuit(status) simulationSetMode(mode) simulationGetMode() simulationReset()
        simulationResetPhysics() worldLoad(filename) worldSave(filename=None) worldReload()
        exportImage(filename,quality)
        movieStartRecording(filename,width,height,codec,quality,acceleration,caption)
        movieStopRecording() movieIsReady() movieFailed() animationStartRecording(filename)
        animationStopRecording() virtualRealityHeadsetIsUsed() virtualRealityHeadsetGetPosition()
        virtualRealityHeadsetGetOrientation()""",
    "Node": """__init__(DEF=None,tag=None,id=None,selected=None,ref=None) getDef() getId()
        getParentNode() isProto() getProto() getFromProtoDef(DEF) getType() getTypeName()
        getBaseTypeName() remove() exportString() getField(fieldName) getFieldByIndex(index)
        getNumberOfFields() getBaseNodeField(fieldName) getBaseNodeFieldByIndex(index)
        getNumberOfBaseNodeFields() getPosition() getOrientation() getPose(fromNode=None)
        enablePoseTracking(samplingPeriod,fromNode=None) disablePoseTracking(fromNode=None)
        getCenterOfMass() getContactPoints(includeDescendants=False)
        enableContactPointsTracking(samplingPeriod,includeDescendants=False)
        disableContactPointsTracking(includeDescendants=False) getStaticBalance() getVelocity()
        setVelocity(velocity) saveState(stateName) loadState(stateName) resetPhysics()
        setJointPosition(position,index=1) restartController() moveViewpoint()
        setVisibility(fromNode,visible) addForce(force,relative)
        addForceWithOffset(force,offset,relative) addTorque(torque,relative)""",
    "Field": f"""__init__(ref) getName() getType() getTypeName() getCount() getActualField()
        enableSFTracking(samplingPeriod) disableSFTracking() getSFNode() getMFNode(index)
        {" ".join(f"getSF{kind}() getMF{kind}(index)" for kind in FIELD_TYPES.split())}
        {" ".join(f"setSF{kind}(value) setMF{kind}(index,value)" for kind in FIELD_TYPES.split())}
        {" ".join(f"insertMF{kind}(index,value)" for kind in FIELD_TYPES.split())}
        removeMF(index) removeSF() importMFNodeFromString(position,nodeString)
        importSFNodeFromString(nodeString)""",
    "Proto": """__init__(ref) getTypeName() getParent() getField(name) getFieldByIndex(index)
        getNumberOfFields() isDerived()""",
    "ContactPoint": "__init__(point) getPoint() getNodeId()",
}

PROPERTIES = {
    "Device": "name model node_type",
    "Sensor": "sampling_period",
    "GPS": "value speed speed_vector coordinate_system",
    "Altimeter": "value",
    "PositionSensor": "value type motor brake",
    "DistanceSensor": "value aperture lookup_table max_value min_value type",
    "LightSensor": "value lookup_table",
    "TouchSensor": "value values lookup_table type",
    "Motor": """target_position target_velocity target_acceleration available_force
        available_torque min_position max_position max_velocity max_force max_torque multiplier
        force torque force_feedback torque_feedback force_feedback_sampling_period
        torque_feedback_sampling_period type brake position_sensor""",
    "Brake": "dampingConstant type motor position_sensor",
    "LED": "value",
    "Connector": "locked presence presence_sampling_period",
    "VacuumGripper": "on presence presence_sampling_period",
    "Camera": """image segmentation_image exposure focal_distance focal_length max_focal_distance
        min_focal_distance fov height min_fov max_fov near width""",
    "RangeFinder": "range_image fov width height max_range min_range",
    "Lidar": """range_image fov vertical_fov max_frequency min_frequency max_range min_range
        horizontal_resolution number_of_layers frequency number_of_points""",
    "Radar": "max_range min_range horizontal_fov vertical_fov number_of_targets",
    "Receiver": "queue_length data data_size string signal_strength emitter_direction channel",
    "Emitter": "buffer_size channel range",
    "Display": "alpha color opacity width height",
    "Skin": "bone_count",
    "Keyboard": "sampling_period",
    "Mouse": "sampling_period",
    "Joystick": """sampling_period is_connected model number_of_axes number_of_povs
        pressed_button""",
    "Motion": "time duration",
    "Supervisor": "simulation_mode",
    "Node": "DEF id type type_name base_type_name number_of_fields number_of_base_node_fields",
    "Field": "name type_name count value",
    "Proto": "type_name number_of_fields is_derived",
}

OURS = {"sample_time"}
"""Names that the interface of R2025a does not have."""

CALL = re.compile(r"(\w+)\(([^)]*)\)")


def classes():
    return {**{name: getattr(api, name) for name in api.__all__}, "Device": Device,
            "Sensor": Sensor, "Pen": Pen}  # fmt: skip


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_all_sections_of_the_recorded_names_are_read(recorded):
    assert len(recorded) == 6
    assert all(count == len(names) for count, names in recorded.values())


def test_the_module_exports_the_recorded_classes(recorded):
    (_, names), *_ = [recorded[key] for key in recorded if key.startswith("module")]
    assert set(api.__all__) == names
    assert all(isinstance(getattr(api, name), type) for name in names)


def test_a_robot_has_the_recorded_names_and_no_others(recorded, robot):
    assert public(robot()) - {"port"} == recorded["Robot"][1]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("InertialUnit", "inertial unit"),
        ("Accelerometer", "accelerometer"),
        ("Gyro", "gyro"),
        ("Compass", "compass"),
    ],
)
def test_a_device_has_the_recorded_names_and_one_of_ours(recorded, robot, kind, name):
    assert public(robot().getDevice(name)) - OURS == recorded[kind][1]


def signature(function, *, bound):
    """Return parameters as the manual writes them, without ``self`` and our additions."""
    parameters = list(inspect.signature(function).parameters.values())[bound:]
    parameters = [each for each in parameters if each.kind is not each.KEYWORD_ONLY]
    return ",".join(
        each.name if each.default is each.empty else f"{each.name}={each.default!r}"
        for each in parameters
    )


def test_methods_take_what_the_manual_says(subtests):
    for kind, manual in METHODS.items():
        with subtests.test(kind=kind):
            owner = classes()[kind]
            for name, parameters in CALL.findall(manual):
                static = isinstance(inspect.getattr_static(owner, name), staticmethod)
                found = signature(getattr(owner, name), bound=not static)
                assert found == parameters.replace(" ", ""), f"{kind}.{name}"


def test_every_class_of_the_module_is_in_the_table_of_methods():
    assert set(api.__all__) - set(METHODS) == {"AnsiCodes"}


def test_properties_are_there(subtests):
    for kind, names in PROPERTIES.items():
        with subtests.test(kind=kind):
            missing = set(names.split()) - public(classes()[kind])
            assert not missing


def test_there_are_no_public_methods_beyond_the_manual(subtests):
    for kind, manual in METHODS.items():
        with subtests.test(kind=kind):
            methods = {name for name, _ in CALL.findall(manual)}
            owner = classes()[kind]
            inherited = public(Robot) if kind == "Supervisor" else set()
            extra = {
                name
                for name in public(owner) - inherited - methods
                if inspect.isfunction(getattr(owner, name))
            }
            assert not extra


VECTOR, NUMBER = [float, float, float], float
RETURNS = {
    "Robot": {
        "getBasicTimeStep": NUMBER, "getTime": NUMBER, "getName": str, "getModel": str,
        "getCustomData": str, "getProjectPath": str, "getWorldPath": str, "getUrdf": str,
        "getSupervisor": bool, "getSynchronization": bool, "getNumberOfDevices": int,
        "getMode": int, "step": int, "batterySensorGetSamplingPeriod": int,
        "batterySensorGetValue": NUMBER, "wwiReceiveText": type(None), "basic_time_step": NUMBER,
        "custom_data": str, "mode": int, "model": str, "name": str, "number_of_devices": int,
        "project_path": str, "world_path": str, "supervisor": bool, "synchronization": bool,
        "time": NUMBER, "battery_sensor_sampling_period": int,
    },
    "inertial unit": {
        "getName": str, "getModel": str, "getNodeType": int, "getSamplingPeriod": int,
        "getRollPitchYaw": VECTOR, "getQuaternion": [*VECTOR, float], "getNoise": NUMBER,
        "name": str, "model": str, "node_type": int, "sampling_period": int,
        "roll_pitch_yaw": VECTOR, "quaternion": [*VECTOR, float], "noise": NUMBER,
    },
    **{
        name: {
            "getName": str, "getModel": str, "getNodeType": int, "getSamplingPeriod": int,
            "getValues": VECTOR, "getLookupTable": [float] * 6, "name": str, "model": str,
            "node_type": int, "sampling_period": int, "value": VECTOR,
            "lookup_table": [float] * 6,
        }
        for name in ("accelerometer", "gyro", "compass")
    },
}  # fmt: skip


@pytest.mark.parametrize("profile", ["documented", "R2025a", "R2021a"])
@pytest.mark.parametrize("name", RETURNS)
def test_calls_return_the_types_of_the_manual(robot, name, profile):
    table = {"lookup_table": [-1.0, -1.0, 0.0, 1.0, 1.0, 0.0]}
    parameters = dict.fromkeys(("Accelerometer", "Gyro", "Compass"), table)
    rob = robot(profile=profile, parameters=parameters, version=profile)
    thing = rob if name == "Robot" else rob.getDevice(name)
    if thing is not rob:
        thing.enable(32)
    rob.step(32)
    for member, expected in RETURNS[name].items():
        found = getattr(thing, member)
        value = found() if callable(found) else found
        if isinstance(expected, list):
            assert type(value) is list, member
            assert [type(each) for each in value] == expected, member
        else:
            assert type(value) is expected, member


@pytest.mark.parametrize("getter", ["getValues", "getLookupTable"])
def test_lists_are_fresh_at_every_call(robot, getter):
    rob = robot(parameters={"Gyro": {"lookup_table": [0.0, 0.0, 0.0]}})
    gyro = rob.getDevice("gyro")
    gyro.enable(32)
    rob.step(32)
    getattr(gyro, getter)()[0] = math.pi
    assert getattr(gyro, getter)()[0] != math.pi


def test_every_public_name_is_typed_and_documented():
    for kind, owner in classes().items():
        assert owner.__doc__, kind
        for name, member in vars(owner).items():
            if name.startswith("_"):
                continue
            function = member.fget or member.fset if isinstance(member, property) else member
            function = getattr(function, "__func__", function)
            if inspect.isfunction(function):
                hints = inspect.signature(function)
                assert function.__doc__, f"{kind}.{name}"
                assert hints.return_annotation is not hints.empty, f"{kind}.{name}"


def test_node_types_have_the_numbers_of_the_interface():
    from strapdown.webots.file.node_types import NODE_TYPES  # noqa: PLC0415 (of this test alone)

    def constant(kind):
        words = re.sub(r"(?<=[a-z])(?=[A-Z0-9])|(?<=\d)(?=[A-Z])|(?<=PBR)", "_", kind)
        return words.upper()

    numbers = {kind: number for kind, number in NODE_TYPES.items() if kind != "Supervisor"}
    assert {kind: getattr(api.Node, constant(kind)) for kind in numbers} == numbers
    assert (api.Node.ROBOT, api.Node.GPS, api.Node.VACUUM_GRIPPER) == (34, 44, 61)
