"""From folders of runs, or from raw logs, to a dataset.

The logs are the only source. A dataset can be rebuilt from them at any time and is never committed. A file, a line or a run that cannot be used costs
only itself, and becomes a row of ``problems``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from tacholog.dataset.assembly import Assembly, FoundRun
from tacholog.dataset.cache import Cache, Kind, Pack, key_of, packed, unpacked
from tacholog.dataset.file_digests import FileDigests, SeenFile, digests_in
from tacholog.dataset.frames import Dataset, Part, Row
from tacholog.dataset.logs import Limits, Progress, open_named
from tacholog.dataset.versions import manifest_digest
from tacholog.dataset.work.fetch import ListedRun
from tacholog.dataset.work.work import Work
from tacholog.errors import UnreadableInput
from tacholog.formats.reading import Scan
from tacholog.formats.source import open_log
from tacholog.runs.host import stated_host
from tacholog.runs.manifest import (
    HOSTS_FOLDER,
    RUN_FILE,
    Host,
    LogFile,
    Manifest,
    evidence_bytes,
    folders_below,
    listed_below,
    manifest_of,
    read_host,
)
from tacholog.runs.problems import UNREADABLE, add_unlisted_folder, forgotten, no_files, problem, unlisted_files, utf8

_REASONS_SHOWN = 3
_MANIFESTS_AT_ONCE = 500
PART_NUMBERS = 1_000_000


def load(
    roots: Sequence[Path],
    limits: Limits | None = None,
    progress: Progress | None = None,
    *,
    work: Work | None = None,
    wanted: Callable[[Manifest], bool] | None = None,
) -> Dataset:
    """Read every run below the given folders.

    A run's id is its folder's path below its root. Hosts are read from ``hosts/`` in a root and in any folder above a run.

    Args:
        roots: the folders; runs are looked for in all folders below them.
        limits: how much of one log is read; ``None``: all of it.
        progress: is told which log is being read, and how far.
        work: who reads the logs; ``None``: this process.
        wanted: says of which manifests the logs are read; ``None``: of all. Other runs are not in the dataset.

    Raises:
        UnreadableInput: a root is no folder, or is given twice.
    """
    ((whole, hosts),) = _parts(roots, limits, progress, work, wanted, None)
    return whole.finish(hosts)


def load_parts(roots: Sequence[Path], progress: Progress | None = None, *, work: Work | None = None, numbers: int = PART_NUMBERS) -> Iterator[Part]:
    """Read every run below the given folders as `load` does, but in parts, of which each has about so many numbers.

    Published runs come together at the end if there is more than one part: what one release repeats of another is seen only beside it.

    Raises:
        UnreadableInput: a root is no folder, or is given twice.
    """
    for part, hosts in _parts(roots, None, progress, work, None, numbers):
        yield part.finish_part(hosts)


def _parts(
    roots: Sequence[Path],
    limits: Limits | None,
    progress: Progress | None,
    work: Work | None,
    wanted: Callable[[Manifest], bool] | None,
    most: int | None,
) -> Iterator[tuple[Assembly, dict[str, Host]]]:
    """Yield the parts of a dataset with the machines of all of them; one part if no number of numbers is given."""
    hosts: dict[str, Host] = {}
    problems: list[Row] = []
    work = work or Work()
    folders = _folders(roots, hosts, problems)
    published = Assembly()
    held: list[FoundRun] = []
    held_numbers, is_split = 0, False
    with work.fetching(limits, progress) as fetching:
        for number, (run, entries) in enumerate(fetching.runs(_listed(folders, work.cache, problems, wanted)), start=1):
            opened, host = partial(open_named, run.folder, named_by_user=False), hosts.get(run.manifest.host or "")
            held.append(FoundRun(run.run, run.folder, run.manifest, run.manifest_json, entries, opened, host))
            held_numbers += sum(entry.columns.number_count for entry in entries)
            work.tell(number, len(folders))
            if most is not None and held_numbers >= most:
                part = _assembled(held, published, folders)
                held, held_numbers, is_split = [], 0, True
                yield part, hosts
    last = _assembled(held, published if is_split else None, folders)
    held.clear()  # Otherwise all numbers would be in memory twice while they are joined.
    last.rows["problems"][:0] = problems
    yield last, hosts
    if published.rows["runs"]:
        yield published, hosts


class _RunFolder(NamedTuple):
    """The folder of a run, and the names of all that lies in it and is no folder. Runs with the same names share them."""

    path: Path
    names: tuple[str, ...]


def _folders(roots: Sequence[Path], hosts: dict[str, Host], problems: list[Row]) -> dict[str, _RunFolder]:
    """Return the folder of each run. All hosts are read: a run's marks depend on its host, and "hosts" is not the first folder in order."""
    seen: dict[str, _RunFolder] = {}
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    given: set[Path] = set()
    for root in roots:
        if not root.is_dir():
            raise UnreadableInput(f"{root}: no such folder")
        if root.resolve() in given:
            raise UnreadableInput(f"{root}: this folder was given twice")
        given.add(root.resolve())
        for listed in listed_below(root, partial(add_unlisted_folder, root, problems)):
            folder, files = Path(listed.folder), listed.files
            if folder.name == HOSTS_FOLDER:
                _load_hosts(folder, files, hosts, problems)
            if RUN_FILE not in files:
                problems.extend((*no_files(folder), *forgotten(root, folder, files)))
                continue
            run = listed.folder[len(os.fspath(root)) :].lstrip("/") or "."
            if run in seen:  # The problem belongs to no run: that of this name is the other one.
                reason = f"{folder}: not read, because the run {run} is in {seen[run].path} too; give one of the two folders another name"
                problems.append(problem("", run, 0, UNREADABLE, "", reason))
                continue
            names = tuple(listed.names() if listed.others else files)
            seen[run] = _RunFolder(folder, shared.setdefault(names, names))
    return seen


