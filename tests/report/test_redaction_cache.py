"""Redacted logs are taken from the cache, unless the log, the known names or the settings have changed."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from pathlib import Path

import msgspec
import pytest

from tacholog.privacy.logs import LineClasses, saved_line_classes
from tacholog.privacy.redact import redacted
from tacholog.privacy.redaction_cache import RedactedRun, RedactionCache
from tacholog.privacy.settings import Privacy
from tacholog.runs.manifest import Command, LogFile, Manifest, write
from tacholog.store.cache import FILE, VARIABLE, key_of, open_cache
from tacholog.store.load import load

NATIVE = Path(__file__).parent.parent / "formats" / "native" / "latency-udp.log"
CHATTER = 'note text="started by falcon and /home/zoe/bench"\n'
SHOWN = Privacy(free_text="show")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def add(root: Path, run: str, text: str, **manifest: object) -> None:
    """Add a run with a log of Tacholog's own tool. ``text`` is appended to this log."""
    folder = root / run
    folder.mkdir(parents=True)
    log = NATIVE.read_text() + text
    (folder / "some.log").write_text(log)
    files = (LogFile(file="some.log", sha256=hashlib.sha256(log.encode()).hexdigest()),)
    write(folder / "run.toml", msgspec.structs.replace(Manifest(system="Tacholog perftest", logs=files), **manifest))


def shown(root: Path, to: Path, privacy: Privacy = SHOWN, read: list[str] | None = None) -> dict[str, str]:
    """Return the published log of each run, by the name of the run.

    If a log is not taken from the cache, the name of the log is appended to the list ``read``.
    """
    data = redacted(load([root]), privacy, to, lambda log, _: None if read is None else read.append(log))
    return {run: (Path(place) / "some.log").read_text() for run, place in zip(data.runs["run"], data.runs["root"], strict=True)}


@pytest.mark.machinery
def test_log_is_redacted_once_and_then_taken_from_the_cache(tmp_path: Path) -> None:
    add(tmp_path / "data", "a", CHATTER, notes=("on /home/max/b",))
    reads: tuple[list[str], list[str]] = [], []
    first = shown(tmp_path / "data", tmp_path / "one", read=reads[0])

    again = shown(tmp_path / "data", tmp_path / "two", read=reads[1])

    assert (set(reads[0]), reads[1]) == ({"a/some.log"}, [])
    assert again == first
    assert "zoe" not in first["a"]


@pytest.mark.machinery
def test_redacted_log_that_was_edited_is_written_again_even_with_the_same_size_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns
    monkeypatch.setattr(
        time, "time_ns", lambda: now() + 60_000_000_000
    )  # The clock is one minute ahead, so that all files look old to the next build.
    add(tmp_path / "data", "a", CHATTER)
    shown(tmp_path / "data", tmp_path / "shown")
    first = shown(tmp_path / "data", tmp_path / "shown")
    (log,) = (tmp_path / "shown").glob("*/some.log")
    at, text = log.stat(), log.read_text()
    log.write_text(text.replace("/home/", "/HOME/").replace("path-1", "falcon"))
    os.utime(log, ns=(at.st_atime_ns, at.st_mtime_ns))
    assert (log.stat().st_size, log.read_text() != text) == (at.st_size, True)

    assert shown(tmp_path / "data", tmp_path / "shown") == first


def test_names_in_a_manifest_get_the_same_numbers_if_its_log_is_taken_from_the_cache(tmp_path: Path) -> None:
    add(tmp_path / "data", "a", CHATTER, commands=(Command(role="both", argv=("perftest", "/home/zoe/bench", "/home/max/bench")),))
    manifests = [redacted(load([tmp_path / "data"]), SHOWN, tmp_path / name).runs["manifest"][0] for name in ("one", "two")]

    assert manifests[0] == manifests[1]
    assert "path-1/bench" in manifests[0]
    assert "path-2/bench" in manifests[0]


