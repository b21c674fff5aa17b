"""Evidence is a regular file in the folder of its run. Any other file is reported, affects only its run, and is never shown."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command import run_tacholog_text
from tests.unpacked import content_of

from tacholog import evidence
from tacholog.campaign.plan import read_plan
from tacholog.compare.bands import read as read_bands
from tacholog.errors import UnreadableInput
from tacholog.evidence import open_evidence, read_evidence, read_small_evidence
from tacholog.formats.source import open_log_in
from tacholog.runs.manifest import folders_below, read_host, read_manifest
from tacholog.site.build import build_site
from tacholog.site.stamp import read_stamp
from tacholog.store.cache import VARIABLE
from tacholog.store.load import load

OUTSIDE = "topsecretoutside"
RUN = Path(__file__).parent.parent / "docs" / "example" / "data" / "latency-udp"
LINK, PIPE, FOLDER = "not a file but a link, which is not followed", "not a file but a named pipe", "not a file but a folder"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "outside.log").write_text(f"{OUTSIDE}\n")
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


MAKERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "link": (lambda path: path.symlink_to("../outside.log"), LINK),
    "absolute link": (lambda path: path.symlink_to(path.parent.parent / "outside.log"), LINK),
    "link within the folder": (lambda path: path.symlink_to("run.toml"), LINK),
    "link to a device": (lambda path: path.symlink_to("/dev/zero"), LINK),
    "link to nothing": (lambda path: path.symlink_to("nothing"), LINK),
    "named pipe": (os.mkfifo, PIPE),
    "folder": (Path.mkdir, FOLDER),
    "nothing": (lambda _: None, "cannot open: No such file or directory"),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_message_states_the_kind_of_an_entry_that_is_no_regular_file(place: Path, kind: str) -> None:
    make, said = MAKERS[kind]
    make(place / "some.log")

    with pytest.raises(UnreadableInput, match=said), open_log_in(place, "some.log"):
        pytest.fail("it was opened")


@pytest.mark.parametrize("name", ["..", ".", "", "../outside.log", "a/../../outside.log", "/etc/hostname", "a//b", "a\x00b"])
def test_name_that_leads_out_of_its_folder_is_refused(place: Path, name: str) -> None:
    with pytest.raises(UnreadableInput, match="is not the name of a file in this folder"):
        open_evidence(place, name)


def test_symbolic_link_in_a_path_is_not_followed(place: Path) -> None:
    (place / "inner").symlink_to("..")

    with pytest.raises(UnreadableInput, match=LINK):
        open_evidence(place, "inner/outside.log")


@pytest.mark.parametrize("kind", MAKERS)
def test_read_evidence_refuses_an_entry_that_is_not_a_regular_file(place: Path, kind: str) -> None:
    make, said = MAKERS[kind]
    make(place / "some.log")

    with pytest.raises(UnreadableInput, match=said):
        read_evidence(place, "some.log")


def test_file_is_read_only_up_to_the_given_limit(place: Path) -> None:
    (place / "some.log").write_bytes(b"0123456789" * 1000)

    assert read_evidence(place, "some.log") == b"0123456789" * 1000
    assert read_evidence(place, "some.log", 9_993) == b"0123456789" * 999 + b"012"
    assert read_evidence(place, "some.log", 20_000) == b"0123456789" * 1000


@pytest.mark.parametrize("size_bytes", [0, 1, 4095, 4096, 4097, 9000])
def test_file_of_any_size_is_read_completely_or_up_to_the_limit(place: Path, size_bytes: int) -> None:
    content = bytes(place % 251 for place in range(size_bytes))
    (place / "some.log").write_bytes(content)

    assert read_evidence(place, "some.log") == content
    for most_bytes in (0, 1, size_bytes, size_bytes + 1):
        assert read_evidence(place, "some.log", most_bytes) == content[:most_bytes]


def test_file_with_a_stated_size_of_zero_is_read_completely() -> None:
    assert read_evidence(Path("/proc/self"), "status").startswith(b"Name:")


def test_folders_are_listed_in_order_without_links_and_without_entries_that_could_block(place: Path) -> None:
    for folder in ("b/inner", "a-1", "a", ".hidden"):
        (place / folder).mkdir(parents=True)
        (place / folder / "run.toml").touch()
    (place / "a" / "link").symlink_to("../b")
    (place / "a" / "to-a-file").symlink_to("run.toml")
    (place / "a" / "to-nothing").symlink_to("nothing")
    os.mkfifo(place / "a" / "pipe")

    found = [(folder.relative_to(place).as_posix(), files) for folder, files in folders_below(place)]
    everything = dict(folders_below(place, regular=False))

    assert found == [
        (".", []),
        ("a", ["run.toml", "to-a-file", "to-nothing"]),
        ("a-1", ["run.toml"]),
        ("b", []),
        ("b/inner", ["run.toml"]),
    ]
    assert everything[place / "a"] == ["pipe", "run.toml", "to-a-file", "to-nothing"]


def test_folder_that_cannot_be_listed_is_reported_and_affects_only_itself(place: Path) -> None:
    (place / "b").mkdir()
    told: list[OSError] = []

    walk = folders_below(place, told.append)
    assert next(walk) == (place, [])
    (place / "b").rmdir()

    assert list(walk) == []
    assert [error.filename for error in told] == [str(place / "b")]


def test_device_is_refused_without_reading() -> None:
    with pytest.raises(UnreadableInput, match="not a file but a device"):
        open_evidence(Path("/dev"), "zero")


def test_file_that_is_replaced_after_opening_is_read_with_its_old_content(place: Path) -> None:
    (place / "some.log").write_text("mine\n")
    with open_evidence(place, "some.log") as stream:
        (place / "some.log").unlink()
        (place / "some.log").symlink_to("../outside.log")

        assert stream.read() == b"mine\n"


@pytest.mark.parametrize("read", [read_manifest, read_host, read_plan, read_bands], ids=["run.toml", "host", "plan.toml", "bands"])
@pytest.mark.parametrize("kind", ["link", "named pipe"])
def test_manifest_and_other_files_beside_logs_are_refused_if_they_are_not_regular_files(
    place: Path, read: Callable[[Path], object], kind: str
) -> None:
    make, said = MAKERS[kind]
    make(place / "it")

    with pytest.raises(UnreadableInput, match=rf"run/it: {said}"):
        read(place / "it")


def add(data: Path, name: str, log: str) -> Path:
    """Add a run, and return the folder of this run. The manifest of the run names a log that does not exist."""
    folder = data / name
    folder.mkdir(parents=True)
    manifest = f'system = "S"\nstatus = "failed"\nreason = "it failed"\n[[logs]]\nfile = "{log}"\nsha256 = "{64 * "0"}"\n'
    (folder / "run.toml").write_text(manifest)
    return folder


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A good run, and runs whose manifests or logs are not regular files in their own folders."""
    (tmp_path / "outside.log").write_text(f"{OUTSIDE}\n")
    data = tmp_path / "data"
    shutil.copytree(RUN, data / "good")
    for name, (make, _) in MAKERS.items():
        make(add(data, name.replace(" ", "-"), "some.log") / "some.log")
    for number, name in enumerate(("..", ".", "a/../b", "../outside.log", "/etc/hostname")):
        add(data, f"odd-{number}", name)
    for kind in ("link", "named pipe"):
        (data / f"manifest-{kind[:4]}").mkdir()
        (data / "hosts").mkdir(exist_ok=True)
        MAKERS[kind][0](data / f"manifest-{kind[:4]}" / "run.toml")
        MAKERS[kind][0](data / "hosts" / f"{kind[:4]}.toml")
    return data