def _assembled(runs: Iterable[FoundRun], published: Assembly | None, folders: Mapping[str, _RunFolder]) -> Assembly:
    """Return runs put together. Published ones go elsewhere if there is such a place."""
    assembly = Assembly()
    for run in runs:
        part = published if published is not None and run.manifest.published else assembly
        part.add(run)
        part.rows["problems"].extend(unlisted_files(run.run, run.folder, folders[run.run].names, run.manifest))
    return assembly


def _listed(folders: Mapping[str, _RunFolder], cache: Cache, problems: list[Row], wanted: Callable[[Manifest], bool] | None) -> Iterator[ListedRun]:
    """Yield the runs whose manifests can be read. A manifest that is known is taken from the cache: TOML takes longer to read than small logs."""
    rest, digests = list(folders.items()), digests_in(cache)
    for start in range(0, len(rest), _MANIFESTS_AT_ONCE):
        known: dict[str, tuple[bytes, bytes | None]] = {}
        some = rest[start : start + _MANIFESTS_AT_ONCE]
        seen = digests.seen([f"{folder.path}/{RUN_FILE}" for _, folder in some])
        for (run, folder), manifest in zip(some, seen, strict=True):
            try:
                known[run] = _identified(run, folder.path, manifest, digests)
            except UnreadableInput as error:
                problems.append(problem(run, RUN_FILE, 0, UNREADABLE, "", str(error)))
        kept, fresh = _kept_manifests(cache, [key for key, _ in known.values()]), dict[bytes, bytes]()
        for run, (key, content) in known.items():
            folder_path = folders[run].path
            found = _kept_manifest(kept.get(key))
            if found is None:
                try:
                    text = evidence_bytes(folder_path, RUN_FILE) if content is None else content
                    found = _manifest(folder_path, text)
                except UnreadableInput as error:
                    problems.append(problem(run, RUN_FILE, 0, UNREADABLE, "", str(error)))
                    continue
                fresh[_manifest_key(hashlib.sha256(text).hexdigest())] = found[1]  # It may have been changed just now.
            if wanted is None or wanted(found[0]):
                yield ListedRun(run, folder_path, *found)
        if fresh:
            cache.put_packs(Kind.MANIFEST, [Pack(list(fresh), packed(msgspec.msgpack.encode(list(fresh.values()))))])


def _identified(run: str, folder: Path, seen: SeenFile, digests: FileDigests) -> tuple[bytes, bytes | None]:
    """Return the key of a run's manifest in the cache, and its content if it had to be read for that.

    Raises:
        UnreadableInput: it cannot be read, or the name of the run names no page.
    """
    _check_name(run)
    if seen.sha256 is not None:
        return _manifest_key(seen.sha256), None
    content = evidence_bytes(folder, RUN_FILE)
    sha256 = hashlib.sha256(content).hexdigest()
    digests.remember(seen, sha256)
    return _manifest_key(sha256), content


def _manifest_key(sha256: str) -> bytes:
    return key_of(manifest_digest(), sha256)


def _kept_manifests(cache: Cache, keys: Iterable[bytes]) -> dict[bytes, bytes]:
    """Return the manifests that the cache keeps under these keys, each as JSON."""
    kept: dict[bytes, bytes] = {}
    for content, wanted in cache.packs(Kind.MANIFEST, keys):
        manifests = _decode_manifests(unpacked(content))
        kept |= {key: manifests[place] for key, place in wanted}
    return kept


