"""The network link between the hosts of a run: which interface each side uses, its MTU and its speed.

What is kept is what a result depends on. Addresses and names of interfaces are not kept.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tacholog.campaign.machines.machine import HostEntry, Machine

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


class End(NamedTuple):
    """The interface by which one host reaches another one. ``None``: not known."""

    mtu: str | None
    speed_mbit_per_s: int | None
    card: str


class HostLink(NamedTuple):
    """What the link of a run is.

    Attributes:
        environment: ``link_mtu`` and ``link_nic``.
        bit_per_s: the speed of the slower side, if all sides state theirs.
    """

    environment: Mapping[str, str]
    bit_per_s: float | None


def read_link(machines: Mapping[str, Machine], hosts: Mapping[str, HostEntry]) -> HostLink:
    """Ask the machines of a run by which interface each reaches the addresses of the others.

    Args:
        machines: the machines of the run, by their names.
        hosts: the hosts of the campaign.
    """
    ends = list(_ends(machines, hosts))
    mtus = list(dict.fromkeys(end.mtu for end in ends if end.mtu))
    cards = list(dict.fromkeys(end.card for end in ends))
    environment = {"link_mtu": ", ".join(mtus)} if mtus else {}
    environment |= {"link_nic": "; ".join(cards)} if cards else {}
    speeds = [end.speed_mbit_per_s for end in ends if end.speed_mbit_per_s is not None]
    return HostLink(environment, min(speeds) * 1e6 if speeds and len(speeds) == len(ends) else None)


def _ends(machines: Mapping[str, Machine], hosts: Mapping[str, HostEntry]) -> Iterator[End]:
    for name, machine in machines.items():
        for other in machines:
            address = hosts[other].address if other in hosts else None
            if other != name and address is not None and (end := _end(machine, address)):
                yield end


def _end(machine: Machine, address: str) -> End | None:
    """Return the interface by which a machine reaches an address; ``None`` if it does not say, or if the address is a name."""
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return None
    device = _device(machine, str(number))
    answer = machine.ask(["sh", "-c", _INTERFACE, "sh", device]) if device else None
    found = dict(line.partition(" ")[::2] for line in (answer or "").splitlines())
    mtu, speed, driver = (found.get(name, "") for name in ("mtu", "speed", "driver"))
    if not _MTU.fullmatch(mtu):
        return None
    if device == "lo":
        return End(mtu, None, "loopback")
    if "driver" not in found:
        return End(mtu, None, "virtual interface")
    known_speed = int(speed) if _SPEED.fullmatch(speed) else None
    words = [driver if _DRIVER.fullmatch(driver) else "network card", *([f"{known_speed} Mbit/s"] if known_speed else [])]
    return End(mtu, known_speed, ", ".join(words))


def _device(machine: Machine, address: str) -> str | None:
    """Return the name of the interface by which a machine reaches an address."""
    route = machine.ask(["ip", "-o", "route", "get", address])
    if route is not None:
        found = _DEVICE.search(route)
        return found["device"] if found else None
    return device_in_table(machine.ask(["cat", "/proc/net/route"]) or "", address)


def device_in_table(table: str, address: str) -> str | None:
    """Return the interface that a ``/proc/net/route`` names for an address: that of the most exact route. For machines without the program ip."""
    if ":" in address:
        return None
    packed = int.from_bytes(ipaddress.ip_address(address).packed, "little")  # the table's numbers are in the byte order of almost all machines
    routes = [found for line in table.splitlines() if (found := _ROUTE.fullmatch(line.rstrip()))]
    fitting = [route for route in routes if packed & int(route["mask"], 16) == int(route["target"], 16)]
    return max(fitting, key=lambda route: int(route["mask"], 16).bit_count())["device"] if fitting else None