def test_entry_that_is_not_evidence_affects_only_the_run_with_this_entry(hostile: Path) -> None:
    dataset = load([hostile])

    said = {(row["run"], row["log"]): row["reason"] for row in dataset.problems.to_dict("records")}
    for name, (_, reason) in MAKERS.items():
        assert said[name.replace(" ", "-"), "some.log"] == reason
    assert set(dataset.results["run"]) == {"good"}
    assert sum("manifest-link/run.toml: not a file but a link" in reason for reason in said.values()) == 1
    assert sum("manifest-name/run.toml: not a file but a named pipe" in reason for reason in said.values()) == 1
    for number in range(5):
        assert any(run == f"odd-{number}" for run, _ in said)


@pytest.mark.site
def test_site_leaves_out_logs_that_are_links_or_pipes_and_shows_no_file_outside_of_run_folders(hostile: Path, tmp_path: Path) -> None:
    words = ("report", "--data", hostile, "--output", tmp_path / "site")
    done = run_tacholog_text(*words, environment={"TACHOLOG_PLOTLY": "full"})

    assert done.returncode == 2, done.stderr
    for name in ("link", "link-to-a-device", "named-pipe", "folder"):
        assert f"{hostile}/{name}/some.log: unreadable: not a file but a " in done.stderr
    site = tmp_path / "site"
    assert (site / "index.html").is_file()
    shown = [path for path in site.rglob("*") if path.is_file()]
    hostname = Path("/etc/hostname").read_text().strip() if Path("/etc/hostname").exists() else OUTSIDE
    raw = [path for path in shown if "raw" in path.relative_to(site).parts and path.suffix == ".gz"]
    assert len(raw) == 1
    assert not any(OUTSIDE.encode() in content_of(path) for path in shown)
    assert not any(hostname == content_of(path).decode(errors="replace").strip() for path in shown)


