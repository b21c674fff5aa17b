"""The state of the machines of a run: their environment, their load, their clocks, and the network link between them.

The link is described by the interface of each side: its MTU, its speed and its driver, because results depend on them. Addresses and names of
interfaces are not recorded.
"""

from __future__ import annotations

import ipaddress
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tacholog.campaign.machines import Machine
from tacholog.campaign.machines.local import LocalMachine
from tacholog.campaign.machines.machine import HostEntry
from tacholog.errors import TachologError
from tacholog.runs.clocks import CLOCK_FILE, END, HEAD
from tacholog.runs.disturbance import ProcessorTime, as_environment, disturbance

# $1: the name of an interface.
_INTERFACE = """
folder=/sys/class/net/$1
mtu=$(cat "$folder/mtu" 2>/dev/null)
echo "mtu $mtu"
# A virtual interface states a speed too, but only because it must state one.
if test -e "$folder/device" || test -d "$folder/bonding"; then
  echo "speed $(cat "$folder/speed" 2>/dev/null)"
  driver=$(cd -P "$folder/device/driver" 2>/dev/null && pwd -P)
  echo "driver ${driver##*/}"
fi
exit 0
"""
_DEVICE = re.compile(r"\bdev (?P<device>[A-Za-z0-9_.@-]{1,15})\b")
_ROUTE = re.compile(r"(?P<device>[A-Za-z0-9_.@-]{1,15})\t(?P<target>[0-9A-F]{8})\t[0-9A-F]{8}(?:\t[0-9A-F]+){4}\t(?P<mask>[0-9A-F]{8})\t.*")
_MTU = re.compile(r"[0-9]{2,6}")
_SPEED = re.compile(r"[1-9][0-9]{0,7}")
_DRIVER = re.compile(r"[A-Za-z0-9_-]{1,40}")
IDLE_S = 0.2  # how long the load of other programs is measured, before each run and after the last run of a campaign with limits
_LONGEST_LINE = 400
_MOST_LINES = 200
# `timeout` ends chronyc and pmc: they wait long if their service does not run. `timeout` is part of coreutils and of busybox.
_REPORT = r"""
limit=$(command -v timeout >/dev/null && echo timeout 5)
{ ip -o addr show 2>/dev/null || true; } | while read -r number device family address rest; do echo "address ${address%%/*}"; done
if report=$($limit chronyc -c tracking 2>/dev/null); then
  echo "chronyc $report"
else
  report=$($limit pmc -u -b 0 'GET CURRENT_DATA_SET' 'GET PARENT_DATA_SET' 'GET PORT_PROPERTIES_NP' 2>/dev/null)
  case $report in *RESPONSE*) printf '%s\n' "$report" | while read -r line; do echo "pmc $line"; done ;; esac
fi
"""


class LinkEnd(NamedTuple):
    """The interface by which one host reaches another host. ``None``: unknown."""

    mtu: str | None
    speed_mbit_per_s: int | None
    card: str


class HostLink(NamedTuple):
    """The network link of a run.

    Attributes:
        environment: ``link_mtu`` and ``link_nic``.
        bit_per_s: the speed of the slower side, if all sides state their speed.
    """

    environment: Mapping[str, str]
    bit_per_s: float | None = None


def read_link(machines: Mapping[str, Machine], hosts: Mapping[str, HostEntry]) -> HostLink:
    """Ask each machine of a run by which interface it reaches the addresses of the other machines.

    Args:
        machines: the machines of the run, by their names.
        hosts: the hosts of the campaign.
    """
    ends = list(_link_ends(machines, hosts))
    mtus = list(dict.fromkeys(end.mtu for end in ends if end.mtu))
    cards = list(dict.fromkeys(end.card for end in ends))
    environment = {"link_mtu": ", ".join(mtus)} if mtus else {}
    environment |= {"link_nic": "; ".join(cards)} if cards else {}
    speeds = [end.speed_mbit_per_s for end in ends if end.speed_mbit_per_s is not None]
    return HostLink(environment, min(speeds) * 1e6 if speeds and len(speeds) == len(ends) else None)


