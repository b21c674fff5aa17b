"""A site of own runs with secrets in every field: no file of the site has a secret in its content or its name."""

from __future__ import annotations

import hashlib
import html
import io
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from tests.unpacked import content_of

from tacholog.runs.manifest import Command, Host, LogFile, Manifest, write
from tacholog.schema.conditions import StatedConditions
from tacholog.site.build import build_site

# Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

NATIVE = Path(__file__).parent.parent / "formats" / "native" / "latency-udp.log"
DDSPERF = Path(__file__).parent.parent / "formats" / "ddsperf" / "ping.log"
SAID = {
    "folder": "/tmp/bobsecret/keys.txt",  # noqa: S108
    "log": "/var/log/acme-secret/app.log",
    "domain": "db7.acmefqdn.com",
    "peer": "peer=node17.cluster.acmefqdn2.net:7400",
    "address": "to 10.9.8.77. done",
    "shell": "ssh -l harry acmegate",
    "password": "--user nancy --password hunter2SECRET",
    "person": "uid=1001(quentin)",
    "drive": r"D:\Acmewin Docs\file",
    "mac": "aabb.ccdd.eef3",
    "token": "ghp_TOKENTOKENTOKEN1234",
    "serial": "serial=S4EVNX0M123456",
    "words": "the zanzibar campaign",
}
SECRETS = (
    *("bobsecret", "acme-secret", "acmefqdn", "node17", "10.9.8.77", "harry", "acmegate", "nancy", "hunter2", "quentin", "acmewin", "aabb.ccdd"),
    *("tokentoken", "s4evnx", "zanzibar", "acmedesk", "acmebox", "acmeline"),
)


def write_runs(root: Path) -> None:
    """Write runs and a host file that contain secrets.

    The secrets are in notes of the log, in an unknown line of the log, and in each open field of the manifest and the host file.
    """
    *lines, end = NATIVE.read_text().splitlines()
    said = [f'note text="{key} {value}"'.replace("\\", "\\\\") for key, value in SAID.items()]
    native = "\n".join([*lines, *said, "a line by acmeline that nobody knows", end, ""]).encode()
    ddsperf = DDSPERF.read_text().replace(" vm:", " acmebox:").encode()
    for release in ("1", "2"):
        for name, log in (("native", native), ("ddsperf", ddsperf)):
            folder = root / f"{name}-{release}"
            folder.mkdir(parents=True)
            (folder / "some.log").write_bytes(log)
            manifest = Manifest(
                system="S",
                release=release,
                host="acmedesk",
                session=f"acmedesk-{release}",
                notes=tuple(SAID.values()),
                environment=dict(SAID),
                options={f"o_{key}": value for key, value in SAID.items()},
                labels={key: value for key, value in SAID.items() if key != "words"},  # Labels are shown except known names.
                conditions=StatedConditions(transport="udp"),
                commands=(Command(role="both", argv=("/opt/bobsecret/perftest", *SAID["shell"].split(), "--token=hunter2")),),
                logs=(LogFile(file="some.log", sha256=hashlib.sha256(log).hexdigest()),),
            )
            write(folder / "run.toml", manifest)
    (root / "hosts").mkdir()
    write(root / "hosts" / "acmedesk.toml", Host(name="acmedesk", source="quentin", notes=(SAID["words"],), cpu={"model": "Some CPU", **SAID}))


def texts(site: Path) -> Iterator[tuple[str, str]]:
    """Yield all texts of a site, each with the name of its file. The texts are the names of the files and the contents of the files.

    The contents of the files of the theme are left out. Parquet tables are converted to text.
    """
    for path in (path for path in site.rglob("*") if path.is_file() and path.suffix not in (".woff2", ".ttf")):
        name = path.relative_to(site).as_posix()
        yield name, name
        if path.suffix == ".parquet":
            yield name, pd.read_parquet(io.BytesIO(path.read_bytes())).to_csv()
        elif not name.startswith("_static/"):
            yield name, content_of(path).decode(errors="replace")


@pytest.mark.site
def test_no_file_of_a_site_contains_text_that_is_not_known_to_be_public(tmp_path: Path) -> None:
    write_runs(tmp_path / "data")

    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path).parent

    assert [(name, secret) for name, text in texts(site) for secret in SECRETS if secret in text.lower()] == []
    page, quality = (site / name for name in ("logs/native-1/some.log.html", "quality.html"))
    place = len(NATIVE.read_text().splitlines()) + len(SAID)
    said = f'1 line withheld (line {place}): unknown_lines = "show" under [privacy] in site.toml shows them'
    for file in (page, quality):
        assert said in html.unescape(file.read_text())
    raw = next(content_of(path) for path in site.glob("raw/*/*.gz") if path.stem in page.read_text())
    assert raw.decode().splitlines()[place - 1] == "[withheld]"
    digests = hashlib.sha256(raw).hexdigest(), hashlib.sha256((tmp_path / "data/native-1/some.log").read_bytes()).hexdigest()
    assert all(digest in page.read_text() for digest in digests)
