"""Names of machines, people, networks and folders in text: found where they are said, replaced by pseudonyms wherever they occur.

Users, addresses and folders are numbered within a run in the order in which its logs name them: logs do not change, so the numbers last, and nobody
can guess the original back from a number. A machine keeps its pseudonym across runs, because comparisons need to know that it is the same.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

Policy = Literal["pseudonym", "show"]
PSEUDONYM = re.compile(r"^host-[0-9a-f]{6}$")
PLACEHOLDER = re.compile(r"\b(?:user|address|path)-\d+\b")

_WORD = r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?"
_HOST_SAID = re.compile(
    rf"(?i:\bhost name=\"?|\b(?:host_?name|node_?name|computer_?name)\b[\"']?\s*[=:]\s*[\"']?|\bconnecting to (?:host )?)(?P<host>{_WORD})"
    rf"|^Linux (?P<uname>{_WORD}) \d+\.\d"
)
_USER_SAID = re.compile(
    rf"(?i:\b(?:user_?name|user|login|logname)[\"']?\s*[=:]\s*[\"']?|/home/|/Users/|[a-z]:\\users\\|/var/home/)(?P<user>{_WORD})(?![\w(])"
)
_AT = re.compile(rf"(?<![\w.@/-])(?P<user>[A-Za-z_][\w.+-]*)@(?P<host>{_WORD})(?!\w)")
_PRIVATE_DOMAIN = re.compile(r"(?<![\w.-])(?P<host>[A-Za-z0-9][\w-]*(?:\.[\w-]+)*\.(?:local|lan|internal|intra|corp|home|localdomain))(?![\w-])")
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d|\. )")
_GROUP = r"[0-9A-Fa-f]{1,4}"
# Whole, or with `::`. A looser pattern would stop at every bin of a histogram (217:217:1).
_IPV6 = re.compile(rf"(?<![\w:.])(?:(?:{_GROUP}(?::{_GROUP})*)?::(?:{_GROUP}(?::{_GROUP})*)?|(?:{_GROUP}:){{7}}{_GROUP})(?![\w:])")
_MAC = re.compile(r"(?<![\w:-])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![\w:-])")
_PATH = re.compile(r"(?<![\w./~>-])(?P<folder>~?/(?:[\w.+@~%-]+/)+)(?P<rest>[\w.+@~%-]*)|(?P<windows>\b[A-Za-z]:\\(?:[^\\/:*?\"<>|\s]+\\)+)")
_VERSION_BEFORE = re.compile(r"(?:\bv|version|release|\bver)\W{0,3}$", re.IGNORECASE)
# Folders that every machine has say nothing of anybody.
_COMMON = ("/dev/", "/proc/", "/sys/", "/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/etc/", "/run/", "/tmp/", "/var/log/")  # noqa: S108
# Words that are names on many machines and mean something else in a log: they are replaced where they are said to be a name, and only there.
_EVERYDAY = {
    "localhost",
    "root",
    "user",
    "admin",
    "ubuntu",
    "debian",
    "fedora",
    "runner",
    "build",
    "test",
    "tests",
    "host",
    "node",
    "perf",
    "vm",
    "server",
}
_EVERYDAY |= {
    "perftest",
    "tacholog",
    "client",
    "publisher",
    "subscriber",
    "latency",
    "throughput",
    "pub",
    "sub",
    "both",
    "tcp",
    "udp",
    "shm",
    "none",
    "name",
}
_SHORTEST = 3
_LOOK_BACK = 12


class Privacy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a site shows of names: of machines, users, addresses and folders. ``keep`` are words to show, ``hide`` further words to hide."""

    hosts: Policy = "pseudonym"
    users: Policy = "pseudonym"
    addresses: Policy = "pseudonym"
    paths: Policy = "pseudonym"
    keep: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()


def host_pseudonym(name: str) -> str:
    """Name a machine whose facts are not known. With ``TACHOLOG_PSEUDONYM_KEY`` set, nobody without the key can check a guess."""
    key = os.environ.get("TACHOLOG_PSEUDONYM_KEY", "")
    return "host-" + hmac.new(key.encode(), name.lower().encode(), hashlib.sha256).hexdigest()[:6]