_decode_manifests = msgspec.msgpack.Decoder(list[bytes]).decode
_decode_manifest = msgspec.json.Decoder(Manifest).decode


def _kept_manifest(kept: bytes | None) -> tuple[Manifest, bytes] | None:
    """Return a manifest that the cache kept as JSON, with that; nothing if it kept none."""
    try:
        return None if kept is None else (_decode_manifest(kept), kept)
    except msgspec.DecodeError:
        return None


def _manifest(folder: Path, content: bytes) -> tuple[Manifest, bytes]:
    """Return the manifest of a run, and the same as JSON.

    Raises:
        UnreadableInput: it is none.
    """
    manifest = manifest_of(folder / RUN_FILE, content)
    return manifest, msgspec.json.encode(manifest)


def load_logs(paths: Sequence[Path], left_out: Sequence[Row] = (), *, skip_unreadable: bool = False, work: Work | None = None) -> Dataset:
    """Read raw logs that have no manifest.

    Each log is a run of its own. Its system is the one that its format measures, and its host is the machine that the log states.

    Args:
        paths: the logs.
        left_out: rows of ``problems`` about what lies beside the logs and is no log.
        skip_unreadable: whether a log that cannot be read becomes a row of ``problems``, as long as another one can be read. A folder of logs may
            hold other files too. A file that the user named must be readable.
        work: who reads the logs; ``None``: this process.

    Raises:
        UnreadableInput: a log cannot be opened, or its format is not known; with ``skip_unreadable``: none of the logs can be read.
    """
    assembly, work = Assembly(), work or Work()
    rows, hosts, skipped = assembly.rows, dict[str, Host](), list[Row]()
    rows["problems"].extend(left_out)
    with work.fetching() as fetching:
        for run, entries in fetching.runs(_assumed(paths, skipped, skip_unreadable=skip_unreadable)):
            opened = partial(open_named, run.folder, named_by_user=True)
            assembly.add(FoundRun(run.run, run.folder, run.manifest, run.manifest_json, entries, opened))
            facts = entries[0].head.facts
            rows["runs"][-1]["system"] = facts.system or run.manifest.system
            machine = stated_host(facts.environment)
            hosts |= machine
            rows["runs"][-1]["host"] = next(iter(machine), None)
    if skipped and not rows["runs"]:
        more = f"; and {len(skipped) - _REASONS_SHOWN} more files" if len(skipped) > _REASONS_SHOWN else ""
        raise UnreadableInput("; ".join(row["reason"] for row in skipped[:_REASONS_SHOWN]) + more)
    rows["problems"].extend(skipped)
    return assembly.finish(hosts)


def _assumed(paths: Iterable[Path], skipped: list[Row], *, skip_unreadable: bool) -> Iterator[ListedRun]:
    for path in paths:
        try:
            manifest = _assumed_manifest(path)
        except UnreadableInput as error:
            if not skip_unreadable:
                raise
            skipped.append(problem("", path.name, 0, UNREADABLE, "", str(error)))
            continue
        yield ListedRun(path.as_posix(), path.parent, manifest, msgspec.json.encode(manifest), named_by_user=True)


def _assumed_manifest(path: Path) -> Manifest:
    """Return the manifest of a log that has none: its system is the one that its format measures.

    Raises:
        UnreadableInput: the log cannot be opened, or its format is not known.
    """
    try:
        _check_name(path.as_posix())
        with open_log(path) as text, path.open("rb") as raw:
            module = Scan(text).format
            entry = LogFile(file=path.name, sha256=hashlib.file_digest(raw, "sha256").hexdigest())
    except UnreadableInput as error:
        raise UnreadableInput(f"{path}: {error}") from None
    return Manifest(system=module.SYSTEM, tool=module.TOOL, logs=(entry,))


def run_folders(root: Path) -> Iterator[Path]:
    """Yield every folder below ``root`` (itself included) that holds a ``run.toml``, sorted. Links are not followed."""
    return (folder for folder, files in folders_below(root) if RUN_FILE in files)


def _check_name(name: str) -> None:
    if utf8(name) != name:
        raise UnreadableInput(f"{utf8(name)}: the name is not valid UTF-8, so it cannot name a page; rename it")


def _load_hosts(folder: Path, files: Sequence[str], hosts: dict[str, Host], problems: list[Row]) -> None:
    for file in files:
        if not file.endswith(".toml"):
            continue
        try:
            _check_name(file)
            hosts[file.removesuffix(".toml")] = read_host(folder / file)
        except UnreadableInput as error:
            problems.append(problem("", file, 0, UNREADABLE, "", str(error)))
