"""Public data sets with a reference of the orientation, in the layouts of their downloads.

* BROAD (repository ``dlaidig/broad``): a file for each trial, ``data_mat/*.mat`` or the same in
  ``data_hdf5/*.hdf5``, with ``imu_gyr`` [rad/s], ``imu_acc`` [m/s^2], ``imu_mag`` [uT],
  ``opt_quat`` (w x y z), ``opt_pos`` [m], ``movement`` (rows that count) and ``sampling_rate``
  [Hz], an attribute in HDF5. Also the ``.npz`` files of :mod:`strapdown.formats.arrays.npz`.
* TUM VI (export in the layout of EuRoC): a folder for each sequence with ``mav0/imu0/data.csv``
  and ``mav0/mocap0/data.csv``. Also such ``.npz`` files.
* RepoIMU (repository ``agnieszkaszczesna/RepoIMU``): ``TStick/TStick_Test*_Trial*.csv`` and
  ``Pendulum/Pendulum_Test*_Trial*_Segment_*.csv`` with two lines of heading and, separated by
  semicolons, time [s], reference (w x y z; zeros where it is lost), acceleration [m/s^2], angular
  velocity [rad/s] and magnetic field, in units of the local field.

References
----------
D. Laidig, M. Caruso, A. Cereatti, T. Seel, BROAD, Data 6(7):72, 2021. D. Schubert et al., The TUM
VI Benchmark, IROS 2018. A. Szczesna et al., Reference Data Set for Accuracy Evaluation of
Orientation Estimation Algorithms, ICCVG 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import strapdown.formats as files
from strapdown.errors import BackendMissingError, FormatError, UnknownNameError
from strapdown.evaluation import Alignment, evaluate_orientation
from strapdown.formats._guard import foreign_reader
from strapdown.formats.arrays.npz_benchmarks import broad_series
from strapdown.geometry import quaternion
from strapdown.series import ImuSeries, Trajectory
from strapdown.units import MICROTESLA, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from strapdown.evaluation import OrientationEvaluation

__all__ = ["DataSet", "Trial", "read_trial"]

_BROAD_NAMES: Final = {
    "gyr": "imu_gyr",
    "acc": "imu_acc",
    "mag": "imu_mag",
    "ref": "opt_quat",
    "pos": "opt_pos",
    "mov": "movement",
    "fs": "sampling_rate",
}
"""Names of the public files, by those of our arrays."""
_REPOIMU_COLUMNS: Final = 14
_LOCAL_FIELD: Final = 50.0 * MICROTESLA
"""Magnetic field of one unit in RepoIMU: the field of Gliwice."""
_EXPECTED: Final = (
    "expected the files of BROAD (data_mat/*.mat or data_hdf5/*.hdf5), TUM VI (SEQUENCE/mav0/imu0 "
    "and mocap0, each with data.csv) or RepoIMU (TStick/TStick_Test*_Trial*.csv), found none"
)


class Trial(NamedTuple):
    """A recording of a data set: an IMU, and the orientation of a reference.

    Parameters
    ----------
    data_set, name : str
        Name of the data set, and of the recording.
    series : ImuSeries
        The samples.
    truth : Trajectory
        The reference, with ``moving`` where the data set marks the rows that count.
    """

    data_set: str
    name: str
    series: ImuSeries
    truth: Trajectory

    @property
    def part(self) -> str:
        """``development``, where defaults were chosen on it, or ``held back``."""
        names = _LAYOUTS[self.data_set].development
        return "development" if any(name in self.name for name in names) else "held back"

    def evaluate(self, estimate: Trajectory, *, with_field: bool) -> OrientationEvaluation:
        """Return the errors of an estimate, as this data set is evaluated.

        Parameters
        ----------
        estimate : Trajectory
            The estimate, in ENU and FLU.
        with_field : bool
            Whether it has a heading from the magnetic field (9D), or none (6D).
        """
        layout = _LAYOUTS[self.data_set]
        align = layout.align if with_field else layout.align_6d
        return evaluate_orientation(estimate, self.truth, align=align)


@dataclass(frozen=True)
class DataSet:
    """A data set on disk.

    Parameters
    ----------
    name : str
        BROAD, TUM VI or RepoIMU.
    folder : Path
        As it was given.
    recordings : sequence of Path
        File, or folder, of each recording, by name.
    """

    name: str
    folder: Path
    recordings: Sequence[Path]

    @classmethod
    def find(cls, folder: Path | str) -> DataSet:
        """Return the data set of a folder, recognised by the names of its files.

        Raises
        ------
        FormatError
            The folder does not exist, or has the layout of no data set.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise FormatError("expected the folder of a data set, there is none", path=folder)
        for name, layout in _LAYOUTS.items():
            for pattern in layout.patterns:
                found = sorted(folder.glob(pattern))
                if found:
                    return cls(name, folder, [layout.recording(path) for path in found])
        raise FormatError(_EXPECTED, path=folder)


