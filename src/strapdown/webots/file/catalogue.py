"""The node types of world files: fields with their types and defaults.

Facts as the reference manual of Webots R2025a prints them (https://cyberbotics.com/doc/reference),
with the deprecated fields of older files that still have an effect. An unindented line names a
type, its number in the controller interface (0: abstract or none) and its bases; the lines below
hold its fields, separated by semicolons. A field that is repeated overrides the default
of a base.
"""

from __future__ import annotations

__all__ = ["CATALOGUE"]

CATALOGUE = """
Node 0
Device 0
Motor 0 Device
Joint 0
Light 0
Geometry 0

WorldInfo 84 Node
    MFString info []; SFString title ""; SFString window ""; SFGravity gravity 9.81
    SFFloat CFM 0.00001; SFFloat ERP 0.2; SFString physics ""; SFFloat basicTimeStep 32
    SFFloat FPS 60; SFInt32 optimalThreadCount 1; SFFloat physicsDisableTime 1
    SFFloat physicsDisableLinearThreshold 0.01; SFFloat physicsDisableAngularThreshold 0.01
    SFNode defaultDamping NULL; SFFloat dragForceScale 30; SFFloat dragTorqueScale 5
    SFFloat inkEvaporation 0; SFString coordinateSystem "ENU"
    SFString gpsCoordinateSystem "local"; SFVec3f gpsReference 0 0 0; SFFloat lineScale 0.1
    SFInt32 randomSeed 0; MFNode contactProperties []; SFVec3f northDirection 0 1 0
    SFFloat displayRefresh 2; SFString fast2d ""
ContactProperties 65 Node
    SFString material1 "default"; SFString material2 "default"; MFFloat coulombFriction [ 1 ]
    SFVec2f frictionRotation 0 0; SFVec3f rollingFriction 0 0 0; SFFloat bounce 0.5
    SFFloat bounceVelocity 0.01; MFFloat forceDependentSlip [ 0 ]; SFFloat softERP 0.2
    SFFloat softCFM 0.001; SFString bumpSound ""; SFString rollSound ""; SFString slideSound ""
    SFInt32 maxContactPoints -1; SFInt32 maxContactJoints 10

Viewpoint 33 Node
    SFFloat fieldOfView 0.785398; SFRotation orientation 0 0 1 0; SFVec3f position 0 0 10
    SFString description ""; SFFloat near 0.05; SFFloat far 0; SFFloat exposure 1
    SFString follow ""; SFString followType "Tracking Shot"; SFFloat followSmoothness 0.5
    SFNode lensFlare NULL; SFFloat ambientOcclusionRadius 2; SFFloat bloomThreshold 21
    SFBool followOrientation FALSE
Background 2 Node
    MFColor skyColor [ 0 0 0 ]; MFString backUrl []; MFString bottomUrl []; MFString frontUrl []
    MFString leftUrl []; MFString rightUrl []; MFString topUrl []; MFString backIrradianceUrl []
    MFString bottomIrradianceUrl []; MFString frontIrradianceUrl []; SFFloat luminosity 1
    MFString leftIrradianceUrl []; MFString rightIrradianceUrl []; MFString topIrradianceUrl []
Fog 13 Node
    SFColor color 1 1 1; SFString fogType "LINEAR"; SFFloat visibilityRange 0
DirectionalLight 11 Light
    SFFloat ambientIntensity 0; SFColor color 1 1 1; SFVec3f direction 0 0 -1
    SFFloat intensity 1; SFBool on TRUE; SFBool castShadows FALSE
PointLight 24 Light
    SFFloat ambientIntensity 0; SFVec3f attenuation 1 0 0; SFColor color 1 1 1
    SFFloat intensity 1; SFVec3f location 0 0 0; SFBool on TRUE; SFFloat radius 100
    SFBool castShadows FALSE
SpotLight 29 Light
    SFFloat ambientIntensity 0; SFVec3f attenuation 1 0 0; SFFloat beamWidth 1.570796
    SFColor color 1 1 1; SFFloat cutOffAngle 0.785398; SFVec3f direction 0 0 -1
    SFFloat intensity 1; SFVec3f location 0 0 0; SFBool on TRUE; SFFloat radius 100
    SFBool castShadows FALSE

Group 14 Node
    MFNode children []
Pose 26 Group
    SFVec3f translation 0 0 0; SFRotation rotation 0 0 1 0; SFVec3f scale 1 1 1
    SFFloat translationStep 0.01; SFFloat rotationStep 0.261799387
Transform 32 Pose
Billboard 3 Group
Solid 80 Pose
    SFString name "solid"; SFString model ""; SFString description ""
    SFString contactMaterial "default"; MFNode immersionProperties []; SFNode boundingObject NULL
    SFNode physics NULL; SFBool locked FALSE; SFFloat radarCrossSection 0
    MFColor recognitionColors []; SFVec3f linearVelocity 0 0 0; SFVec3f angularVelocity 0 0 0
Robot 34 Solid
    SFString name "robot"; SFString controller "<generic>"; MFString controllerArgs []
    SFString customData ""; SFBool supervisor FALSE; SFBool synchronization TRUE
    MFFloat battery []; SFFloat cpuConsumption 10; SFBool selfCollision FALSE
    SFString window "<generic>"; SFString remoteControl "<none>"; SFString data ""
Supervisor 34 Robot
    SFBool supervisor TRUE
Charger 64 Solid
    MFFloat battery []; SFFloat radius 0.04; SFColor emissiveColor 0 1 0; SFBool gradual TRUE
Fluid 67 Pose
    SFString name "fluid"; SFString model ""; SFString description ""; SFFloat density 1000
    SFFloat viscosity 0.001; SFVec3f streamVelocity 0 0 0; SFNode boundingObject NULL
    SFBool locked FALSE
CadShape 5 Node
    MFString url []; SFBool ccw TRUE; SFBool castShadows TRUE; SFBool isPickable TRUE
SolidReference 81 Node
    SFString solidName ""
Slot 79 Node
    SFString type ""; SFNode endPoint NULL

Physics 76 Node
    SFFloat density 1000; SFFloat mass -1; MFVec3f centerOfMass []; MFVec3f inertiaMatrix []
    SFNode damping NULL
Damping 66 Node
    SFFloat linear 0.2; SFFloat angular 0.2
ImmersionProperties 72 Node
    SFString fluidName ""; SFString referenceArea "immersed area"
    SFVec3f dragForceCoefficients 0 0 0; SFVec3f dragTorqueCoefficients 0 0 0
    SFFloat viscousResistanceForceCoefficient 0; SFFloat viscousResistanceTorqueCoefficient 0

HingeJoint 69 Joint
    SFNode jointParameters NULL; MFNode device []; SFNode endPoint NULL
Hinge2Joint 71 HingeJoint
    SFNode jointParameters2 NULL; MFNode device2 []
BallJoint 62 Hinge2Joint
    SFNode jointParameters3 NULL; MFNode device3 []
SliderJoint 78 Joint
    SFNode jointParameters NULL; MFNode device []; SFNode endPoint NULL
JointParameters 73 Node
    SFFloat position 0; SFVec3f axis 0 0 1; SFFloat minStop 0; SFFloat maxStop 0
    SFFloat springConstant 0; SFFloat dampingConstant 0; SFFloat staticFriction 0
HingeJointParameters 70 JointParameters
    SFVec3f axis 1 0 0; SFVec3f anchor 0 0 0; SFFloat suspensionSpringConstant 0
    SFFloat suspensionDampingConstant 0; SFVec3f suspensionAxis 1 0 0
    SFFloat stopERP -1; SFFloat stopCFM -1
BallJointParameters 63 Node
    SFFloat position 0; SFVec3f anchor 0 0 0; SFFloat minStop 0; SFFloat maxStop 0
    SFFloat springConstant 0; SFFloat dampingConstant 0; SFFloat staticFriction 0
RotationalMotor 57 Motor
    SFString name "rotational motor"; SFFloat acceleration -1; SFFloat consumptionFactor 10
    SFVec3f controlPID 10 0 0; SFFloat maxVelocity 10; SFFloat minPosition 0
    SFFloat maxPosition 0; SFFloat maxTorque 10; SFFloat multiplier 1
    SFString sound "sounds/rotational_motor.wav"; MFNode muscles []
LinearMotor 50 Motor
    SFString name "linear motor"; SFFloat acceleration -1; SFFloat consumptionFactor 10
    SFVec3f controlPID 10 0 0; SFFloat maxVelocity 10; SFFloat minPosition 0
    SFFloat maxPosition 0; SFFloat maxForce 10; SFFloat multiplier 1
    SFString sound "sounds/linear_motor.wav"; MFNode muscles []
PositionSensor 52 Device
    SFString name "position sensor"; SFFloat noise 0; SFFloat resolution -1
Brake 37 Device
    SFString name "brake"
Muscle 20 Node
    SFFloat volume 0.01; SFVec3f startOffset 0 0 0; SFVec3f endOffset 0 0 0; MFColor color []
    SFBool castShadows TRUE; SFBool visible TRUE
Propeller 53 Node
    SFVec3f shaftAxis 1 0 0; SFVec3f centerOfThrust 0 0 0; SFVec2f thrustConstants 1 0
    SFVec2f torqueConstants 1 0; SFFloat fastHelixThreshold 75.4; SFNode device NULL
    SFNode fastHelix NULL; SFNode slowHelix NULL
Track 82 Solid
    SFString name "track"; MFNode device []; SFVec2f textureAnimation 0 0
    SFNode animatedGeometry NULL; SFInt32 geometriesCount 10
TrackWheel 83 Pose
    SFFloat radius 0.1; SFBool inner TRUE

InertialUnit 46 Solid Device
    SFString name "inertial unit"; SFFloat noise 0; SFBool xAxis TRUE; SFBool yAxis TRUE
    SFBool zAxis TRUE; SFFloat resolution -1; MFVec3f lookupTable []
Accelerometer 35 Solid Device
    SFString name "accelerometer"; MFVec3f lookupTable []; SFBool xAxis TRUE; SFBool yAxis TRUE
    SFBool zAxis TRUE; SFFloat resolution -1
Gyro 45 Solid Device
    SFString name "gyro"; MFVec3f lookupTable []; SFBool xAxis TRUE; SFBool yAxis TRUE
    SFBool zAxis TRUE; SFFloat resolution -1
Compass 39 Solid Device
    SFString name "compass"; MFVec3f lookupTable []; SFBool xAxis TRUE; SFBool yAxis TRUE
    SFBool zAxis TRUE; SFFloat resolution -1
GPS 44 Solid Device
    SFString name "gps"; SFString type "satellite"; SFFloat accuracy 0; SFFloat resolution -1
    SFFloat noiseCorrelation 0; SFFloat speedNoise 0; SFFloat speedResolution -1
Altimeter 36 Solid Device
    SFString name "altimeter"; SFFloat accuracy 0; SFFloat resolution -1
TouchSensor 60 Solid Device
    SFString name "touch sensor"; SFString type "bumper"; SFFloat resolution -1
    MFVec3f lookupTable [ 0 0 0 5000 50000 0 ]
DistanceSensor 42 Solid Device
    SFString name "distance sensor"; MFVec3f lookupTable [ 0 0 0 0.1 1000 0 ]
    SFString type "generic"; SFInt32 numberOfRays 1; SFFloat aperture 1.5708
    SFFloat gaussianWidth 1; SFFloat resolution -1; SFFloat redColorSensitivity 1
LightSensor 49 Solid Device
    SFString name "light sensor"; MFVec3f lookupTable [ 0 0 0 1 1000 0 ]
    SFColor colorFilter 1 1 1; SFBool occlusion FALSE; SFFloat resolution -1
Camera 38 Solid Device
    SFString name "camera"; SFFloat fieldOfView 0.785398; SFInt32 width 64; SFInt32 height 64
    SFString projection "planar"; SFFloat near 0.01; SFFloat far 0; SFFloat exposure 1
    SFBool antiAliasing FALSE; SFFloat ambientOcclusionRadius 0; SFFloat bloomThreshold -1
    SFFloat motionBlur 0; SFFloat noise 0; SFString noiseMaskUrl ""; SFNode lens NULL
    SFNode focus NULL; SFNode zoom NULL; SFNode recognition NULL; SFNode lensFlare NULL
    SFBool spherical FALSE
RangeFinder 55 Solid Device
    SFString name "range-finder"; SFFloat fieldOfView 0.785398; SFInt32 width 64
    SFInt32 height 64; SFString projection "planar"; SFFloat near 0.01; SFFloat minRange 0.01
    SFFloat maxRange 1; SFFloat motionBlur 0; SFFloat noise 0; SFFloat resolution -1
    SFNode lens NULL; SFBool spherical FALSE
Lidar 48 Solid Device
    SFString name "lidar"; SFFloat tiltAngle 0; SFInt32 horizontalResolution 512
    SFFloat fieldOfView 1.5708; SFFloat verticalFieldOfView 0.2; SFInt32 numberOfLayers 4
    SFFloat near 0.01; SFFloat minRange 0.01; SFFloat maxRange 1; SFString type "fixed"
    SFString projection "cylindrical"; SFFloat noise 0; SFFloat resolution -1
    SFFloat defaultFrequency 10; SFFloat minFrequency 1; SFFloat maxFrequency 25
    SFNode rotatingHead NULL; SFBool spherical TRUE
Radar 54 Solid Device
    SFString name "radar"; SFFloat minRange 1; SFFloat maxRange 50
    SFFloat horizontalFieldOfView 0.78; SFFloat verticalFieldOfView 0.1
    SFFloat minAbsoluteRadialSpeed 0; SFFloat minRadialSpeed 0; SFFloat maxRadialSpeed 0
    SFFloat cellDistance 0; SFFloat cellSpeed 0; SFFloat rangeNoise 0; SFFloat speedNoise 0
    SFFloat angularNoise 0; SFFloat antennaGain 20; SFFloat frequency 24
    SFFloat transmittedPower 20; SFFloat minDetectableSignal -100; SFBool occlusion FALSE
LED 47 Solid Device
    SFString name "led"; MFColor color [ 1 0 0 ]; SFBool gradual FALSE
Display 41 Solid Device
    SFString name "display"; SFInt32 width 64; SFInt32 height 64
Speaker 59 Solid Device
    SFString name "speaker"
Microphone 86 Solid Device
    SFString name "microphone"; SFFloat aperture -1; SFFloat sensitivity -1
Radio 87 Solid Device
    SFString name "radio"
Pen 51 Solid Device
    SFString name "pen"; SFColor inkColor 0 0 0; SFFloat inkDensity 0.5; SFFloat leadSize 0.002
    SFFloat maxDistance 0; SFBool write TRUE
Emitter 43 Solid Device
    SFString name "emitter"; SFString type "radio"; SFFloat range -1; SFFloat maxRange -1
    SFFloat aperture -1; SFInt32 channel 0; SFInt32 baudRate -1; SFInt32 byteSize 8
    SFInt32 bufferSize -1; MFInt32 allowedChannels []
Receiver 56 Solid Device
    SFString name "receiver"; SFString type "radio"; SFFloat aperture -1; SFInt32 channel 0
    SFInt32 baudRate -1; SFInt32 byteSize 8; SFInt32 bufferSize -1
    SFFloat signalStrengthNoise 0; SFFloat directionNoise 0; MFInt32 allowedChannels []
Connector 40 Solid Device
    SFString name "connector"; SFString type "symmetric"; SFBool isLocked FALSE
    SFBool autoLock FALSE; SFBool unilateralLock TRUE; SFBool unilateralUnlock TRUE
    SFFloat distanceTolerance 0.01; SFFloat axisTolerance 0.2; SFFloat rotationTolerance 0.2
    SFInt32 numberOfRotations 4; SFBool snap TRUE; SFFloat tensileStrength -1
    SFFloat shearStrength -1
VacuumGripper 61 Solid Device
    SFString name "vacuum gripper"; SFBool isOn FALSE; SFFloat tensileStrength -1
    SFFloat shearStrength -1; SFInt32 contactPoints 3
Skin 58 Device
    SFVec3f translation 0 0 0; SFRotation rotation 0 0 1 0; SFVec3f scale 1 1 1
    SFString name "skin"; SFString modelUrl ""; MFNode appearance []; MFNode bones []
    SFBool castShadows TRUE
Lens 74 Node
    SFVec2f center 0.5 0.5; SFVec2f radialCoefficients 0 0; SFVec2f tangentialCoefficients 0 0
LensFlare 75 Node
    SFFloat transparency 0.4; SFFloat scale 1.5; SFFloat bias -0.9; SFFloat dispersal 0.6
    SFInt32 samples 4; SFFloat haloWidth 0.4; SFFloat chromaDistortion 2; SFInt32 blurIterations 2
Focus 68 Node
    SFFloat focalDistance 0; SFFloat focalLength 0; SFFloat maxFocalDistance 0
    SFFloat minFocalDistance 0
Zoom 85 Node
    SFFloat maxFieldOfView 1.5; SFFloat minFieldOfView 0.5
Recognition 77 Node
    SFFloat maxRange 100; SFInt32 maxObjects -1; SFInt32 occlusion 1; SFColor frameColor 1 0 0
    SFInt32 frameThickness 1; SFBool segmentation FALSE

Shape 27 Node
    SFNode appearance NULL; SFNode geometry NULL; SFBool castShadows TRUE; SFBool isPickable TRUE
Appearance 1 Node
    SFNode material NULL; SFNode texture NULL; SFNode textureTransform NULL
    SFString name "appearance"
PBRAppearance 22 Node
    SFColor baseColor 1 1 1; SFNode baseColorMap NULL; SFFloat transparency 0
    SFFloat roughness 0; SFNode roughnessMap NULL; SFFloat metalness 1; SFNode metalnessMap NULL
    SFFloat IBLStrength 1; SFNode normalMap NULL; SFFloat normalMapFactor 1
    SFNode occlusionMap NULL; SFFloat occlusionMapStrength 1; SFColor emissiveColor 0 0 0
    SFNode emissiveColorMap NULL; SFFloat emissiveIntensity 1; SFNode textureTransform NULL
    SFString name "PBRAppearance"
Material 18 Node
    SFFloat ambientIntensity 0.2; SFColor diffuseColor 0.8 0.8 0.8; SFColor emissiveColor 0 0 0
    SFFloat shininess 0.2; SFColor specularColor 0 0 0; SFFloat transparency 0
ImageTexture 15 Node
    MFString url []; SFBool repeatS TRUE; SFBool repeatT TRUE; SFInt32 filtering 4
TextureTransform 31 Node
    SFVec2f center 0 0; SFFloat rotation 0; SFVec2f scale 1 1; SFVec2f translation 0 0
Box 4 Geometry
    SFVec3f size 2 2 2
Sphere 28 Geometry
    SFFloat radius 1; SFInt32 subdivision 1; SFBool ico TRUE
Cylinder 10 Geometry
    SFBool bottom TRUE; SFFloat height 2; SFFloat radius 1; SFBool side TRUE; SFBool top TRUE
    SFInt32 subdivision 36
Capsule 6 Geometry
    SFBool bottom TRUE; SFFloat height 2; SFFloat radius 1; SFBool side TRUE; SFBool top TRUE
    SFInt32 subdivision 12
Cone 8 Geometry
    SFFloat bottomRadius 1; SFFloat height 2; SFBool side TRUE; SFBool bottom TRUE
    SFInt32 subdivision 36
Plane 23 Geometry
    SFVec2f size 1 1
ElevationGrid 12 Geometry
    SFNode color NULL; MFFloat height []; SFBool colorPerVertex TRUE; SFInt32 xDimension 0
    SFFloat xSpacing 1; SFInt32 yDimension 0; SFFloat ySpacing 1; SFFloat thickness 1
IndexedFaceSet 16 Geometry
    SFNode coord NULL; SFNode normal NULL; SFNode texCoord NULL; SFBool ccw TRUE
    SFBool convex TRUE; SFBool normalPerVertex TRUE; MFInt32 coordIndex []
    MFInt32 normalIndex []; MFInt32 texCoordIndex []; SFFloat creaseAngle 0
IndexedLineSet 17 Geometry
    SFNode coord NULL; MFInt32 coordIndex []
PointSet 25 Geometry
    SFNode coord NULL; SFNode color NULL
Mesh 19 Geometry
    MFString url []; SFString name ""; SFInt32 materialIndex -1; SFBool ccw TRUE
Color 7 Node
    MFColor color []
Coordinate 9 Node
    MFVec3f point []
Normal 21 Node
    MFVec3f vector []
TextureCoordinate 30 Node
    MFVec2f point []
"""
