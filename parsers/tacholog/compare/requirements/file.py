"""The reader of ``requirements.toml``. Each mistake in the file is an error that names file, line and key."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import msgspec

from tacholog.compare.policy import RowFilter, metric_asked
from tacholog.compare.sizes import SIZES, size_bytes
from tacholog.errors import UnreadableInput
from tacholog.runs.manifest import REQUIREMENTS_FILE, LabelName, in_words, read_toml
from tacholog.schema.metrics import METRICS, is_statistic

_RATES = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_BYTE_RATES = {"B/s": 8.0, "kB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9, "KiB/s": 8.0 * (1 << 10), "MiB/s": 8.0 * (1 << 20), "GiB/s": 8.0 * (1 << 30)}
#: For each unit of the schema: the units that users may write, with the factor to the unit of the schema.
UNITS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "ns": {"ns": 1.0, "us": 1e3, "\u00b5s": 1e3, "\u03bcs": 1e3, "ms": 1e6, "s": 1e9},  # the micro sign and the Greek letter mu look alike
        "bit_per_s": {**_RATES, **_BYTE_RATES},
        "messages_per_s": {"messages/s": 1.0, "msg/s": 1.0},
        "calls_per_s": {"calls/s": 1.0},
        "messages": {"messages": 1.0},
        "bytes": dict(SIZES),
        "ratio": {"%": 0.01, "ratio": 1.0},
        "percent": {"%": 1.0},
        "instances": {"instances": 1.0},
        "switches": {"switches": 1.0},
        "trials": {"trials": 1.0},
        "ns_per_gigabyte": {"s/GB": 1e9},
    }
)
FILE = REQUIREMENTS_FILE
CONFIDENCE = 0.95
_NOT_FIELDS = ("name", "metric", "statistic", "size", "label", "max", "min", "unit", "confidence", "than", "max_worse_percent")


class Requirement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One requirement: ``[[require]]``. Properties such as ``transport`` select rows. The requirement is met if each selected row keeps the limit.

    Attributes:
        name: the name of the requirement in reports; by default, the limit and the properties of the requirement.
        metric: the limited metric, such as ``latency``.
        statistic: the statistic of the metric, such as ``p99``, ``mean`` or ``total``.
        system: only rows of this system.
        test: only rows of this test: ``latency``, ``throughput`` or ``demand``.
        transport: only rows of this transport.
        data_path: only rows with this data path: ``copy``, ``zero-copy``, ...
        type: only rows of this data type.
        participant: only rows of this participant.
        publishers: only rows with this number of publishers.
        subscribers: only rows with this number of subscribers.
        payload_bytes: only rows with this payload, in bytes.
        size: the payload with a unit, such as ``"1 KiB"``.
        demand: only rows with bursts of this number of messages.
        reliability: only rows with this reliability.
        load_mode: only rows of this load mode: ``closed``, ``open``, ``paced`` or ``max-rate``.
        basis: only rows with this basis: ``one-way``, ``rtt``, ``rtt/2``, or ``pub-to-ack`` (the time until a broker acknowledged).
        offered_rate_per_s: only rows with this rate of messages.
        waiting: only rows with this kind of waiting.
        host: only rows of the machine with this id.
        label: only rows of runs with these labels, as in ``label.plugin = "flannel"``.
        max: the median over the runs must not be above this value.
        min: the median over the runs must not be below this value.
        unit: the unit of ``max`` or ``min``, such as ``"us"``, ``"Gbit/s"`` or ``"%"``.
        than: the release, or the folder of runs, to compare with.
        max_worse_percent: by how many percent the runs may be worse than the runs of ``than``.
        confidence: the confidence of the interval over the runs, two-sided.
    """

    name: str | None = None
    metric: str
    statistic: str
    system: str | None = None
    test: str | None = None
    transport: str | None = None
    data_path: str | None = None
    type: str | None = None
    participant: str | None = None
    publishers: int | None = None
    subscribers: int | None = None
    payload_bytes: int | None = None
    size: str | int | None = None
    demand: int | None = None
    reliability: str | None = None
    load_mode: str | None = None
    basis: str | None = None
    offered_rate_per_s: float | None = None
    waiting: str | None = None
    host: str | None = None
    label: dict[LabelName, str] = {}
    max: float | None = None
    min: float | None = None
    unit: str | None = None
    than: str | None = None
    max_worse_percent: Annotated[float, msgspec.Meta(ge=0)] | None = None
    confidence: Annotated[float, msgspec.Meta(ge=0.5, le=0.999999)] = CONFIDENCE

    @property
    def is_relative(self) -> bool:
        """Whether the limit is relative to another release."""
        return self.max_worse_percent is not None

    @property
    def bytes_wanted(self) -> int | None:
        """The required payload in bytes; ``None``: any."""
        return self.payload_bytes if self.size is None else size_bytes(self.size)

    def wanted(self) -> dict[str, str | int | float]:
        """Return the required properties of a row, except metric, statistic and labels."""
        properties = {name: getattr(self, name) for name in self.__struct_fields__ if name not in _NOT_FIELDS}
        properties["payload_bytes"] = self.bytes_wanted
        return {name: value for name, value in properties.items() if value is not None}

    @property
    def limit(self) -> float:
        """The limit in the unit of the schema; for a relative requirement, as a share."""
        if self.max_worse_percent is not None:
            return self.max_worse_percent / 100
        limit = self.max if self.max is not None else self.min
        return (limit or 0.0) * UNITS[METRICS[self.metric].unit][self.unit or ""]