def read_trial(data_set: str, path: Path) -> Trial:
    """Read a recording of a data set.

    Raises
    ------
    UnknownNameError
        There is no such data set.
    FormatError
        The file is damaged, or has other columns.
    BackendMissingError
        The file is HDF5, and h5py is not installed.
    """
    if data_set not in _LAYOUTS:
        raise UnknownNameError("data set", data_set, _LAYOUTS)
    read = _read_converted if path.suffix == ".npz" else _LAYOUTS[data_set].read
    return Trial(data_set, path.stem, *read(path))


def _read_converted(path: Path) -> tuple[ImuSeries, Trajectory]:
    recording = files.open(path)
    return recording.imu_series(), recording.trajectory(recording.reference_topic())


def _read_broad(path: Path) -> tuple[ImuSeries, Trajectory]:
    content = _read_mat(path) if path.suffix == ".mat" else _read_hdf5(path)
    if missing := [name for name in _BROAD_NAMES.values() if name not in content]:
        raise FormatError(f"expected a BROAD trial, {', '.join(missing)} is missing", path=path)
    arrays = {ours: np.asarray(content[name]) for ours, name in _BROAD_NAMES.items()}
    floats = {name: array.astype(np.float64) for name, array in arrays.items()}
    moving = arrays["mov"].reshape(-1).astype(np.bool_)
    return broad_series(path, {**floats, "mov": moving, "fs": floats["fs"].reshape(-1)[0]})


def _read_mat(path: Path) -> Mapping[str, Any]:
    from scipy.io import loadmat  # noqa: PLC0415 (a slow import)

    with foreign_reader(path, "MATLAB file"):
        content: dict[str, Any] = loadmat(path)
    return content


def _read_hdf5(path: Path) -> Mapping[str, Any]:
    try:
        h5py: Any = import_module("h5py")  # an extra
    except ImportError:
        raise BackendMissingError("HDF5 (data_mat holds the same data)", extra="accuracy") from None
    with foreign_reader(path, "HDF5 file"), h5py.File(path) as file:
        return {**file.attrs, **{name: file[name][()] for name in file}}


def _read_tum_vi(path: Path) -> tuple[ImuSeries, Trajectory]:
    recording = files.open(path)
    return recording.imu_series("imu0"), recording.trajectory("ground_truth")


def _read_repoimu(path: Path) -> tuple[ImuSeries, Trajectory]:
    with path.open(encoding="utf-8", errors="replace") as file:
        heading = file.readline()
        separator = ";" if ";" in heading else ","
        if not heading.startswith("Time") or "Vicon" not in heading:
            raise FormatError(
                f"expected a heading with Time and Vicon Orientation, got {heading[:60]!r}",
                path=path,
            )
        file.readline()
        with foreign_reader(path, f"table of {_REPOIMU_COLUMNS} columns"):
            table = np.loadtxt(file, delimiter=separator, usecols=range(_REPOIMU_COLUMNS), ndmin=2)
    t_ns = np.rint(table[:, 0] * NS_PER_S).astype(np.int64)
    series = ImuSeries(
        t_ns, table[:, 8:11], table[:, 5:8], magnetic_field=table[:, 11:14] * _LOCAL_FIELD
    )
    return series, Trajectory(t_ns, quaternion.from_wxyz(table[:, 1:5]), name="reference")


def _sequence(mocap: Path) -> Path:
    """Return the folder of a sequence of TUM VI, or a file that holds all of it."""
    return mocap.parents[2] if mocap.name == "data.csv" else mocap


class _Layout(NamedTuple):
    """Files of a data set, and its evaluation."""

    patterns: Sequence[str]
    """The first of them that finds files is taken: others hold the same data."""
    read: Callable[[Path], tuple[ImuSeries, Trajectory]]
    align: Alignment
    align_6d: Alignment
    development: Sequence[str]
    """Parts of the names of recordings on which defaults of this library were chosen."""
    recording: Callable[[Path], Path] = Path


_TRIALS: Final = "[0-9][0-9]_*disturbed_*"
_LAYOUTS: Final[Mapping[str, _Layout]] = {
    "BROAD": _Layout(
        [
            f"{folder}{_TRIALS}{ending}"
            for folder in ("", "data_mat/", "data_hdf5/")
            for ending in (".mat", ".hdf5", ".npz")
        ],
        _read_broad,
        Alignment.NONE,
        Alignment.HEADING,
        [
            *("02_undisturbed", "05_undisturbed", "07_undisturbed", "08_undisturbed"),
            *("11_undisturbed", "16_undisturbed"),
            *("24_disturbed", "27_disturbed", "29_disturbed", "34_disturbed"),
        ],
    ),
    "TUM VI": _Layout(
        ["mav0/mocap0/data.csv", "*/mav0/mocap0/data.csv", "room[0-9].npz"],
        _read_tum_vi,
        Alignment.WORLD,
        Alignment.WORLD,
        ["room1", "room4"],
        _sequence,
    ),
    "RepoIMU": _Layout(
        [
            "TStick_Test*_Trial*.csv",
            "TStick/TStick_Test*_Trial*.csv",
            "Pendulum_Test*_Trial*.csv",
        ],
        _read_repoimu,
        Alignment.WORLD_AND_BODY,
        Alignment.WORLD_AND_BODY,
        [],
    ),
}
"""Data sets in which to search for files; alignments as in docs/evaluation.md."""