@pytest.mark.parametrize(
    "said",
    [
        b"cannot open /srv/\xa3x/y",
        b"/\xa3x/y",
        b"token=\xa3abc",
        b"user=\xa3abc said abc",
        b"user=M\xfcabc said m\xdcABC",
        "user=Müabc said ".encode() + b"M\xfcabc",
    ],
)
def test_name_with_an_invalid_utf_8_byte_is_replaced_and_cached(tmp_path: Path, said: bytes) -> None:
    add(tmp_path / "data", "a", "")
    log, manifest = tmp_path / "data" / "a" / "some.log", tmp_path / "data" / "a" / "run.toml"
    before = hashlib.sha256(log.read_bytes()).hexdigest()
    log.write_bytes(log.read_bytes() + b'note text="' + said + b'"\n')
    manifest.write_text(manifest.read_text().replace(before, hashlib.sha256(log.read_bytes()).hexdigest()))
    reads: list[str] = []

    redacted(load([tmp_path / "data"]), SHOWN, tmp_path / "one")
    data = redacted(load([tmp_path / "data"]), SHOWN, tmp_path / "two", lambda log, _: reads.append(log))

    shown = (Path(data.runs["root"][0]) / "some.log").read_bytes()
    assert reads == []  # In the second build, all logs are taken from the cache.
    assert b"note text=" in shown
    assert not any(word in shown for word in (b"abc", b"ABC", b"x/y"))


def manifests(root: Path, to: Path) -> dict[str, Manifest]:
    data = redacted(load([root]), SHOWN, to)
    return {run: msgspec.json.decode(text, type=Manifest) for run, text in zip(data.runs["run"], data.runs["manifest"], strict=True)}


def test_name_that_another_run_states_later_is_replaced_in_a_cached_manifest(tmp_path: Path) -> None:
    add(tmp_path / "data", "a", "", notes=("by falcon",))
    assert manifests(tmp_path / "data", tmp_path / "shown")["a"].notes == ("by falcon",)
    add(tmp_path / "data", "b", "", notes=("ssh -l falcon somewhere",))

    assert manifests(tmp_path / "data", tmp_path / "shown")["a"].notes == ("by user-1",)


def test_changed_manifest_does_not_use_its_old_cache_entry(tmp_path: Path) -> None:
    add(tmp_path / "data", "a", "", notes=("first",))
    assert manifests(tmp_path / "data", tmp_path / "shown")["a"].notes == ("first",)
    path = tmp_path / "data/a/run.toml"
    path.write_text(path.read_text().replace("first", "second"))

    assert manifests(tmp_path / "data", tmp_path / "shown")["a"].notes == ("second",)


def test_redacted_label_gets_a_new_number_if_a_run_that_was_added_later_has_the_same_redacted_label(tmp_path: Path) -> None:
    add(tmp_path / "data", "b", "", labels={"target": "192.168.7.2"})
    assert manifests(tmp_path / "data", tmp_path / "shown")["b"].labels == {"target": "address-1"}
    add(tmp_path / "data", "a", "", labels={"target": "192.168.7.3"})

    found = manifests(tmp_path / "data", tmp_path / "shown")

    assert {run: manifest.labels for run, manifest in found.items()} == {"a": {"target": "address-1"}, "b": {"target": "address-1 (2)"}}


def test_name_that_another_run_states_later_is_replaced_in_a_cached_log(tmp_path: Path) -> None:
    add(tmp_path / "data", "a", CHATTER)
    assert "falcon" in shown(tmp_path / "data", tmp_path / "shown")["a"]
    add(tmp_path / "data", "b", 'note text="ssh -l falcon somewhere"\n')

    assert "falcon" not in shown(tmp_path / "data", tmp_path / "shown")["a"]


@pytest.mark.parametrize("privacy", [Privacy(free_text="show", hide=("started",)), Privacy()])
def test_other_privacy_settings_do_not_use_old_cache_entries(tmp_path: Path, privacy: Privacy) -> None:
    add(tmp_path / "data", "a", CHATTER)
    assert "started" in shown(tmp_path / "data", tmp_path / "shown")["a"]

    assert "started by falcon" not in shown(tmp_path / "data", tmp_path / "shown", privacy)["a"]


def test_another_pseudonym_key_does_not_use_old_cache_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path / "data", "a", 'note text="connecting to host acmepeer"\n')
    first = shown(tmp_path / "data", tmp_path / "shown")["a"]
    monkeypatch.setenv("TACHOLOG_PSEUDONYM_KEY", "another")

    assert shown(tmp_path / "data", tmp_path / "shown")["a"] != first


