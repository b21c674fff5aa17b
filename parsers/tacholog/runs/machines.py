"""The machines that host files describe. Host files with one id that contradict each other describe different machines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

import msgspec

from tacholog.runs.manifest import Host, Manifest

_SECTIONS = ("cpu", "memory", "storage", "network", "system")
# A machine keeps its hardware. Its settings and programs, such as the governor and the compiler, may change between two runs.
_HARDWARE = {"cpu": ("model", "sockets", "cores", "threads", "numa_nodes", "cache_l1d", "cache_l1i", "cache_l2", "cache_l3"), "memory": ("size",)}


def contradictory_properties(first: Host, second: Host) -> list[str]:
    """Return the hardware that both descriptions state, but with different values: ``cpu cache_l1d: 48 KiB, 32 KiB``."""
    both = [(name, value, _hardware(second)[name]) for name, value in _hardware(first).items() if name in _hardware(second)]
    return [f"{name}: {value}, {other}" for name, value, other in both if value != other]


def _hardware(host: Host) -> dict[str, str]:
    sections: dict[str, dict[str, str]] = {section: getattr(host, section) for section in _HARDWARE}
    return {f"{section} {name}": sections[section][name] for section, names in _HARDWARE.items() for name in names if name in sections[section]}


class HostFile(NamedTuple):
    """A host file: the folder of the runs that it is for, the id of the machine, the path of the file in words, and its content."""

    folder: Path
    id: str
    path: str
    host: Host


class Conflict(NamedTuple):
    """Two host files with one id that contradict each other, what differs, and the id of the second machine."""

    first: str
    second: HostFile
    differing: list[str]
    id: str


class Machines:
    """The machines of a dataset by their ids.

    The first description of an id keeps the id, so that addresses of pages do not change if others are added. A description that contradicts it is
    of another machine, whose id is made from its hardware.
    """

    def __init__(self) -> None:
        self.hosts: dict[str, Host] = {}
        self._ids: dict[str, dict[Path, str]] = {}
        self._files: dict[str, str] = {}

    def add_files(self, files: Iterable[HostFile]) -> Iterator[Conflict]:
        """Add the machines of files, and yield a conflict for each file that describes another machine than the first file with its id."""
        for file in files:
            added = self.add(file.id, file.host)
            self._ids.setdefault(file.id, {})[file.folder] = added
            self._files.setdefault(added, file.path)
            if added != file.id:
                yield Conflict(self._files[file.id], file, contradictory_properties(self.hosts[file.id], file.host), added)

    def add(self, name: str, host: Host) -> str:
        """Add a description of the machine ``name``, and return the id of the machine that it describes."""
        ids = chain((name,), _ids_of(name, host))
        machine = next(each for each in ids if each not in self.hosts or not contradictory_properties(self.hosts[each], host))
        self.hosts[machine] = _joined(self.hosts[machine], host) if machine in self.hosts else host
        return machine

    def in_folder(self, folder: Path, manifest: Manifest) -> Manifest:
        """Return the manifest of a run in this folder, with the ids of the machines that the nearest host files describe."""
        ids = {name: machine for name in _names_in(manifest) if (machine := self._id_in(folder, name)) != name}
        if not ids:
            return manifest
        commands = tuple(msgspec.structs.replace(command, host=ids.get(command.host or "", command.host)) for command in manifest.commands)
        return msgspec.structs.replace(manifest, host=ids.get(manifest.host or "", manifest.host), commands=commands)

    def _id_in(self, folder: Path, name: str) -> str:
        ids = self._ids.get(name, {})
        return next((ids[above] for above in (folder, *folder.parents) if above in ids), name) if {*ids.values()} - {name} else name


def _names_in(manifest: Manifest) -> set[str]:
    return {name for name in (manifest.host, *(command.host for command in manifest.commands)) if name is not None}


def _ids_of(name: str, host: Host) -> Iterator[str]:
    """Yield ids made from the hardware. The first one is usual: only a file with this name can describe another machine by it."""
    properties = [f"{property_name} {value}" for property_name, value in _hardware(host).items()]
    for number in count():
        text = "\n".join((name, *properties, *([str(number)] if number else [])))
        yield "host-" + hashlib.sha256(text.encode()).hexdigest()[:6]


def _joined(first: Host, second: Host) -> Host:
    """Return the first description with the properties that only the second one states."""
    return msgspec.structs.replace(first, **{section: {**getattr(second, section), **getattr(first, section)} for section in _SECTIONS})