class RequirementEntry(msgspec.Struct, frozen=True):
    """A requirement and its location in the file: ``requirements.toml:7``."""

    location: str
    requirement: Requirement


class GateEntry(msgspec.Struct, frozen=True):
    """A ``[[gate]]``, which is the older form of a relative requirement. Its limit is the threshold of `tacholog diff`."""

    location: str
    rows: RowFilter


class RequirementFile(msgspec.Struct, frozen=True):
    """The content of a file, in the order of the file."""

    path: str
    requirements: tuple[RequirementEntry, ...]
    gates: tuple[GateEntry, ...] = ()


def read_requirements(path: Path) -> RequirementFile:
    """Read a file of requirements.

    Raises:
        UnreadableInput: the file is missing, not TOML or empty, or a requirement cannot be judged; the message names file, line and key.
    """
    read = read_entries(path, {"require": Requirement, "gate": RowFilter})
    entries = [RequirementEntry(location, _checked(requirement, location)) for location, requirement in read["require"]]
    gates = [GateEntry(location, rows) for location, rows in read["gate"]]
    if not entries and not gates:
        raise UnreadableInput(f"{path}: the file contains no [[require]]")
    return RequirementFile(str(path), tuple(entries), tuple(gates))


def read_entries(path: Path, kinds: Mapping[str, type[Any]]) -> dict[str, list[tuple[str, Any]]]:
    """Read a file of arrays of tables. Return the entries of each array, each with its location.

    Args:
        path: the file.
        kinds: for each array that the file may contain, the struct of its entries.

    Raises:
        UnreadableInput: the file is missing or no TOML, or an entry does not match its struct; the message names file, line and key.
    """
    tables = read_toml(path, dict)
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    if unknown := sorted(set(tables) - set(kinds)):
        expected = " and ".join(f"[[{name}]]" for name in kinds)
        verb = "are" if len(kinds) > 1 else "is"
        raise UnreadableInput(f"{_location(path, _line_of_key(lines, 0, unknown[0]))}: unknown key {unknown[0]!r}; there {verb} {expected}")
    return {
        name: [(location, _converted(table, kind, location)) for location, table in _entries(path, tables, lines, name)]
        for name, kind in kinds.items()
    }


_LIMIT = re.compile(
    r"(?P<statistic>[^\s<>]+)(?:\s+of\s+(?P<metric>[^<>]+?))?(?:\s+at\s+(?P<size>[^<>]+?))?"
    r"\s*(?P<sign><=?|>=?)\s*(?P<value>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(?P<unit>\S.*)?"
)
_LIMIT_FORM = "write STATISTIC [of METRIC] [at SIZE] < VALUE UNIT, or > instead of <, as in 'p99 at 1KiB < 20us' or 'mean of goodput > 8 Gbit/s'"


def requirements_in_words(texts: Sequence[str], option: str) -> tuple[RequirementEntry, ...]:
    """Read limits such as ``p99 at 1KiB < 20us``. The default metric is the latency.

    Raises:
        UnreadableInput: a text is not a limit; the message begins with the option, and states the expected form.
    """
    return tuple(_requirement_in_words(text, f"{option} '{text}'") for text in texts)


def _requirement_in_words(text: str, location: str) -> RequirementEntry:
    limit = _LIMIT.fullmatch(text.strip())
    if limit is None:
        raise UnreadableInput(f"{location}: {_LIMIT_FORM}")
    size, value = limit["size"], float(limit["value"])
    requirement = Requirement(
        name=" ".join(text.split()),
        metric=metric_asked(limit["metric"] or "latency"),
        statistic=limit["statistic"],
        size=int(size) if size and size.isdecimal() else size,
        max=value if "<" in limit["sign"] else None,
        min=value if ">" in limit["sign"] else None,
        unit=limit["unit"],
    )
    return RequirementEntry("--that", _checked(requirement, location))


