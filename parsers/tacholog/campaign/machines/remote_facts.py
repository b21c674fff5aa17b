"""The properties of a host that is reached over ssh. The same code reads the properties of this machine.

A shell script (``facts.sh``) prints the small files of ``/proc`` and ``/sys`` on the host. They are written as a tree into a temporary folder on this
machine, and `tacholog.runs.host` reads the tree. A host may send anything, so the names, the number and the size of the files are checked.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tacholog.errors import TachologError
from tacholog.runs import host
from tacholog.runs.manifest import Host

FACTS = Path(__file__).with_name("facts.sh").read_text(encoding="utf-8")
_PATH = re.compile(r"(?:proc|sys|etc|run|\.dockerenv)(?:/[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]*){0,12}(?:/\.containerenv)?")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")
_MOST_FILES = 20_000
_LONGEST_ANSWER = 300
_BOOT_ID = "proc/sys/kernel/random/boot_id"


class HostFacts(msgspec.Struct, frozen=True):
    """The properties of a host, as ``facts.sh`` prints them.

    Attributes:
        files: the content of small files, by their path without the first slash.
        folders: folders, and files whose content is not needed.
        drivers: the name of a driver, by the path of the symbolic link to it.
        answers: the output of programs on the host, by name.
    """

    files: Mapping[str, str]
    folders: frozenset[str]
    drivers: Mapping[str, str]
    answers: Mapping[str, str]

    @property
    def boot_id(self) -> str | None:
        """Return the boot id of the kernel. It is only compared, and never published."""
        return self.files.get(_BOOT_ID, "").strip() or None

    def describe(self) -> Host:
        """Return the host as a host file describes it."""
        with self.tree() as root:
            return host.this_host(root, self.answers)

    def environment(self) -> host.Properties:
        """Return the properties that may change between two runs."""
        with self.tree() as root:
            properties = host.environment(root, affinity=_single_numbers(self.answers.get("affinity", "")))
        # ``tacholog_python`` is left out, because it is the version of Python on this machine, not on the host.
        return {name: text for name, text in properties.items() if name != "tacholog_python"}

    def moment(self) -> host.Moment:
        """Return the properties that change from second to second."""
        with self.tree() as root:
            return host.moment(root)

    @contextmanager
    def tree(self) -> Iterator[Path]:
        """Yield a temporary folder that contains the files.

        Raises:
            TachologError: the files cannot be written as one tree.
        """
        with tempfile.TemporaryDirectory(prefix="tacholog-facts-") as folder:
            root = Path(folder, "root")
            try:
                self._write(root, Path(folder, "drivers"))
            except OSError as error:
                raise TachologError(f"the files with the properties of a host cannot be written: {error.strerror}") from error
            yield root

    def _write(self, root: Path, drivers: Path) -> None:
        for path in sorted(self.folders):
            (root / path).mkdir(parents=True, exist_ok=True)
        for path, name in self.drivers.items():
            # `tacholog.runs.host` reads only the name of the folder to which the link leads.
            (drivers / name).mkdir(parents=True, exist_ok=True)
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).symlink_to(drivers / name)
        for path, text in self.files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")


def facts_from(text: str) -> HostFacts:
    """Parse the output of ``facts.sh``. Lines about files outside of ``/proc``, ``/sys``, ``/etc`` and ``/run`` are ignored.

    Raises:
        TachologError: the output has more files than any real machine.
    """
    files: dict[str, list[str]] = {}
    folders: set[str] = set()
    drivers: dict[str, str] = {}
    answers: dict[str, str] = {}
    for line in text.split("\n"):
        kind, _, words = line.partition(" ")
        name, _, value = words.partition(" ")
        path, colon, content = line.partition(":")
        if kind == "is" and _PATH.fullmatch(words):
            folders.add(words)
        elif kind == "driver" and _PATH.fullmatch(name) and _NAME.fullmatch(value):
            drivers[name] = value
        elif kind == "stated" and _NAME.fullmatch(name) and value:
            answers[name] = value[:_LONGEST_ANSWER]
        elif colon and _PATH.fullmatch(path):
            files.setdefault(path, []).append(content + "\n")
        if len(files) + len(folders) > _MOST_FILES:
            raise TachologError(f"a host reports more than {_MOST_FILES} files about itself")
    return HostFacts({path: "".join(lines) for path, lines in files.items()}, frozenset(folders), drivers, answers)


def _single_numbers(ranges: str) -> str | None:
    """Return ``0,1,2,5`` for the list of processors ``0-2,5``; ``None`` if the text is no such list."""
    numbers: list[int] = []
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        numbers.extend(range(first, min(last, first + _MOST_FILES) + 1))
    return ",".join(map(str, numbers))
