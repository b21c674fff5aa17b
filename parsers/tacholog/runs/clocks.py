"""``clock.log``: the reports on the clocks of a run's hosts, before and after the run.

Without such reports, a one-way latency between two machines cannot be trusted, because it also contains the difference between their clocks.
``tacholog bench`` writes the log for runs on several machines. Each line begins with the name of the host and the time; the rest is the unchanged
output of the tool::

    clock reports log=clock/1
    a before address 10.0.0.1
    a before chronyc 7F7F0101,,8,1795393168.926226402,0.000000000,...
    b before chronyc 0A000001,10.0.0.1,9,1795393171.186408233,0.000000758,...
    end

Each line ``address`` has one address of the host. The addresses show whether the clock of one host follows the clock of another host. The tools are
``chronyc`` (chronyc -c tracking) and ``pmc`` (pmc -u -b 0 'GET CURRENT_DATA_SET' 'GET PARENT_DATA_SET' 'GET PORT_PROPERTIES_NP').

Source: the bound of a clock's error that the manual of chronyc gives for ``tracking``: |system time| + root dispersion + root delay / 2. For PTP it
is computed from the report of ptp4l: |offset from master| + mean path delay, which is half of the round trip.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import BinaryIO, NamedTuple

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.runs.manifest import Manifest

CLOCK_FILE = "clock.log"
CLOCK_FORMAT = "clock"
HEAD = "clock reports log=clock/1"
END = "end"
TIMES = ("before", "after")
_LOCAL_REFERENCE = "7F7F0101"  # chronyc prints this reference if a clock follows no other clock
_CHRONY_FIELDS = 14
_LARGEST_CLOCK_LOG = 2**20  # in bytes
_LINE = re.compile(r"(?P<host>[A-Za-z][\w-]{0,63}) (?P<when>before|after) (?P<tool>address|chronyc|pmc) (?P<text>.*)", re.ASCII)
_NUMBER = re.compile(r"[+-]?[0-9]{1,12}(?:\.[0-9]{1,12})?(?:[eE][+-]?[0-9]{1,3})?")


class NoWitness(Exception):
    """Raised if the error of the clocks is not known. The message states the reason."""


class _Report(NamedTuple):
    """The report on the clock of a host, before or after the run.

    Attributes:
        error_ns: the largest possible difference between the clock and its reference.
        kind: ``ntp`` or ``ptp``.
        reference: the address of the reference, or the identity of its grandmaster.
        is_reference: whether the clock follows no other clock.
    """

    error_ns: float
    kind: str
    reference: str
    is_reference: bool


def clock_error_ns(text: str, hosts: Iterable[str] = ()) -> float:
    """Return the largest possible difference between the clocks of the hosts, in nanoseconds.

    It is computed from the reports before the run, and again from the reports after the run. The larger value counts.

    Args:
        text: the text of a ``clock.log``.
        hosts: the hosts that the log must cover.

    Raises:
        NoWitness: the error cannot be computed; the message states the reason.
    """
    lines = text.splitlines()
    if lines[:1] != [HEAD] or lines[-1:] != [END]:
        raise NoWitness(f"{CLOCK_FILE} is cut short, or has another version")
    reports: dict[tuple[str, str], dict[str, list[str]]] = {}
    for line in lines[1:-1]:
        match = _LINE.fullmatch(line)
        if match:
            reports.setdefault((match["host"], match["when"]), {}).setdefault(match["tool"], []).append(match["text"])
    names = sorted({host for host, _ in reports} | set(hosts))
    if len(names) < len(TIMES):
        raise NoWitness(f"{CLOCK_FILE} holds fewer than two hosts")
    return max(_error_at({name: reports.get((name, when), {}) for name in names}, when) for when in TIMES)


def _error_at(tools: Mapping[str, Mapping[str, Sequence[str]]], when: str) -> float:
    reports = {host: _report(host, lines, when) for host, lines in tools.items()}
    for first, second in combinations(reports, 2):
        if not _have_one_reference(reports[first], tools[first].get("address", ()), reports[second], tools[second].get("address", ())):
            raise NoWitness(f"the clocks of {first} and {second} do not follow one reference ({when} the run)")
    largest = sorted(report.error_ns for report in reports.values())[-2:]
    return sum(largest)


def _have_one_reference(first: _Report, first_addresses: Sequence[str], second: _Report, second_addresses: Sequence[str]) -> bool:
    if first.kind != second.kind:
        return False
    if first.kind == "ptp":
        return first.reference == second.reference
    if first.is_reference and second.is_reference:
        return False
    if first.is_reference:
        return second.reference in first_addresses
    if second.is_reference:
        return first.reference in second_addresses
    return True  # Each clock follows some server, and chrony limits the error of each clock relative to true time.


def _report(host: str, tools: Mapping[str, Sequence[str]], when: str) -> _Report:
    if "chronyc" in tools:
        return _chrony(host, tools["chronyc"], when)
    if "pmc" in tools:
        return _ptp(host, tools["pmc"], when)
    raise NoWitness(f"no clock service reports on {host} ({when} the run): neither chronyc nor pmc answers there")


def _chrony(host: str, lines: Sequence[str], when: str) -> _Report:
    fields = lines[0].split(",")
    if len(fields) != _CHRONY_FIELDS or not all(_NUMBER.fullmatch(fields[index]) for index in (4, 10, 11)):
        raise NoWitness(f"chronyc's report on {host} cannot be read ({when} the run)")
    if fields[13] not in ("Normal", "Insert second", "Delete second"):
        raise NoWitness(f"the clock of {host} is not synchronised ({when} the run), says chrony: {fields[13]}")
    system_s, delay_s, dispersion_s = (float(fields[index]) for index in (4, 10, 11))
    error_ns = (abs(system_s) + dispersion_s + delay_s / 2) * 1e9
    return _Report(error_ns, "ntp", fields[1], fields[0] == _LOCAL_REFERENCE)


def _ptp(host: str, lines: Sequence[str], when: str) -> _Report:
    fields = dict(words for line in lines if len(words := line.split()) == 2)  # noqa: PLR2004 - name and value
    offset, delay, grandmaster = (fields.get(name, "") for name in ("offsetFromMaster", "meanPathDelay", "grandmasterIdentity"))
    if not _NUMBER.fullmatch(offset) or not _NUMBER.fullmatch(delay) or not grandmaster:
        raise NoWitness(f"pmc's report on {host} cannot be read ({when} the run)")
    is_reference = fields.get("stepsRemoved") == "0"
    if fields.get("portState") != "SLAVE" and not is_reference:
        raise NoWitness(f"the clock of {host} is not synchronised ({when} the run), says ptp4l: {fields.get('portState')}")
    if fields.get("timestamping") != "SOFTWARE":
        # In this state, ptp4l adjusts the clock of the network card, so its report does not cover the system clock.
        raise NoWitness(f"ptp4l steers the network card of {host}, not its system clock; let chrony follow the card, and report")
    return _Report(abs(float(offset)) + float(delay), "ptp", grandmaster, is_reference)


class Clocks(msgspec.Struct, frozen=True):
    """The clocks of a run.

    Attributes:
        error_ns: the largest possible difference between the clocks. It is ``None`` if all processes shared one clock, or if the difference is not
            known.
        refusal: the reason why one-way latencies of the run are not shown; ``None`` if they are shown.
    """

    error_ns: float | None = None
    refusal: str | None = None


def clocks_of(manifest: Manifest, open_log: Callable[[str], BinaryIO]) -> Clocks:
    """Return what is known about the clocks of a run.

    Args:
        manifest: the manifest of the run.
        open_log: opens a file of the run.
    """
    if manifest.clocks != "several":
        return Clocks()
    refused = "one-way latencies between machines are not shown"
    if not any(entry.file == CLOCK_FILE for entry in manifest.logs):
        return Clocks(refusal=f"{refused}: the run has no {CLOCK_FILE}, in which the clocks of its hosts report how exact they are")
    try:
        with open_log(CLOCK_FILE) as file:
            return Clocks(error_ns=clock_error_ns(file.read(_LARGEST_CLOCK_LOG).decode("utf-8", "replace")))
    except (NoWitness, UnreadableInput, OSError) as error:
        return Clocks(refusal=f"{refused}: {error}")
