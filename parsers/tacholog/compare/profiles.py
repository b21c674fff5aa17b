"""The profile of a run: the hardware, tool and options that decide whether its numbers may be compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tacholog.compare.comparable import MACHINE
from tacholog.compare.sides import stated_of
from tacholog.runs.conditions import is_of_machine, options_words, split_options
from tacholog.runs.manifest import Host

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset

_MTU = re.compile(r"\bMTU (\d+)")
_NOT_A_CARD = ("switch", "cable", "mtu", "loopback_mtu")


class Profile(NamedTuple):
    """The part of a run's description that a diff compares. ``machine`` is the machine's name (`machine_names`)."""

    host: str | None
    machine: str | None
    cpu_model: str | None
    cores: str | None
    memory: str | None
    nic: str | None
    mtu: str | None
    tool: str | None
    harness_major: str | None
    options: str | None
    run_settings: str | None
    labels: str | None


def machine_names(*sides: Dataset) -> dict[str, str]:
    """The name of each machine that a run of any side was measured on, by its id.

    Names say the processor, so machines of one kind share a name. Two machines then have their ids behind it: a reader must see that they are two.
    """
    hosts = {str(host) for side in sides for host in side.runs["host"].dropna()}
    known = {host: side.hosts[host].name for side in sides for host in hosts if host in side.hosts}
    shared = Counter(known.get(host, host) for host in hosts)
    names = {host: known.get(host, host) for host in hosts}
    return {host: f"{name} ({host})" if shared[name] > 1 else name for host, name in names.items()}


def profiles_of(dataset: Dataset, names: Mapping[str, str] | None = None) -> list[Profile]:
    """The profile of each run, in the order of ``runs``; ``names`` are those of `machine_names`, by default of the dataset alone."""
    names = machine_names(dataset) if names is None else names
    columns = ("host", "tool", "tool_version", "options", "published", "labels", "manifest")
    return [_profile(run, dataset.hosts, names) for run in stated_of(dataset.runs, columns)]


def _profile(run: Mapping[str, Any], hosts: Mapping[str, Host], names: Mapping[str, str]) -> Profile:
    host, tool, version = (_known(run[name]) for name in ("host", "tool", "tool_version"))
    found = hosts.get(host or "")
    machine = dict(zip(MACHINE, _machine(found), strict=True)) if found else dict.fromkeys(MACHINE)
    machine |= _link(_known(run["manifest"]))
    # The options of a document only repeat its conditions; those of a campaign are settings.
    stated = None if run["published"] is True else _with_machines(_known(run["options"]), hosts)
    options, settings = split_options(stated)
    return Profile(
        host=host,
        machine=names.get(host or ""),
        tool=tool,
        harness_major=version.split(".")[0] if version else None,
        options=options_words(options) if options else None if stated is None else "none",
        run_settings=str(settings) if settings else None,
        labels=_known(run["labels"]),
        **machine,
    )


def _with_machines(options: str | None, hosts: Mapping[str, Host]) -> str | None:
    """The options of a run, with the hardware of machines in the place of their ids.

    The id of a machine changes with its kernel. A comparison asks for the hardware alone, of the run's host and of those of other processes.
    """
    if options is None:
        return None
    known: dict[str, Any] = msgspec.json.decode(options)
    for name, value in known.items():
        if is_of_machine(name) and isinstance(value, str) and value in hosts:
            known[name] = ", ".join(text for text in _machine(hosts[value])[:3] if text) or value
    return msgspec.json.encode(known).decode()


def _machine(host: Host) -> tuple[str | None, ...]:
    """The values of `MACHINE` in a host file."""
    cores = [f"{host.cpu[name]} {name}" for name in ("sockets", "cores", "threads") if name in host.cpu]
    cards = [text for name, text in host.network.items() if name not in _NOT_A_CARD and not name.startswith("net.")]
    nic = "; ".join(_MTU.sub("", text).strip(", ") for text in cards)
    mtu = host.network.get("mtu") or ", ".join(found[1] for text in cards if (found := _MTU.search(text)))
    return host.cpu.get("model"), ", ".join(cores) or None, host.memory.get("size"), nic or None, mtu or None


def _link(manifest: str | None) -> dict[str, str]:
    """The network card and the MTU of a run between hosts, where it states its link: a host may have other cards, which took no part."""
    if manifest is None or '"link_' not in manifest:
        return {}
    environment: dict[str, str] = msgspec.json.decode(manifest).get("environment", {})
    return {name: environment[f"link_{name}"] for name in ("nic", "mtu") if f"link_{name}" in environment}


def _known(value: Any) -> str | None:  # noqa: ANN401 - a cell of a frame
    return value if isinstance(value, str) else None