class Names:
    """The names that were found so far: of machines with their pseudonyms, and of people."""

    def __init__(self, privacy: Privacy, hosts: Mapping[str, str]) -> None:
        self.privacy = privacy
        self._keep = {word.lower() for word in privacy.keep}
        self.hosts = {name.lower(): shown for name, shown in hosts.items()} if privacy.hosts == "pseudonym" else {}
        self._stated = frozenset(self.hosts)
        self.own: dict[str, set[str]] = {}  # by pseudonym: what the logs of that machine call it; many machines are called "vm"
        self.users: set[str] = set()

    def learn(self, line: str, host: str | None = None) -> None:
        """Take the names that a line of text says to be names. ``host`` is the pseudonym of the machine whose log it is."""
        if self.privacy.hosts == "pseudonym":
            for found in _HOST_SAID.finditer(line):
                is_other = found[0].lower().startswith("connecting")
                self.add_host(found["host"] or found["uname"], None if is_other else host)
            for pattern in (_AT, _PRIVATE_DOMAIN):
                for found in pattern.finditer(line):
                    self.add_host(found["host"])
        if self.privacy.users == "pseudonym":
            self.users.update(found["user"].lower() for pattern in (_USER_SAID, _AT) for found in pattern.finditer(line) if self.hides(found["user"]))

    def add_host(self, name: str, pseudonym: str | None = None) -> None:
        """Take the name of a machine, and its short form."""
        for form in dict.fromkeys((name.lower(), name.lower().split(".")[0])):
            if self.hides(form) and not PSEUDONYM.match(form) and not _is_number(form):
                self.hosts.setdefault(form, pseudonym or host_pseudonym(name))
                if pseudonym and form not in self._stated:
                    self.own.setdefault(pseudonym, set()).add(form)

    def hides(self, word: str) -> bool:
        """Whether a name is to be hidden at all."""
        return word.lower() not in self._keep and word.lower() != "localhost"


class Redactor:
    """Replaces names in the texts of one run, made on the machine of that pseudonym."""

    def __init__(self, names: Names, machine: str | None = None) -> None:
        self._names, self._privacy, self._machine = names, names.privacy, machine
        self._numbers: dict[str, dict[str, int]] = {}
        words = [*names.hosts, *names.users]
        self._everywhere = _words(word for word in words if len(word) >= _SHORTEST and word not in _EVERYDAY)
        self._hidden = _words(names.privacy.hide)

    def text(self, text: str) -> str:
        """Return the text without names."""
        if self._hidden:
            text = self._hidden.sub(lambda found: self._number("hidden", found[0].lower()), text)
        if self._privacy.paths == "pseudonym":
            text = _PATH.sub(self._path, text)
        if self._privacy.addresses == "pseudonym":
            for pattern in (_MAC, _IPV6, _IPV4):
                text = pattern.sub(self._address, text)
        for pattern in (_AT, _HOST_SAID, _USER_SAID):
            text = pattern.sub(self._said, text)
        return self._everywhere.sub(lambda found: self._name(found[0]), text) if self._everywhere else text

    def _said(self, found: re.Match[str]) -> str:
        """Replace the named groups of a match, the last first, so that places stay right."""
        whole, start = found[0], found.start()
        groups = sorted((name for name, value in found.groupdict().items() if value is not None), key=found.start, reverse=True)
        for name in groups:
            whole = whole[: found.start(name) - start] + self._name(found[name]) + whole[found.end(name) - start :]
        return whole

    def _name(self, word: str) -> str:
        if self._machine is not None and word.lower() in self._names.own.get(self._machine, ()):
            return self._machine
        known = self._names.hosts.get(word.lower()) if self._names.hides(word) else None
        if known is not None:
            return known
        return self._number("user", word.lower()) if word.lower() in self._names.users else word

    def _address(self, found: re.Match[str]) -> str:
        text = found[0]
        before = found.string[max(0, found.start() - _LOOK_BACK) : found.start()]
        if not self._names.hides(text) or not _identifies(text) or _VERSION_BEFORE.search(before):
            return text
        return self._number("address", text.lower())

    def _path(self, found: re.Match[str]) -> str:
        folder = found["folder"] or found["windows"]
        if folder.startswith(_COMMON) or not self._names.hides(folder.rstrip("/\\")):
            return found[0]
        return f"{self._number('path', folder)}/{found['rest'] or ''}"

    def _number(self, kind: str, original: str) -> str:
        known = self._numbers.setdefault(kind, {})
        return f"{kind}-{known.setdefault(original, len(known) + 1)}"


def _words(words: Iterable[str]) -> re.Pattern[str] | None:
    longest_first = sorted({word for word in words if word}, key=lambda word: (-len(word), word))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, longest_first))})(?![A-Za-z0-9])", re.IGNORECASE) if longest_first else None


def _identifies(text: str) -> bool:
    """Whether an address is somebody's: not a version of four numbers, the machine itself, everybody, or a group."""
    if _MAC.fullmatch(text):
        return text.replace("-", ":") not in ("00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff")
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (text.startswith("0.") or address.is_loopback or address.is_unspecified or address.is_multicast or text == "255.255.255.255")


def _is_number(text: str) -> bool:
    return text.replace(".", "").isdigit()
