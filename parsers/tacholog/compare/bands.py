"""The band of one build: how much its results vary. `tacholog ab` of a build with itself measures the band; ``same-build/<host>.csv`` stores it.

The file has one line for each row and session. New sessions are appended. The first columns are the session and its start, the SHA-256 of the build,
the number of pairs, and the row's key (`tacholog.compare.result.RowKey`). ``runs`` is the number of runs of both sides, and ``median`` the median of
their values, in the metric's unit. ``deviation`` is the standard deviation of the logarithms of the values. ``shift`` is the shift of the pairs, and
its 95 % interval is from ``shift_low`` to ``shift_high``; all three are logarithms.
"""

from __future__ import annotations

import csv
import io
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import log, sqrt
from pathlib import Path
from statistics import median, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tacholog.compare.policy import band_of
from tacholog.compare.result import Comparison, ComparisonRow, RowKey
from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there, open_evidence
from tacholog.runs.labels import is_label
from tacholog.runs.machines import Machines, contradictory_properties
from tacholog.runs.manifest import HOSTS_FOLDER, SAME_BUILD_FOLDER, read_host
from tacholog.store.load import with_own_machines

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset

ENOUGH_SESSIONS = 3  # With fewer sessions, the difference between sessions is not known.
_KEY = tuple(name for name in RowKey.__struct_fields__ if name != "apart")  # older files have no column ``apart``
_LEVEL = 0.975


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the file: the result of one row in one session that compared a build with itself."""

    session: str
    start: str | None
    build: str
    pairs: int
    key: RowKey
    runs: int
    median: float
    deviation: float
    shift: float
    shift_low: float
    shift_high: float


class Band(NamedTuple):
    """The bands of a row. In 95 % of the cases, two values of one build differ by less than the band.

    ``paired`` is the band for pairs of runs. ``single`` is the band for two single runs. ``between`` is the band for the medians of two sessions, or
    ``None`` if this band is not known. All bands are logarithms.

    ``across_sessions`` states whether enough sessions were measured to know how much sessions differ. If not, the true band of single runs may be
    wider than ``single``.
    """

    paired: float
    single: float
    across_sessions: bool
    between: float | None = None


class SameBuildBands(NamedTuple):
    """The bands of a machine, by row, and the sessions in which they were measured."""

    file: Path
    sessions: tuple[str, ...]
    bands: dict[RowKey, Band]


def calibrations(comparison: Comparison, build: str) -> list[Calibration]:
    """Return one line for each row of interleaved pairs, from a comparison of one build with itself.

    Rows with labels are left out: rows that differ only in a label would have the same key in the file.
    """
    sessions = {run.session for run in comparison.runs if run.session}
    times = [run.start_time for run in comparison.runs if run.start_time]
    if len(sessions) != 1:
        return []
    rows = (row for row in comparison.rows if row.design == "paired" and row.p is not None and not _has_labels(row.key))
    entries = [_calibration(row, build, next(iter(sessions)), min(times, default=None)) for row in rows]
    return [entry for entry in entries if entry is not None]


def _has_labels(key: RowKey) -> bool:
    return any(is_label(field) for field, _ in key.apart)


def _calibration(row: ComparisonRow, build: str, session: str, start: str | None) -> Calibration | None:
    if row.old is None or row.new is None or row.ratio is None or row.interval is None or None in row.interval:
        return None
    values = [*row.old.values, *row.new.values]
    low, high = (log(end) for end in row.interval if end is not None)
    return Calibration(
        session=session,
        start=start,
        build=build,
        pairs=len(row.old.values),
        key=msgspec.structs.replace(row.key, apart=()),
        runs=len(values),
        median=median(values),
        deviation=stdev(log(value) for value in values),
        shift=log(row.ratio),
        shift_low=low,
        shift_high=high,
    )


def add(folder: Path, host: str, entries: Sequence[Calibration]) -> Path:
    """Add a session to ``same-build/<host>.csv`` in a folder, and return the path of the file. An old entry of the same session is replaced."""
    path = folder / SAME_BUILD_FOLDER / f"{host}.csv"
    old_entries = [entry for entry in (read(path) if path.is_file() else ()) if entry.session not in {new.session for new in entries}]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    names = [name for name in Calibration.__struct_fields__ if name != "key"]
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*names[:4], *_KEY, *names[4:]])
    for entry in (*old_entries, *entries):
        cells = [_cell(getattr(entry, name)) for name in names]
        table.writerow([*cells[:4], *(_cell(getattr(entry.key, name)) for name in _KEY), *cells[4:]])
    part = path.with_name(f".{path.name}.part")
    part.write_text(text.getvalue(), encoding="utf-8")
    part.replace(path)
    return path


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def read(path: Path, *, named_by_user: bool = False) -> list[Calibration]:
    """Read a file that `add` wrote. Unless the user named the file, it must be a regular file.

    Raises:
        UnreadableInput: the file is missing, or a line is malformed; the message names file and line.
    """
    try:
        with path.open("rb") if named_by_user else open_evidence(path.parent, path.name) as file:
            lines = list(csv.DictReader(io.StringIO(file.read().decode("utf-8-sig"), newline="")))
    except UnreadableInput as error:
        raise UnreadableInput(f"{path}: {error}") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UnreadableInput(f"{path}: {error}") from error
    entries = []
    for number, line in enumerate(lines, start=2):
        try:
            entries.append(_entry(line))
        except (msgspec.ValidationError, KeyError) as error:
            raise UnreadableInput(f"{path}:{number}: {error}") from error
    return entries


def _entry(line: dict[str, str]) -> Calibration:
    cells: dict[str, Any] = {name: text or None for name, text in line.items()}
    key = {name: cells[name] for name in _KEY if cells[name] is not None}
    key |= {"keyed": key["keyed"] == "True"} if "keyed" in key else {}
    values = {name: cells[name] for name in Calibration.__struct_fields__ if name != "key"}
    return msgspec.convert({**values, "key": key}, Calibration, strict=False)


def find_same_build(sides: Iterable[Dataset], roots: Sequence[Path] = (), asked: Path | None = None) -> SameBuildBands | None:
    """Find the bands of the machine on which both sides were measured, if there are any.

    Args:
        sides: the compared datasets.
        roots: folders to search, after the folders that contain the runs.
        asked: a file that the user names.
    """
    machines = Machines()
    runs = [with_own_machines(side, machines).runs for side in sides]
    hosts = {str(host) for frame in runs for host in frame["host"].dropna()}
    if len(hosts) != 1 and asked is None:
        return None
    # The search starts once at each folder of runs, because hundreds of runs are in a few folders. The roots "." and "/" have no parent folder.
    roots_of_runs = (str(root) for frame in runs if "root" in frame for root in frame["root"].dropna())
    of_folder = {os.path.dirname(root): root for root in roots_of_runs if root not in (".", "/")}  # noqa: PTH120 - making a `Path` of each is slow
    folders = dict.fromkeys(above for root in of_folder.values() for above in Path(root).parents)
    host = next(iter(hosts), "")
    name = f"{SAME_BUILD_FOLDER}/{host}.csv"
    if asked:
        return same_build(asked, named_by_user=True)
    folder_with_file = next((folder for folder in (*folders, *roots) if "/" not in host and is_there(folder, name)), None)
    if folder_with_file is None or _is_of_another_machine(folder_with_file, host, machines):
        return None
    return same_build(folder_with_file / name)


def _is_of_another_machine(folder: Path, host: str, machines: Machines) -> bool:
    """Whether the host file next to the bands of a machine contradicts the description of this machine."""
    file = f"{HOSTS_FOLDER}/{host}.toml"
    described = machines.hosts.get(host)
    return described is not None and is_there(folder, file) and bool(contradictory_properties(described, read_host(folder / file)))


def same_build(path: Path, *, named_by_user: bool = False) -> SameBuildBands:
    """Read a file of bands, and return the bands of the last build in it."""
    entries = read(path, named_by_user=named_by_user)
    entries = [entry for entry in entries if entry.build == entries[-1].build]
    by_row: dict[RowKey, list[Calibration]] = defaultdict(list)
    for entry in entries:
        by_row[entry.key].append(entry)
    return SameBuildBands(
        path, tuple(dict.fromkeys(entry.session for entry in entries)), {key: _band_of_row(entries_of_row) for key, entries_of_row in by_row.items()}
    )


def _band_of_row(sessions: Sequence[Calibration]) -> Band:
    """Return the band of a row from the sessions of this row. The formulas are in docs/significance.md."""
    from tacholog.compare.statistics import student_t_quantile  # This import loads NumPy, which `tacholog check` does not need.

    count, runs = len(sessions), sum(entry.runs for entry in sessions)
    variance = sum((entry.runs - 1) * entry.deviation**2 for entry in sessions) / (runs - count)
    within = student_t_quantile(_LEVEL, runs - count) * sqrt(2 * variance)
    if count < ENOUGH_SESSIONS:
        paired = max(max(abs(entry.shift_low), abs(entry.shift_high)) for entry in sessions)
        return Band(paired, within, across_sessions=False)
    medians = [log(entry.median) for entry in sessions]
    middle = sum(medians) / count
    between = student_t_quantile(_LEVEL, count - 1) * sqrt(2 * sum((value - middle) ** 2 for value in medians) / (count - 1))
    paired = student_t_quantile(_LEVEL, count) * sqrt(sum(entry.shift**2 for entry in sessions) / count)
    return Band(paired, sqrt(within**2 + between**2), across_sessions=True, between=between)


class Drift(NamedTuple):
    """How much the medians of one build differed between sessions, as ratios minus 1: the smallest, the middle and the largest of all rows.

    ``days``: whether the sessions were made on different days.
    """

    sessions: int
    least: float
    middle: float
    most: float
    days: bool


def known_drift(roots: Iterable[Path]) -> Drift | None:
    """Return the measured drift of one build, from the medians, means and rates in all files in ``same-build/`` of these folders.

    Raises:
        UnreadableInput: a file is malformed.
    """
    ratios: list[float] = []
    sessions: dict[str, str] = {}
    for path in sorted({file for root in roots for file in (root / SAME_BUILD_FOLDER).glob("*.csv")}):
        entries = read(path)
        ratios += [max(medians) / min(medians) - 1 for medians in _medians_of_sessions(entries)]
        sessions |= {entry.session: (entry.start or "")[:10] for entry in entries}
    if not ratios:
        return None
    ratios.sort()
    return Drift(len(sessions), ratios[0], ratios[len(ratios) // 2], ratios[-1], days=len({*sessions.values()}) > 1)


def _medians_of_sessions(entries: Iterable[Calibration]) -> list[list[float]]:
    """Return the medians of the sessions, one list for each build and row with several sessions."""
    medians: dict[tuple[str, RowKey], list[float]] = defaultdict(list)
    for entry in entries:
        if band_of(entry.key.statistic) == "centre" and entry.median > 0:
            medians[entry.build, entry.key].append(entry.median)
    return [values for values in medians.values() if len(values) > 1]


def noise(same_build: SameBuildBands) -> Iterator[float]:
    """Yield the noise of each row of medians or means, as measured in the last session.

    The noise is the standard deviation of the logarithms of the row's values.
    """
    for entry in read(same_build.file, named_by_user=True):  # the file was checked when it was first read
        if entry.session == same_build.sessions[-1] and entry.key.statistic in ("p50", "mean"):
            yield entry.deviation
