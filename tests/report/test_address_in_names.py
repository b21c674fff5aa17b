"""The address of a network card is also masked if it is a part of the card's name: systemd and rdma-core give cards such names."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import msgspec
import pytest

from tacholog.privacy.classes import published_host, published_manifest, published_text
from tacholog.privacy.known_names import KnownNames
from tacholog.privacy.redactor import Redactor
from tacholog.privacy.settings import Privacy
from tacholog.runs.manifest import Command, Host, LogFile, Manifest, write
from tacholog.schema.tables import TABLES
from tacholog.site.build import build_site

pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

LOG = Path(__file__).resolve().parent.parent / "formats/native/latency-udp.log"
ADDRESS = "00e04c680123"
NAMES = {
    f"enx{ADDRESS}": ADDRESS,
    f"ENX{ADDRESS.upper()}": ADDRESS,
    f"enx{ADDRESS}.100": ADDRESS,
    f"vlan@enx{ADDRESS}": ADDRESS,
    f"dev=enx{ADDRESS},mtu=1500": ADDRESS,
    "wlxaabbccddeeff": "aabbccddeeff",
    "wwx0250f4000001": "0250f4000001",
    "ibx7cfe90123456": "7cfe90123456",
    "rocex525400c0fe123455": "525400c0fe123455",
}


def redactor() -> Redactor:
    return Redactor(KnownNames(Privacy(), {}))


@pytest.mark.parametrize("name", NAMES)
def test_card_name_with_address_is_masked_in_each_text_of_a_manifest_and_of_a_host(name: str) -> None:
    log = LogFile(file=f"{name}.log", sha256="0" * 64)
    command = Command(role="both", argv=("perftest", "--interface", name, f"--on={name}"), program=name, prefix=("ip", name))
    manifest = Manifest(
        system=f"System over {name}",
        tool=name,
        release=name,
        host=name,
        session=name,
        campaign=name,
        reason=f"{name} is down",
        notes=(f"over {name}",),
        labels={"card": name},
        options={"interface": name, name: "x"},
        environment={"link_nic": name, "link_mtu": name, f"b.{name}": name, name: name},
        commands=(command,),
        logs=(log,),
    )
    host = Host(
        name=name, source=name, notes=(name,), cpu={"model": name}, network={"nic": f"{name}, 1000 Mbit/s", name: "up"}, system={"kernel": name}
    )

    shown = msgspec.json.encode([published_manifest(manifest, redactor()), published_host(host, redactor())]).decode()

    assert NAMES[name] not in shown.lower()
    assert "address-1" in shown


@pytest.mark.parametrize("name", NAMES)
def test_address_in_the_name_of_a_card_is_masked_in_each_published_column(name: str) -> None:
    columns = [(table, column, schema.privacy) for table, known in TABLES.items() for column, schema in known.items() if schema.kind == "text"]

    leaked = [
        (table, column)
        for table, column, privacy in columns
        if NAMES[name] in (published_text(f"a {name} b", column, privacy, redactor()) or "").lower()
    ]

    assert leaked == []


@pytest.mark.parametrize(
    "word",
    [
        "enx000000000000",  # No card has this address.
        "enxffffffffffff",
        "d1af673cabcd",  # The beginning of the id of a commit.
        "enp0s31f6",
        "hexx00e04c680123",  # The name is only a part of this word.
        "enx00e04c68012",
    ],
)
def test_word_that_is_not_the_address_of_a_card_is_shown(word: str) -> None:
    assert redactor().text(f"on {word} now") == f"on {word} now"


@pytest.mark.site
def test_no_file_of_a_site_contains_the_address(tmp_path: Path) -> None:
    folder = tmp_path / "data/run"
    folder.mkdir(parents=True)
    shutil.copy(LOG, folder / "x.log")
    entry = LogFile(file="x.log", sha256=hashlib.sha256(LOG.read_bytes()).hexdigest())
    write(folder / "run.toml", Manifest(system="acme", environment={"link_nic": f"enx{ADDRESS}"}, logs=(entry,)))

    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work").parent

    files = [path for path in site.rglob("*") if path.is_file()]
    assert [path for path in files if ADDRESS.encode() in path.read_bytes()] == []
    assert 'link_nic = "address-1"' in next(site.glob("raw/**/run.toml.txt")).read_text(encoding="utf-8")