def test_digest_of_the_read_content_equals_the_digest_of_the_file(place: Path) -> None:
    shutil.copy(RUN / "perftest.log", place / "a.log")

    with open_evidence(place, "a.log") as stream:
        assert hashlib.sha256(stream.read()).hexdigest() == hashlib.sha256((RUN / "perftest.log").read_bytes()).hexdigest()


def test_far_too_large_file_of_a_user_is_refused(place: Path) -> None:
    with (place / "run.toml").open("wb") as file:
        file.truncate(1 << 43)  # A sparse file of 8 TiB, which takes no space on the disk.

    with pytest.raises(UnreadableInput, match="larger than 16 MiB"):
        read_small_evidence(place, "run.toml")


#: A regular file that opens, but whose reading fails with "Input/output error", like a file on a failing disk.
FAILING = Path("/proc/self/mem")


def test_file_with_a_read_error_is_reported_like_a_file_that_cannot_be_opened() -> None:
    for read in (lambda stream: stream.read(), lambda stream: stream.read(10), lambda stream: hashlib.file_digest(stream, "sha256")):
        with pytest.raises(UnreadableInput, match="cannot be read: Input/output error"), open_evidence(FAILING.parent, FAILING.name) as stream:
            read(stream)


def test_log_with_a_read_error_affects_only_itself() -> None:
    done = run_tacholog_text("parse", "--summary", FAILING, RUN / "perftest.log")

    assert (done.returncode, done.stderr) == (2, f"tacholog: {FAILING}: cannot be read: Input/output error\n")
    assert "perftest.log" in done.stdout


@pytest.mark.site
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("published", [False, True])
def test_site_is_built_without_a_log_with_a_read_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, published: bool) -> None:
    data, opened = tmp_path / "data", evidence._opened  # noqa: SLF001 - the disk
    for name in ("good", "bad"):
        run = shutil.copytree(RUN, data / name)
        (run / "run.toml").write_text((run / "run.toml").read_text().replace("schema = 1\n", f"published = {str(published).lower()}\n"))

    def opened_on_a_failing_disk(folder: Path, name: str) -> tuple[int, int]:
        file, size_bytes = opened(folder, name)
        if Path(folder) != data / "bad" or not name.endswith(".log"):
            return file, size_bytes
        os.close(file)
        return os.open(FAILING, os.O_RDONLY), size_bytes

    monkeypatch.setattr(evidence, "_opened", opened_on_a_failing_disk)
    monkeypatch.setenv("TACHOLOG_PLOTLY", "full")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))

    build_site([data], tmp_path / "site", tmp_path / "work")

    assert read_stamp(tmp_path / "site").problems == 1
    assert "cannot be read: Input/output error" in (tmp_path / "site/quality.html").read_text()
