"""Sensors: what an instrument makes of the truth, with the errors of its data sheet.

:class:`ImuSpec` is what is known about a part, :func:`load_profile` reads data sheets, and
:class:`ImuSimulator` is the device.

The names below load on first use.
"""

from typing import TYPE_CHECKING

from strapdown._lazy import lazy_names

if TYPE_CHECKING:
    from strapdown.sensors.noise import monte_carlo_seed
    from strapdown.sensors.profiles import Datasheet, load_profile, profile_names
    from strapdown.sensors.samples import Flag, Sample, Samples, Stamps
    from strapdown.sensors.simulator import ImuSimulator
    from strapdown.sensors.spec import (
        Bandwidth,
        BandwidthKind,
        Clock,
        Distribution,
        Fifo,
        FifoStamps,
        GaussMarkov,
        ImuSpec,
        Latency,
        NoiseAt,
        SpecWarning,
        Temperature,
        TriadSpec,
        TurnOn,
    )
    from strapdown.sensors.temperature import TemperatureProfile, temperature_table
    from strapdown.sensors.units import (
        bias_instability_from_allan_minimum,
        bias_instability_from_b,
        from_angle_random_walk,
        from_velocity_random_walk,
        gauss_markov_from_diffusion,
        noise_density_from,
        turn_on_from_limit,
    )
    from strapdown.sensors.vibration import Line, RotorSpeed, Spectrum, Vibration

__all__ = [
    "Bandwidth",
    "BandwidthKind",
    "Clock",
    "Datasheet",
    "Distribution",
    "Fifo",
    "FifoStamps",
    "Flag",
    "GaussMarkov",
    "ImuSimulator",
    "ImuSpec",
    "Latency",
    "Line",
    "NoiseAt",
    "RotorSpeed",
    "Sample",
    "Samples",
    "SpecWarning",
    "Spectrum",
    "Stamps",
    "Temperature",
    "TemperatureProfile",
    "TriadSpec",
    "TurnOn",
    "Vibration",
    "bias_instability_from_allan_minimum",
    "bias_instability_from_b",
    "from_angle_random_walk",
    "from_velocity_random_walk",
    "gauss_markov_from_diffusion",
    "load_profile",
    "monte_carlo_seed",
    "noise_density_from",
    "profile_names",
    "temperature_table",
    "turn_on_from_limit",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Bandwidth": "spec",
        "BandwidthKind": "spec",
        "Clock": "spec",
        "Datasheet": "profiles",
        "Distribution": "spec",
        "Fifo": "spec",
        "FifoStamps": "spec",
        "Flag": "samples",
        "GaussMarkov": "spec",
        "ImuSimulator": "simulator",
        "ImuSpec": "spec",
        "Latency": "spec",
        "Line": "vibration",
        "NoiseAt": "spec",
        "RotorSpeed": "vibration",
        "Sample": "samples",
        "Samples": "samples",
        "SpecWarning": "spec",
        "Spectrum": "vibration",
        "Stamps": "samples",
        "Temperature": "spec",
        "TemperatureProfile": "temperature",
        "TriadSpec": "spec",
        "TurnOn": "spec",
        "Vibration": "vibration",
        "bias_instability_from_allan_minimum": "units",
        "bias_instability_from_b": "units",
        "from_angle_random_walk": "units",
        "from_velocity_random_walk": "units",
        "gauss_markov_from_diffusion": "units",
        "load_profile": "profiles",
        "monte_carlo_seed": "noise",
        "noise_density_from": "units",
        "profile_names": "profiles",
        "temperature_table": "temperature",
        "turn_on_from_limit": "units",
    },
)