def _entries(path: Path, tables: Mapping[str, Any], lines: list[str], name: str) -> Iterator[tuple[str, Any]]:
    """Yield each table with its location: the line of its header, or the number of the table if some tables have no header."""
    entries = tables.get(name, [])
    if not isinstance(entries, list):
        raise UnreadableInput(f"{_location(path, _line_of_key(lines, 0, name))}: {name}: write [[{name}]] in double brackets")
    heads = [number for number, line in enumerate(lines, 1) if re.match(rf"\s*\[\[\s*\"?{name}\"?\s*\]\]", line)]
    for index, entry in enumerate(entries):
        yield (_location(path, heads[index]) if len(heads) == len(entries) else f"{path}: [[{name}]] number {index + 1}"), entry


def _location(path: Path, line: int | None) -> str:
    return f"{path}:{line}" if line else str(path)


def _line_of_key(lines: list[str], after: int, key: str) -> int | None:
    pattern = re.compile(rf"\s*(?:\[\[?\s*)?[\"']?{re.escape(key)}[\"']?\s*(?:[=.]|\]|$)")
    return next((number for number, line in enumerate(lines, 1) if number > after and pattern.match(line)), None)


def _converted(table: object, kind: type[Any], location: str) -> Any:  # noqa: ANN401 - an instance of the kind
    try:
        return msgspec.convert(table, kind, builtin_types=(datetime, date, time), str_keys=True)
    except msgspec.ValidationError as error:
        raise UnreadableInput(f"{location}: {in_words(error, kind)}") from error


def _checked(requirement: Requirement, location: str) -> Requirement:
    for complaint in _complaints(requirement):
        raise UnreadableInput(f"{location}: {complaint}")
    return requirement


def _complaints(requirement: Requirement) -> Iterator[str]:
    metric = METRICS.get(requirement.metric)
    if metric is None:
        yield f"metric: {requirement.metric!r} is unknown; use one of {', '.join(METRICS)}"
        return
    if not is_statistic(requirement.statistic):
        yield f"statistic: {requirement.statistic!r} is not a statistic; write p50, p99.9, mean, max, total, ... (docs/conditions.md lists all)"
    if requirement.name is not None and not requirement.name.strip():
        yield "name: it is blank"
    yield from size_complaints(requirement.size, requirement.payload_bytes)
    limits = [name for name in ("max", "min", "max_worse_percent") if getattr(requirement, name) is not None]
    if len(limits) != 1:
        there = f"it states {', '.join(limits)}" if limits else "it states none"
        yield f"a requirement states one of max, min and max_worse_percent; {there}"
        return
    if not math.isfinite(getattr(requirement, limits[0])) or getattr(requirement, limits[0]) < 0:
        yield f"{limits[0]}: the limit must be a number of at least 0"
    yield from (_relative_complaints if requirement.is_relative else _absolute_complaints)(requirement)


def size_complaints(size: str | int | None, payload_bytes: int | None) -> Iterator[str]:
    """Yield what is wrong with the payload of an entry."""
    if size is not None:
        if payload_bytes is not None:
            yield "size, payload_bytes: state one of them"
        elif size_bytes(size) is None:
            yield f"size: {size!r} is not a size; write a number of bytes, or a text such as {'1 KiB'!r} (units: {', '.join(SIZES)})"


def _absolute_complaints(requirement: Requirement) -> Iterator[str]:
    units = UNITS[METRICS[requirement.metric].unit]
    if requirement.than is not None:
        yield "than: use it only with max_worse_percent"
    if requirement.unit is None:
        yield f"unit: it is missing; the units of {requirement.metric} are {', '.join(units)}"
    elif requirement.unit not in units:
        yield f"unit: {requirement.unit!r} is not a unit of {requirement.metric}; use one of {', '.join(units)}"


def _relative_complaints(requirement: Requirement) -> Iterator[str]:
    if METRICS[requirement.metric].better is None:
        yield f"metric: {requirement.metric} has no better direction; state max or min"
    if requirement.metric == "loss":
        yield "metric: most runs lose nothing, so a percentage of their loss is undefined; state max for loss"
    if requirement.unit is not None:
        yield "unit: remove it, because max_worse_percent is a percentage"
    if requirement.confidence != CONFIDENCE:
        yield f"confidence: with max_worse_percent, the confidence is always {CONFIDENCE:g}, as in tacholog diff"