def _link_ends(machines: Mapping[str, Machine], hosts: Mapping[str, HostEntry]) -> Iterator[LinkEnd]:
    for name, machine in machines.items():
        for other in machines:
            address = hosts[other].address if other in hosts else None
            if other != name and address is not None and (end := _link_end(machine, address)):
                yield end


def _link_end(machine: Machine, address: str) -> LinkEnd | None:
    """Return the interface by which a machine reaches an address; ``None`` if it is unknown, or if the address is a name."""
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return None
    device = _interface_to(machine, str(number))
    answer = machine.ask(["sh", "-c", _INTERFACE, "sh", device]) if device else None
    properties = dict(line.partition(" ")[::2] for line in (answer or "").splitlines())
    mtu, speed, driver = (properties.get(name, "") for name in ("mtu", "speed", "driver"))
    if not _MTU.fullmatch(mtu):
        return None
    if device == "lo":
        return LinkEnd(mtu, None, "loopback")
    if "driver" not in properties:
        return LinkEnd(mtu, None, "virtual interface")
    speed_mbit_per_s = int(speed) if _SPEED.fullmatch(speed) else None
    words = [driver if _DRIVER.fullmatch(driver) else "network card", *([f"{speed_mbit_per_s} Mbit/s"] if speed_mbit_per_s else [])]
    return LinkEnd(mtu, speed_mbit_per_s, ", ".join(words))


def _interface_to(machine: Machine, address: str) -> str | None:
    route = machine.ask(["ip", "-o", "route", "get", address])
    if route is not None:
        match = _DEVICE.search(route)
        return match["device"] if match else None
    return device_in_table(machine.ask(["cat", "/proc/net/route"]) or "", address)


def device_in_table(table: str, address: str) -> str | None:
    """Return the interface of the most specific route to an address in ``/proc/net/route``, for machines without the program ``ip``."""
    if ":" in address:
        return None
    # The numbers of the table have the byte order of the machine, which is almost always little-endian.
    packed = int.from_bytes(ipaddress.ip_address(address).packed, "little")
    routes = [match for line in table.splitlines() if (match := _ROUTE.fullmatch(line.rstrip()))]
    matching = [route for route in routes if packed & int(route["mask"], 16) == int(route["target"], 16)]
    return max(matching, key=lambda route: int(route["mask"], 16).bit_count())["device"] if matching else None


def _may_be_reference(address: str) -> bool:
    """Return whether the address may belong to a clock reference. It may not if it is valid only on one machine or link."""
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return False
    return not number.is_loopback and not number.is_link_local


class ClockReports:
    """Reports on the clocks of a run's machines. No reports are made if all machines share one clock.

    `tacholog.runs.clocks` reads the log of these reports.
    """

    def __init__(self, machines: Mapping[str, Machine]) -> None:
        """``machines``: the machines of a run, by their names. The log calls the machine without a name ``harness``."""
        boots = {machine.boot_id for machine in machines.values()}
        # Machines with the same boot id are one machine. A machine with an unknown boot id counts as a different machine.
        has_one_clock = len(machines) == 1 or (len(boots) == 1 and None not in boots)
        self._machines = {} if has_one_clock else machines
        self._lines: list[str] = []

    @property
    def are_needed(self) -> bool:
        """Whether the machines have several clocks."""
        return bool(self._machines)

    def take(self, when: str) -> None:
        """Ask all machines about their clocks. A machine that does not answer has no report.

        Args:
            when: ``before`` or ``after`` the run.
        """
        for name, machine in self._machines.items():
            try:
                report = machine.ask(["sh", "-c", _REPORT]) or ""
            except TachologError:  # the connection to the machine is lost
                continue
            for line in report.splitlines()[:_MOST_LINES]:
                tool, _, text = line.strip().partition(" ")
                is_report = tool in ("chronyc", "pmc") or (tool == "address" and _may_be_reference(text))
                if is_report and text.isprintable():
                    self._lines.append(f"{name or 'harness'} {when} {tool} {text[:_LONGEST_LINE]}")

    def write(self, folder: Path) -> None:
        """Write the log of the reports."""
        if self.are_needed:
            (folder / CLOCK_FILE).write_text("\n".join([HEAD, *self._lines, END]) + "\n", encoding="utf-8")


