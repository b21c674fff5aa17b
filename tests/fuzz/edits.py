"""Edits of a folder of runs and of the settings of its site. Each edit is a function. It makes a change as a user would, and describes it."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from tests.fuzz.values import HOSTS, LOG_NAMES, PRIVACY, RENAMES, REQUIREMENT, SETTINGS, STATED, SYSTEMS, WORDS
from tests.report.conftest import FIRST, LOSSY, SECOND, add_run, rti
from tests.samples import SAMPLE_LOGS

from tacholog.errors import UnreadableInput
from tacholog.privacy.settings import KEY_VARIABLE
from tacholog.runs.manifest import Host, Manifest, read_toml, write

RELEASED = Path(__file__).parent.parent.parent / "data/perftest"
LARGEST_SAMPLE_BYTES = 40_000
SAMPLES = [path for path in SAMPLE_LOGS if path.suffix in {".log", ".csv", ".json", ".txt"} and path.stat().st_size < LARGEST_SAMPLE_BYTES]


class Snapshot(NamedTuple):
    """A saved state of a `Root`: a copy of its runs, and its settings."""

    data: Path
    settings: dict[str, Any]


class Root:
    """A folder of runs, the settings of its site and its pseudonym key. ``dice`` is the random generator that chooses the changes of an edit."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        """Copy two releases with two runs each, so that the site has pages on changes."""
        self.folder, self.data = folder, folder / "data"
        self.dice = dice
        self.settings: dict[str, Any] = {}
        self.key: dict[str, str] = {}
        self.snapshots: list[Snapshot] = []
        self._numbers = 0
        self.data.mkdir(parents=True)
        (folder / "logo.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>', encoding="utf-8")
        row = dice.choice(["throughput-udp", "throughput-shm"])
        for release in ("0.3.0", "0.4.0"):
            for run in ("01", "02"):
                shutil.copytree(RELEASED / release / row / run, self.data / "family" / release / run)

    def runs(self) -> list[Path]:
        """Return the folders of all runs. A run may also be in the folder of another run."""
        return sorted(path.parent for path in self.data.rglob("run.toml"))

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def free(self) -> Path:
        """Return an unused path for a run. The path may be near other runs, or have the name of a page or of a person."""
        above = self.dice.choice(["a", "b", "rti", "own/x", "Z", "deep/er/x"])
        return self.data / above / f"{self.dice.choice(['r', 'run', 'R', 'index', 'zoe', ''])}{self.number()}"

    def name(self, path: Path) -> str:
        """Return a path for the description of an edit: relative to the folder of the root."""
        return path.relative_to(self.folder).as_posix()

    def site_toml(self) -> Path:
        return _written(self.folder / "site.toml", msgspec.toml.encode(self.settings))


def added(root: Root) -> str:
    run, dice = root.free(), root.dice
    if dice.random() < 0.5:
        log = dice.choice([FIRST, SECOND, LOSSY]).replace("63417", str(dice.randint(10000, 99999))) + dice.choice(["", f"{dice.choice(WORDS)}\n"])
        manifest = rti(dice.choice(["UDPv4", "SHMEM"]), published=dice.random() < 0.2)
    else:
        sample = dice.choice(SAMPLES)
        log, manifest = sample.read_text(errors="replace"), Manifest(system=dice.choice(SYSTEMS), tool=sample.parent.name, logs=())
    add_run(root.data, run.relative_to(root.data).as_posix(), log, manifest)
    return f"added {root.name(run)}, {_vary(root, run, STATED, 5)}"


def removed(root: Root) -> str:
    run = root.dice.choice(root.runs())
    shutil.rmtree(run)
    return f"removed {root.name(run)}"


def renamed(root: Root) -> str:
    return _move(root, root.dice.choice(root.runs()), root.free())


def renamed_in_capitals(root: Root) -> str:
    run = root.dice.choice(root.runs())
    return _move(root, run, run.with_name(run.name.swapcase()))


def nested(root: Root) -> str:
    outer, inner = _two(root)
    return _move(root, inner, outer / f"in{root.number()}")


def swapped(root: Root) -> str:
    one, other = _two(root)
    if one in other.parents or other in one.parents:
        return ""
    aside = root.folder / "aside"
    one.rename(aside)
    other.rename(one)
    aside.rename(other)
    return f"swapped {root.name(one)} and {root.name(other)}"


def copied(root: Root) -> str:
    run, copy = root.dice.choice(root.runs()), root.free()
    shutil.copytree(run, copy)
    return f"copied {root.name(run)} to {root.name(copy)}, {_vary(root, copy, STATED, root.dice.choice([0, 3]))}"


def moved_to_another_system(root: Root) -> str:
    one, other = _two(root)
    return _state(root, one, {"system": _stated(other).get("system")})


def named_in_capitals(root: Root) -> str:
    run = root.dice.choice(root.runs())
    system = str(_stated(run).get("system", ""))
    return _state(root, run, {"system": root.dice.choice([system.upper(), system.lower(), system.title()])})


def manifest_varied(root: Root) -> str:
    runs = root.runs()
    chosen = root.dice.sample(runs, min(len(runs), root.dice.choice([1, 1, 2, 5])))
    return "; ".join(_vary(root, run, STATED, root.dice.choice([1, 2, 5])) for run in chosen)


def conditions_changed(root: Root) -> str:
    """Change the conditions in the manifest of a run, and return a description of this edit.

    This edit tests the cache, because the cache stores all conditions with the numbers of the log, even if the log states none of the conditions.
    """
    run = root.dice.choice(root.runs())
    return _state(root, run, {"conditions": _another(root.dice, STATED["conditions"], _stated(run).get("conditions"))})


def family_varied(root: Root) -> str:
    family = [run for run in root.runs() if "family" in run.parts]
    keys = ("release", "start_time", "session", "order_index", "status", "host", "repetition", "system_version", "campaign")
    values: dict[str, tuple[object, ...]] = {**{key: STATED[key] for key in keys}, "release": ("0.3.0", "0.4.0", "9", None)}
    return _vary(root, root.dice.choice(family), values, 1) if family else ""


def published(root: Root) -> str:
    run = root.dice.choice(root.runs())
    return _state(root, run, {"published": not _stated(run).get("published", False)})


def manifest_broken(root: Root) -> str:
    manifest = root.dice.choice(root.runs()) / "run.toml"
    _written(manifest, manifest.read_bytes() + root.dice.choice([b"\nfoo = 1\n", b"\n[[[", b"\nx"]))
    return f"broke {root.name(manifest)}"


def log_edited(root: Root) -> str:
    """Change a digit of a log. The size stays the same, and usually the time too. Sometimes the manifest keeps the old checksum."""
    log = _log(root)
    content = log.read_bytes() if log else b""
    digits = [at for at, byte in enumerate(content) if chr(byte).isdecimal() and byte < 128]
    if log is None or not digits:
        return ""
    at = root.dice.choice(digits)
    return _rewrite(root, log, content[:at] + str((content[at] - ord("0") + 1) % 10).encode() + content[at + 1 :])


def log_cut(root: Root) -> str:
    log = _log(root)
    return _rewrite(root, log, log.read_bytes()[: root.dice.randint(0, log.stat().st_size)]) if log else ""


def log_removed(root: Root) -> str:
    log = _log(root)
    if log is None:
        return ""
    log.unlink()
    return f"removed {root.name(log)}"


def log_renamed(root: Root) -> str:
    run, name = root.dice.choice(root.runs()), root.dice.choice(LOG_NAMES)
    logs = _stated(run).get("logs", [])
    if not logs or (run / name).exists() or not (run / logs[0]["file"]).is_file():
        return ""
    (run / logs[0]["file"]).rename(run / name)
    commands = [{key: value for key, value in command.items() if key != "log"} for command in _stated(run).get("commands", [])]
    return _state(root, run, {"logs": [{**logs[0], "file": name}, *logs[1:]], "commands": commands})


def file_left_beside(root: Root) -> str:
    path = root.dice.choice(root.runs()) / root.dice.choice(["notes.txt", "zz.log", ".hidden"])
    return f"left {root.name(_written(path, b'x'))}"


def host_written(root: Root) -> str:
    path = root.data / root.dice.choice(["hosts", "hosts", "rti/hosts"]) / f"{root.dice.choice(HOSTS)}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    if root.dice.random() < 0.1:
        return f"broke {root.name(_written(path, b'[[['))}"
    host = Host(
        name=root.dice.choice(["A desk", "lab", "vm", "zoe's box"]),
        source="tacholog host",
        published=root.dice.random() < 0.2,
        cpu={"model": root.dice.choice(["Some CPU", "Other CPU"])},
        system={"kernel": root.dice.choice(["6.18", "5.4"]), "hostname": root.dice.choice(["desk", "alpha", "zed"])},
    )
    write(path, host)
    return f"wrote {root.name(path)}: {host}"


def host_removed(root: Root) -> str:
    hosts = sorted(root.data.rglob("hosts/*.toml"))
    return _remove(root, root.dice.choice(hosts)) if hosts else ""


def requirements_changed(root: Root) -> str:
    path = root.data / "requirements.toml"
    if path.exists() and root.dice.random() < 0.4:
        return _remove(root, path)
    text = REQUIREMENT.format(name=root.dice.choice(["g", "zoe"]), least=root.dice.randint(1, 3))
    return f"wrote {root.name(_written(path, text.encode()))}: {text!r}"


def renames_changed(root: Root) -> str:
    path = root.data / "renames.toml"
    if path.exists() and root.dice.random() < 0.4:
        return _remove(root, path)
    text = root.dice.choice(RENAMES)
    return f"wrote {root.name(_written(path, text.encode()))}: {text!r}"


def setting_changed(root: Root) -> str:
    _choose(root.dice, root.settings, SETTINGS)
    return f"settings: {root.settings}"


def privacy_changed(root: Root) -> str:
    privacy = dict(root.settings.get("privacy", {}))
    _choose(root.dice, privacy, PRIVACY)
    root.settings["privacy"] = privacy
    return f"settings: {root.settings}"


def systems_chosen(root: Root) -> str:
    systems = sorted({str(manifest["system"]) for run in root.runs() if "system" in (manifest := _stated(run))})
    if not systems or root.settings.pop("systems", None):
        return f"settings: {root.settings}"
    root.settings["systems"] = root.dice.sample(systems, max(1, len(systems) - 1))
    return f"settings: {root.settings}"


def key_changed(root: Root) -> str:
    root.key = root.dice.choice([{}, {KEY_VARIABLE: "a"}, {KEY_VARIABLE: "b"}])
    return f"key: {root.key}"


def data_moved(root: Root) -> str:
    other = root.folder / ("data2" if root.data.name == "data" else "data")
    root.data = root.data.rename(other)
    return f"moved all runs to {root.name(other)}"


def snapshot_taken(root: Root) -> str:
    copy = root.folder / f"snapshot{root.number()}"
    root.snapshots.append(Snapshot(shutil.copytree(root.data, copy), dict(root.settings)))
    return f"took {copy.name}"


def reverted(root: Root) -> str:
    if not root.snapshots:
        return snapshot_taken(root)
    snapshot = root.dice.choice(root.snapshots)
    shutil.rmtree(root.data)
    shutil.copytree(snapshot.data, root.data)
    if root.dice.random() < 0.5:
        root.settings = dict(snapshot.settings)
    return f"went back to {snapshot.data.name}, settings: {root.settings}"


#: Each edit with its weight in the random choice.
EDITS: dict[Callable[[Root], str], int] = {
    added: 5,
    removed: 3,
    renamed: 5,
    renamed_in_capitals: 1,
    nested: 1,
    swapped: 4,
    copied: 3,
    moved_to_another_system: 2,
    named_in_capitals: 2,
    manifest_varied: 5,
    conditions_changed: 3,
    family_varied: 4,
    published: 3,
    manifest_broken: 1,
    log_edited: 6,
    log_cut: 2,
    log_removed: 1,
    log_renamed: 2,
    file_left_beside: 1,
    host_written: 3,
    host_removed: 1,
    requirements_changed: 1,
    renames_changed: 1,
    setting_changed: 6,
    privacy_changed: 3,
    systems_chosen: 1,
    key_changed: 1,
    data_moved: 1,
    snapshot_taken: 1,
    reverted: 4,
}


def edit(root: Root) -> str:
    """Return the description of an edit, or an empty text if the edit cannot be applied to these runs."""
    if len(root.runs()) < 2:  # Some edits need two runs.
        return added(root)
    chosen: Callable[[Root], str] = root.dice.choices([*EDITS], [*EDITS.values()])[0]
    return chosen(root)


def _two(root: Root) -> tuple[Path, Path]:
    one, other = root.dice.sample(root.runs(), 2)
    return one, other


def _log(root: Root) -> Path | None:
    logs = sorted(path for path in root.dice.choice(root.runs()).iterdir() if path.is_file() and path.name != "run.toml")
    return root.dice.choice(logs) if logs else None


def _move(root: Root, run: Path, to: Path) -> str:
    if to.exists() or run in to.parents:
        return ""
    to.parent.mkdir(parents=True, exist_ok=True)
    run.rename(to)
    return f"moved {root.name(run)} to {root.name(to)}"


def _remove(root: Root, path: Path) -> str:
    path.unlink()
    return f"removed {root.name(path)}"


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _rewrite(root: Root, log: Path, content: bytes) -> str:
    before, at, manifest = log.read_bytes(), log.stat(), log.parent / "run.toml"
    log.write_bytes(content)
    keeps_time, keeps_checksum = root.dice.random() < 0.7, root.dice.random() < 0.2
    if keeps_time:
        os.utime(log, ns=(at.st_atime_ns, at.st_mtime_ns))
    if not keeps_checksum:
        old, new = (hashlib.sha256(text).hexdigest().encode() for text in (before, content))
        _written(manifest, manifest.read_bytes().replace(old, new))
    return f"changed {root.name(log)}{', but not its time' if keeps_time else ''}{', but not its checksum' if keeps_checksum else ''}"


def _stated(run: Path) -> dict[str, Any]:
    """Return the manifest of a run; an empty manifest if an edit has broken the file."""
    try:
        return read_toml(run / "run.toml", dict[str, Any])
    except UnreadableInput:
        return {}


def _state(root: Root, run: Path, changed: dict[str, object]) -> str:
    """Change keys in the manifest of a run, and return a description of this edit. If the value of a key is None, remove the key.

    The manifest stays valid. If the manifest is broken already, change nothing and return an empty text.
    """
    manifest = _stated(run)
    if not manifest:
        return ""
    kept = {key: value for key, value in {**manifest, **changed}.items() if value is not None}
    _written(run / "run.toml", msgspec.toml.encode(kept))
    return f"{root.name(run)} states {changed}"


def _vary(root: Root, run: Path, values: dict[str, tuple[object, ...]], count: int) -> str:
    before = _stated(run)
    keys = root.dice.sample([*values], count)
    return _state(root, run, {key: _another(root.dice, values[key], before.get(key)) for key in keys})


def _choose(dice: random.Random, settings: dict[str, Any], values: dict[str, tuple[object, ...]]) -> None:
    """Set one of the keys to another allowed value; None removes the key."""
    key: str = dice.choice([*values])
    value = _another(dice, values[key], settings.pop(key, None))
    if value is not None:
        settings[key] = value


def _another(dice: random.Random, values: tuple[object, ...], before: object) -> object:
    return dice.choice([value for value in values if value != before])