@pytest.mark.machinery
def test_damaged_cache_entry_is_made_again_and_never_shown(tmp_path: Path, own_cache: Path) -> None:
    add(tmp_path / "data", "a", CHATTER)
    first = shown(tmp_path / "data", tmp_path / "one")
    open_cache().close()
    with sqlite3.connect(own_cache / FILE) as database:
        rows = database.execute('SELECT key, value FROM "published"').fetchall()
        assert rows
        for key, value in rows:
            damaged = value[:-3] + bytes([value[-3] ^ 1]) + value[-2:]
            database.execute('UPDATE "published" SET value = ? WHERE key = ?', (damaged, key))

    assert shown(tmp_path / "data", tmp_path / "two") == first


def test_log_that_changed_after_reading_is_not_shown_from_the_cache(tmp_path: Path) -> None:
    add(tmp_path / "data", "a", CHATTER)
    shown(tmp_path / "data", tmp_path / "shown")
    data = load([tmp_path / "data"])
    (tmp_path / "data/a/some.log").write_text("another log\n")

    found = redacted(data, SHOWN, tmp_path / "shown")

    assert not (Path(found.runs["root"][0]) / "some.log").exists()
    assert "the log changed while the site was built" in found.problems["reason"].str.cat()


@pytest.mark.machinery
def test_lost_cache_entry_is_made_again(tmp_path: Path, own_cache: Path) -> None:
    add(tmp_path / "data", "a", CHATTER)
    first = shown(tmp_path / "data", tmp_path / "one")
    with sqlite3.connect(own_cache / FILE) as database:
        keys = [key for (key,) in database.execute('SELECT key FROM "published"')]
    assert len(keys) == 4  # Four entries: the names in the log, the names in the manifest, the redacted text, and the run.
    for place, key in enumerate(keys):
        with sqlite3.connect(own_cache / FILE) as database:
            database.execute('DELETE FROM "published" WHERE key = ?', (key,))

        assert shown(tmp_path / "data", tmp_path / f"two{place}") == first


@pytest.mark.machinery
def test_each_run_gets_its_own_cache_entry_even_if_many_runs_are_requested() -> None:
    cache = RedactionCache(open_cache())
    kept = {key_of(str(place)): RedactedRun({}, b"{}", {"user": {str(place): place}}, set(), has_labels=False) for place in range(0, 250, 2)}
    for key, run in kept.items():
        cache.keep(key, run)
    cache.flush()
    # Copies of a run have the same key, so key 2 is requested three times.
    asked = [*(key_of(str(place)) if place % 5 else None for place in range(250)), key_of("2"), key_of("2")]

    assert list(cache.runs(asked)) == [kept.get(key) if key else None for key in asked]


def test_redacted_logs_of_removed_runs_are_deleted(tmp_path: Path) -> None:
    for run in ("one", "two"):
        add(tmp_path / "data", run, f'note text="{run}"\n')
    shown = tmp_path / "shown"
    redacted(load([tmp_path / "data"]), SHOWN, shown)
    both = {path.name for path in shown.iterdir()}
    (tmp_path / "data" / "one" / "run.toml").unlink()
    (tmp_path / "data" / "one" / "some.log").unlink()
    left = redacted(load([tmp_path / "data"]), SHOWN, shown)

    (root,) = left.runs["root"]
    assert {path.name for path in shown.iterdir()} == {Path(root).name, f"{Path(root).name}.lines"} < both
    assert len(both) == 4


def test_list_of_withheld_lines_of_a_removed_log_is_deleted(tmp_path: Path) -> None:
    add(tmp_path / "data", "a", "no format knows this\n")

    def withheld(text_bytes: int) -> list[LineClasses | None]:
        data = redacted(load([tmp_path / "data"]), SHOWN, tmp_path / "shown", text_bytes=text_bytes)
        return [saved_line_classes(Path(root), "some.log") for root in data.runs["root"]]

    (shown_lines,) = withheld(1_000_000)
    assert shown_lines is not None
    assert shown_lines.withheld

    assert withheld(100) == [None]
