"""The link between the hosts of a run, according to the kernel of each host."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tacholog.campaign.machines import Machine
from tacholog.campaign.machines.local import LocalMachine
from tacholog.campaign.machines.machine import HostEntry
from tacholog.campaign.machines.state import device_in_table, read_link
from tacholog.compare.profiles import profiles_of
from tacholog.runs.manifest import LogFile, Manifest, write
from tacholog.store.load import load

#: A real /proc/net/route: a default route, a network of 16 bits, and a network of 24 bits within it.
ROUTES = (
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT                                                       \n"
    "eth0\t00000000\t0100580A\t0003\t0\t0\t0\t00000000\t0\t0\t0                                                                               \n"
    "eth1\t0000580A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0                                                                               \n"
    "eth2\t0002580A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0                                                                               \n"
)


@pytest.mark.parametrize(
    ("address", "device"),
    [("10.88.2.7", "eth2"), ("10.88.3.7", "eth1"), ("192.0.2.1", "eth0"), ("fe80::1", None)],
)
def test_network_device_of_an_address_is_taken_from_the_most_specific_route(address: str, device: str | None) -> None:
    assert device_in_table(ROUTES, address) == device


def machines(names: Sequence[str], hosts: dict[str, HostEntry]) -> dict[str, Machine]:
    return {name: LocalMachine(name, hosts[name], {}) for name in names}


def test_hosts_on_one_machine_are_linked_by_the_loopback() -> None:
    hosts = {"a": HostEntry(address="127.0.0.1"), "b": HostEntry(address="127.0.0.2")}

    link = read_link(machines("ab", hosts), hosts)

    assert link.environment["link_nic"] == "loopback"
    assert link.environment["link_mtu"] == Path("/sys/class/net/lo/mtu").read_text().strip()
    assert link.bit_per_s is None


def test_link_is_unknown_if_no_host_has_a_numeric_address() -> None:
    hosts = {"a": HostEntry(), "b": HostEntry(address="lab-b.example.org")}

    link = read_link(machines("ab", hosts), hosts)

    assert (dict(link.environment), link.bit_per_s) == ({}, None)


def test_profile_of_a_run_names_only_the_network_card_that_the_run_used(tmp_path: Path) -> None:
    log = Path(__file__).parents[2] / "docs/example/data/latency-udp/perftest.log"
    (tmp_path / "run").mkdir()
    (tmp_path / "run/perftest.log").write_bytes(log.read_bytes())
    entry = LogFile(file="perftest.log", sha256="0" * 64)
    write(tmp_path / "run/run.toml", Manifest(system="S", environment={"link_mtu": "9000", "link_nic": "ixgbe, 10000 Mbit/s"}, logs=(entry,)))

    [profile] = profiles_of(load([tmp_path]))

    assert (profile.mtu, profile.nic) == ("9000", "ixgbe, 10000 Mbit/s")
