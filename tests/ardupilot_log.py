"""A writer of DataFlash logs by the layouts of ArduPilot's LogStructure.h, and a flight.

It shares no code with the reader: records are packed by ``struct``.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

STRUCT = {"b": "b", "B": "B", "h": "h", "H": "H", "i": "i", "I": "I", "q": "q", "Q": "Q",
          "f": "f", "d": "d", "g": "e", "n": "4s", "N": "16s", "Z": "64s", "a": "32h",
          "c": "h", "C": "H", "e": "i", "E": "I", "L": "i", "M": "B"}  # fmt: skip
FMT, FMTU, UNIT, MULT = 128, 129, 130, 131
UNITS = {"s": "s", "#": "instance", "E": "rad/s", "o": "m/s/s", "G": "Gauss", "d": "deg",
         "h": "degheading", "n": "m/s", "m": "m", "-": "", "k": "deg/s"}  # fmt: skip
MULTS = {"-": 0.0, "0": 1.0, "B": 1e-2, "C": 1e-3, "F": 1e-6, "G": 1e-7}

LAYOUTS = {
    "IMU": ("QBffffffIIfBBHH", "TimeUS,I,GyrX,GyrY,GyrZ,AccX,AccY,AccZ,EG,EA,T,GH,AH,GHz,AHz",
            "s#EEEooo--O--zz", "F-000000-----00"),
    "MAG": ("QBhhhhhhhhhBI", "TimeUS,I,MagX,MagY,MagZ,OfsX,OfsY,OfsZ,MOX,MOY,MOZ,Health,S",
            "s#GGGGGGGGG-s", "F-CCCCCCCCC-F"),
    "ATT": ("QccccCCCCB", "TimeUS,DesRoll,Roll,DesPitch,Pitch,DesYaw,Yaw,ErrRP,ErrYaw,AEKF",
            "sddddhhdh-", "FBBBBBBBB-"),
    "XKF1": ("QBccCfffffffccce", "TimeUS,C,Roll,Pitch,Yaw,VN,VE,VD,dPD,PN,PE,PD,GX,GY,GZ,OH",
             "s#ddhnnnnmmmkkkm", "F-BBB0000000BBBB"),
    "GPS": ("QBBIHBcLLeffffB", "TimeUS,I,Status,GMS,GWk,NSats,HDop,Lat,Lng,Alt,Spd,GCrs,VZ,Yaw,U",
            "s#-s-S-DUmnhnh-", "F--C-0BGGB000--"),
    "GYR": ("QBQfff", "TimeUS,I,SampleUS,GyrX,GyrY,GyrZ", "s#sEEE", "F-F000"),
    "PARM": ("QNff", "TimeUS,Name,Value,Default", "s---", "F---"),
    "MSG": ("QZ", "TimeUS,Message", "s-", "F-"),
}  # fmt: skip
"""Format, columns, units and multipliers, of ArduPilot 4.5."""


class DataFlashLog:
    """A log in memory: definitions first, then messages."""

    def __init__(self, *, units: bool = True) -> None:
        self.data = bytearray()
        self._units = units
        self._formats = {}
        self._add_format(FMT, "FMT", "BBnNZ", "Type,Length,Name,Format,Columns")
        if units:
            self._add_format(FMTU, "FMTU", "QBNN", "TimeUS,FmtType,UnitIds,MultIds")
            self._add_format(UNIT, "UNIT", "QbZ", "TimeUS,Id,Label")
            self._add_format(MULT, "MULT", "Qbd", "TimeUS,Id,Mult")
            for letter, label in UNITS.items():
                self.add("UNIT", 0, ord(letter), label)
            for letter, factor in MULTS.items():
                # the autopilot stores a float as a double
                self.add("MULT", 0, ord(letter), struct.unpack("f", struct.pack("f", factor))[0])

    def define(self, name, form, columns, units="", multipliers=""):
        """Write the definition of a message."""
        kind = 140 + len(self._formats)
        self._add_format(kind, name, form, columns)
        if self._units and units:
            self.add("FMTU", 0, kind, units, multipliers)

    def _add_format(self, kind, name, form, columns):
        layout = struct.Struct("<" + "".join(STRUCT[letter] for letter in form))
        self._formats[name] = kind, layout
        self.add("FMT", kind, 3 + layout.size, name, form, columns)

    def add(self, name, *values):
        """Write a message; a message that is not defined yet gets the layout of the table."""
        if name not in self._formats:
            self.define(name, *LAYOUTS[name])
        kind, layout = self._formats[name]
        packed = [each.encode() if isinstance(each, str) else each for each in values]
        self.data += struct.pack("<BBB", 0xA3, 0x95, kind) + layout.pack(*packed)


def flight(seconds=10, rate_hz=100) -> DataFlashLog:
    """Return the log of a vehicle that rolls by 10 degrees at 0.2 Hz, heading 30 degrees.

    Two IMUs at the rate, two compasses and the attitude at 10 Hz, and a fix from second 2 on.
    """
    log = DataFlashLog()
    log.add("MSG", 1, "ArduCopter V4.5.7")
    for name, value in (("INS_ACC_ID", 2753028.0), ("INS_GYR_ID", 2752772.0)):
        log.add("PARM", 2, name, value, 0.0)
    turn = 2.0 * math.pi * 0.2
    for row in range(seconds * rate_hz):
        t_us = 1_000_000 + row * 1_000_000 // rate_hz
        phase = turn * row / rate_hz
        roll = math.radians(10.0) * math.sin(phase)
        rate = math.radians(10.0) * turn * math.cos(phase)
        force = -9.80665 * math.sin(roll), -9.80665 * math.cos(roll)
        for number in (0, 1):
            log.add("IMU", t_us + 20 * number, number, rate, 0.0, 0.0, 0.0, *force,
                    0, 0, 41.5, 1, 1, 1000, 1000)  # fmt: skip
        if row % (rate_hz // 10) == 0:
            field = [round(each) for each in milligauss(roll, math.radians(30.0))]
            for number in (0, 1):
                log.add("MAG", t_us + 40, number, *field, *[0] * 6, 1, t_us)
            centi = round(math.degrees(roll) * 100.0)
            log.add("ATT", t_us + 60, 0, centi, 0, 0, 3000, 3000, 0, 0, 3)
            log.add("XKF1", t_us + 60, 0, centi, 0, 3000, 1.0, 2.0, -0.5, 0.0, 10.0, 20.0, -30.0,
                    0, 0, 0, 0)  # fmt: skip
        if row % (rate_hz // 5) == 0:
            fix = 3 if row >= 2 * rate_hz else 1
            log.add("GPS", t_us + 80, 0, fix, 1_218_000 + row * 1000 // rate_hz, 2084, 12, 80,
                    473977420, 85455940, 48800, 0.0, 0.0, 0.0, 0.0, 1)  # fmt: skip
    return log


def milligauss(roll, yaw):
    """Return the field of the Earth, 210 mG north and 430 mG down, on axes of the body."""
    x, y, z = 210.0 * math.cos(yaw), -210.0 * math.sin(yaw), 430.0
    return (
        x,
        y * math.cos(roll) + z * math.sin(roll),
        z * math.cos(roll) - y * math.sin(roll),
    )


def write_flight(path: Path) -> None:
    """Write the flight."""
    path.write_bytes(flight().data)


def write_telemetry(path: Path, seconds=10, rate_hz=10) -> None:
    """Write the same motion as a telemetry log of a ground station, packed by pymavlink."""
    from pymavlink.dialects.v20 import common  # noqa: PLC0415 (few tests need it)

    packer = common.MAVLink(None, srcSystem=1, srcComponent=1)
    start_us = 1_576_369_200_000_000
    turn, data = 2.0 * math.pi * 0.2, bytearray()
    for row in range(seconds * rate_hz):
        t_us = row * 1_000_000 // rate_hz
        roll = math.radians(10.0) * math.sin(turn * row / rate_hz)
        rate = math.radians(10.0) * turn * math.cos(turn * row / rate_hz)
        force = [round(-1000.0 * each) for each in (0.0, math.sin(roll), math.cos(roll))]
        field = [round(each) for each in milligauss(roll, math.radians(30.0))]
        messages = [
            common.MAVLink_raw_imu_message(t_us, *force, round(1000.0 * rate), 0, 0, *field),
            common.MAVLink_attitude_message(
                t_us // 1000, roll, 0.0, math.radians(30.0), rate, 0.0, 0.0
            ),
        ]
        if row % rate_hz == 0:
            messages += [
                common.MAVLink_heartbeat_message(2, 3, 0, 0, 0, 3),  # 3: ArduPilot
                common.MAVLink_system_time_message(start_us + t_us, t_us // 1000),
            ]
        for message in messages:
            data += struct.pack(">Q", start_us + t_us + 20_000) + message.pack(packer)
            packer.seq = (packer.seq + 1) % 256
    path.write_bytes(data)