def _distinct(machines: Mapping[str, Machine]) -> list[tuple[str, Machine]]:
    """Return each machine once, with a prefix for its keys in the environment, such as ``b.``. The first machine has an empty prefix."""
    distinct: dict[str, tuple[str, Machine]] = {}
    for name, machine in machines.items():
        distinct.setdefault(machine.boot_id or f"unknown {name}", (f"{name or 'harness'}." if distinct else "", machine))
    return list(distinct.values())


def _prefixed(prefix: str, values: Mapping[str, str]) -> dict[str, str]:
    return {f"{prefix}{name}": value for name, value in values.items()}


def read_environment(machines: Mapping[str, Machine]) -> dict[str, str]:
    """Return the properties of all machines that may change between two runs."""
    return {key: text for prefix, machine in _distinct(machines) for key, text in _prefixed(prefix, machine.environment()).items()}


class ProcessorTimes(NamedTuple):
    """The processor times from the start of each machine until now.

    ``machines`` has the times of each machine, by the prefix of its keys. ``harness_s`` is the time of the harness and its children, in seconds.
    """

    machines: Mapping[str, ProcessorTime | None]
    harness_s: float


def read_moment(machines: Mapping[str, Machine], when: str) -> tuple[dict[str, str], ProcessorTimes]:
    """Return two things for all machines: the properties that change from second to second, and the processor times.

    Args:
        machines: the machines, by their names.
        when: ``before`` or ``after`` the run; the suffix of each property.
    """
    moments = {prefix: machine.moment() for prefix, machine in _distinct(machines)}
    properties = {f"{prefix}{name}_{when}": text for prefix, moment in moments.items() for name, text in moment.properties.items()}
    return properties, ProcessorTimes({prefix: moment.processor_time for prefix, moment in moments.items()}, sum(os.times()[:4]))


def load_while_idle(machines: Mapping[str, Machine], when: str) -> dict[str, str]:
    """Return how much other programs load each machine. The campaign must not run a process meanwhile. This takes `IDLE_S` seconds."""
    begin = read_moment(machines, when)[1]
    time.sleep(IDLE_S)
    return load_of_others(machines, (begin, read_moment(machines, when)[1]), {}, when)


def load_of_others(
    machines: Mapping[str, Machine], times: tuple[ProcessorTimes, ProcessorTimes], used_s: Mapping[str, float | None], when: str
) -> dict[str, str]:
    """Return the load of other programs on each machine between two moments.

    Args:
        machines: the machines, by their names.
        times: the processor times at the two moments.
        used_s: the processor time of the processes of the run, by the name of the machine; ``None`` if it is unknown.
        when: ``before``, ``during`` or ``after`` the run.
    """
    early, late = times
    environment: dict[str, str] = {}
    for prefix, machine in _distinct(machines):
        by_name = [used_s.get(name, 0.0) for name, other in machines.items() if (other.boot_id or name) == (machine.boot_id or name)]
        run_s = None if None in by_name else sum(used or 0 for used in by_name)
        if run_s is not None and isinstance(machine, LocalMachine):
            # The harness starts the processes of the run, so their time is included in that of the harness.
            run_s = max(run_s, late.harness_s - early.harness_s)
        begin, end = early.machines[prefix], late.machines[prefix]
        if begin and end:
            environment |= _prefixed(prefix, as_environment(disturbance(begin, end, run_s), when))
    return environment
