"""A small data folder made of lines that real tools printed. The site of this data is built once for all tests of this folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from tacholog.privacy.settings import Privacy
from tacholog.runs.manifest import Command, Host, LogFile, Manifest, Source, write
from tacholog.schema.conditions import StatedConditions
from tacholog.site.build import build_site
from tacholog.site.settings import SiteSettings

# Lines of a published run of RTI Perftest over shared memory, and of a run with the same sizes and another data type.
FIRST = """\
    Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)
    Length:    64  Packets: 71581304  Packets/s(ave): 2386046  Mbps(ave):  1221.7  Lost:     0 (0.00%)
    Length:  1024  Packets: 17168648  Packets/s(ave):  572288  Mbps(ave):  4688.2  Lost:     0 (0.00%)
"""
SECOND = """\
    Length:    32  Packets: 55417788  Packets/s(ave): 1847052  Mbps(ave):   472.8  Lost:     0 (0.00%)
    Length:    64  Packets: 51423823  Packets/s(ave): 1713927  Mbps(ave):   877.5  Lost:     0 (0.00%)
    Length:  1024  Packets: 16370191  Packets/s(ave):  545671  Mbps(ave):  4470.1  Lost:     0 (0.00%)
"""
ZERO_COPY = "    Length:    32  Packets:  1902520  Packets/s(ave):   63417  Mbps(ave):    16.2  Lost:     0 (0.00%)\n"
# The same tool when the network was slower than the publisher: most samples were lost.
LOSSY = "    Length:    32  Packets:  1902520  Packets/s(ave):   63417  Mbps(ave):    16.2  Lost:     1902520 (50.00%)\n"
HOSTILE_TEXT = "<script>alert(1)</script> \x07\u202ebell <img src=x onerror=alert(1)>"
HOSTILE_NAME = "<b onclick=alert(1)>Évil | ```{raw} html\n](javascript:alert(1))"
NATIVE = Path(__file__).parent.parent / "formats" / "native" / "latency-udp.log"


def add_run(root: Path, run: str, log: str, manifest: Manifest) -> None:
    folder = root / run
    folder.mkdir(parents=True)
    (folder / "sub.log").write_text(log, encoding="utf-8")
    digest = hashlib.sha256((folder / "sub.log").read_bytes()).hexdigest()
    write(folder / "run.toml", msgspec.structs.replace(manifest, logs=(LogFile(file="sub.log", sha256=digest),)))


def rti(transport: str = "SHMEM", *, published: bool = True, **others: object) -> Manifest:
    conditions = msgspec.convert({"transport": transport, **others}, StatedConditions)
    command = Command(role="sub", argv=("perftest_cpp", "-sub", "-dataLen", "{payload_bytes}", "-name", "two words"))
    return Manifest(
        system="RTI Connext DDS",
        tool="RTI Perftest",
        published=published,
        host=None if published else "desk",
        conditions=conditions,
        commands=(command, Command(role="pub", argv=("perftest_cpp", "-pub", "-dataLen", "{payload_bytes}"))),
        notes=("The document states no host.",) if published else (),
        logs=(),
    )


def write_data(root: Path) -> Path:
    """Write published runs and own runs: repeated, zero-copy, lossy, hostile and failed runs."""
    source = Source(document="summary.md", title="RTI Perftest default type", publisher="RTI", sha256="0" * 64, lines="1-3")
    add_run(root, "rti/copy", FIRST, msgspec.structs.replace(rti(data_path="copy"), source=source))
    add_run(root, "rti/zero-copy", ZERO_COPY, rti(data_path="zero-copy"))
    add_run(root, "rti/own-1", FIRST, rti("UDPv4", published=False, reliability="reliable"))
    add_run(root, "rti/own-2", SECOND, rti("UDPv4", published=False, reliability="reliable"))
    add_run(root, "rti/lossy", LOSSY, rti("UDPv4", published=False, reliability="best-effort"))
    add_run(root, "own/latency", NATIVE.read_text(), Manifest(system="Tacholog perftest", tool="perftest", host="desk", logs=()))
    # The log is the same as the log of the previous run, so both runs have equal values.
    add_run(root, "own/latency-again", NATIVE.read_text(), Manifest(system="Tacholog perftest", tool="perftest", host="desk", logs=()))
    evil = f"{FIRST}{HOSTILE_TEXT}\n    Length:  4096  Packets:  4908091  Packets/s(ave):\n"
    add_run(
        root, "evil/run", evil, Manifest(system=HOSTILE_NAME, conditions=StatedConditions(transport=HOSTILE_NAME), notes=(HOSTILE_NAME,), logs=())
    )
    failed = Manifest(system="RTI Connext DDS", status="failed", reason="exit code 1", conditions=StatedConditions(transport="UDPv4"), logs=())
    add_run(root, "rti/failed", "", failed)
    (root / "hosts").mkdir()
    write(root / "hosts" / "desk.toml", Host(name="A desk", source="read by tacholog host", cpu={"model": "Some CPU"}, system={"kernel": "6.18"}))
    return root


class Page(HTMLParser):
    """The parts of a page that tests check: its ids, links, tags, and the text of its body."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.path = path
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if found.get("id"):
            self.ids.append(str(found["id"]))
        for name in ("href", "src"):
            if found.get(name):
                self.links.append(str(found[name]))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="session")
def data(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    return made_once("report-data", lambda folder: write_data(folder / "data")) / "data"


@pytest.fixture(scope="session")
def shown() -> SiteSettings:
    """Return the settings of a site that shows all lines and texts. test_privacy.py tests what a site hides."""
    return SiteSettings(privacy=Privacy(unknown_lines="show", free_text="show"))


@pytest.fixture(scope="session")
def site(data: Path, shown: SiteSettings, made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    return made_once("report-site", lambda folder: build_site([data], folder / "site", folder, shown)) / "site"


@pytest.fixture(scope="session")
def page(site: Path) -> Callable[[str], Page]:
    """Read a page of the built site by its document name."""
    return lambda name: Page(site / f"{name}.html")
