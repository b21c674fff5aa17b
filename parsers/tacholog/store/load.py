"""Read folders of runs, or raw logs, into a dataset.

The logs are the only source of a dataset. It can be rebuilt from them at any time, and is never committed. A file, a line or a run that cannot be
used becomes a row of ``problems``, and everything else is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there
from tacholog.formats.reading import Scan
from tacholog.formats.source import not_a_file, open_log
from tacholog.runs.labels import NOT_STATED
from tacholog.runs.listing import RunFolder, check_name, list_runs, run_folders
from tacholog.runs.logs import ReadingLimits
from tacholog.runs.machines import Machines
from tacholog.runs.manifest import HOSTS_FOLDER, RUN_FILE, LogFile, Manifest, evidence_bytes, folders_below, manifest_of, read_host
from tacholog.runs.problems import UNREADABLE, problem, special_files, unlisted_files
from tacholog.schema.records import number_in
from tacholog.schema.tables import TABLES
from tacholog.store.cache import Cache, Kind, key_of
from tacholog.store.digests import FileDigests, FileStamp, digests_in, manifest_digest
from tacholog.store.fetch import ListedRun, fetching
from tacholog.store.frames import Dataset, Row, is_saved, open_saved
from tacholog.store.pool import Work
from tacholog.store.results import Store

# NumPy and pandas take long to import, and many commands do not need them. So each function that needs them imports them.
if TYPE_CHECKING:
    import pandas as pd

_REASONS_SHOWN = 3
_MANIFESTS_AT_ONCE = 500


def load(
    roots: Sequence[Path],
    limits: ReadingLimits | None = None,
    *,
    work: Work | None = None,
    wanted: Callable[[Manifest], bool] | None = None,
) -> Dataset:
    """Read every run below the given folders into frames: see `open_runs`."""
    return open_runs(roots, limits, work=work, wanted=wanted).dataset()


def open_runs(
    roots: Sequence[Path],
    limits: ReadingLimits | None = None,
    *,
    work: Work | None = None,
    wanted: Callable[[Manifest], bool] | None = None,
) -> Store:
    """Read every run below the given folders.

    The id of a run is the path of its folder relative to its root. Hosts are read from ``hosts/`` in any folder below a root. If two files describe
    one host differently, each run has the properties that the nearest file states (`tacholog.runs.machines.Machines`).

    Args:
        roots: the folders; runs are searched for in all folders below them.
        limits: the limits for the size of a log; ``None`` if there are none.
        work: reads the logs; ``None`` if this process reads them.
        wanted: a function that returns whether a run with this manifest is wanted; ``None`` if all runs are wanted.

    Raises:
        UnreadableInput: a root is not a folder, or is named twice.
    """
    machines, problems = Machines(), list[Row]()
    work = work or Work()
    folders = list_runs(roots, machines, problems)
    listed = [
        run._replace(processors=number_in(host.cpu, "threads") if (host := machines.hosts.get(run.manifest.host or "")) else None)
        for run in _readable_runs(folders, machines, work.cache, problems, wanted)
    ]
    with fetching(work, limits) as fetch:
        runs = fetch.runs(listed, lambda done: work.tell(done, len(folders)))
        store = Store(fetch, runs, machines.hosts)
    store.problems += problems
    for run in runs:
        name, folder, manifest = run.listed.run, run.listed.folder, run.listed.manifest
        store.problems += store.problems_of(run)
        store.problems += unlisted_files(name, folder, folders[name].names, manifest)
    return store


def _readable_runs(
    folders: Mapping[str, RunFolder], machines: Machines, cache: Cache, problems: list[Row], wanted: Callable[[Manifest], bool] | None
) -> Iterator[ListedRun]:
    remaining, digests = list(folders.items()), digests_in(cache)
    for start in range(0, len(remaining), _MANIFESTS_AT_ONCE):
        identified: dict[str, tuple[bytes, bytes | None]] = {}
        batch = remaining[start : start + _MANIFESTS_AT_ONCE]
        stamps = digests.look_up([f"{folder.path}/{RUN_FILE}" for _, folder in batch])
        for (run, folder), stamp in zip(batch, stamps, strict=True):
            try:
                identified[run] = _key_and_content(run, folder.path, stamp, digests)
            except UnreadableInput as error:
                problems.append(problem(run, RUN_FILE, 0, UNREADABLE, "", str(error)))
        # Parsing TOML takes longer than reading a small log, so manifests are cached.
        entries, fresh = cache.get(Kind.MANIFEST, [key for key, _ in identified.values()]), dict[bytes, bytes]()
        for run, (key, content) in identified.items():
            folder_path = folders[run].path
            manifest_json = entries.get(key)
            manifest = _decoded_manifest(manifest_json)
            if manifest is None or manifest_json is None:
                try:
                    text = evidence_bytes(folder_path, RUN_FILE) if content is None else content
                    manifest = manifest_of(folder_path / RUN_FILE, text)
                except UnreadableInput as error:
                    problems.append(problem(run, RUN_FILE, 0, UNREADABLE, "", str(error)))
                    continue
                manifest_json = msgspec.json.encode(manifest)
                fresh[_manifest_key(hashlib.sha256(text).hexdigest())] = manifest_json  # The file may have changed after its stamp was taken.
            with_machines = machines.in_folder(folder_path, manifest)
            if with_machines is not manifest:
                manifest, manifest_json = with_machines, msgspec.json.encode(with_machines)
            if wanted is None or wanted(manifest):
                yield ListedRun(run, folder_path, manifest, manifest_json)
        cache.put(Kind.MANIFEST, fresh)


def _key_and_content(run: str, folder: Path, stamp: FileStamp, digests: FileDigests) -> tuple[bytes, bytes | None]:
    """Return the key of a manifest in the cache, and its content if the file had to be read.

    Raises:
        UnreadableInput: it cannot be read, or the name of the run cannot be the name of a page.
    """
    check_name(run)
    if stamp.sha256 is not None:
        return _manifest_key(stamp.sha256), None
    content = evidence_bytes(folder, RUN_FILE)
    sha256 = hashlib.sha256(content).hexdigest()
    digests.remember(stamp, sha256)
    return _manifest_key(sha256), content


def _manifest_key(sha256: str) -> bytes:
    return key_of(manifest_digest(), sha256)


_decode_manifest = msgspec.json.Decoder(Manifest).decode


def _decoded_manifest(content: bytes | None) -> Manifest | None:
    try:
        return None if content is None else _decode_manifest(content)
    except msgspec.DecodeError:
        return None


def load_logs(paths: Sequence[Path], left_out: Sequence[Row] = (), *, skip_unreadable: bool = False, work: Work | None = None) -> Dataset:
    """Read raw logs that have no manifest.

    Each log becomes a run. The system of this run is the system that the log's format measures. Its host is the machine that the log states.

    Args:
        paths: the logs.
        left_out: rows of ``problems`` about other files next to the logs.
        skip_unreadable: whether a log that cannot be read becomes a row of ``problems``, if another log can be read. This is for a folder of logs,
            which may also contain other files. If it is false, every log must be readable, because the user named each log.
        work: reads the logs; ``None`` if this process reads them.

    Raises:
        UnreadableInput: a log cannot be opened, or its format is not known; with ``skip_unreadable``: no log can be read.
    """
    work, skipped = work or Work(), list[Row]()
    with fetching(work) as fetch:
        runs = fetch.runs([*_assumed(paths, skipped, skip_unreadable=skip_unreadable)])
        store = Store(fetch, runs, {})
    if skipped and not runs:
        more = f"; and {len(skipped) - _REASONS_SHOWN} more files" if len(skipped) > _REASONS_SHOWN else ""
        raise UnreadableInput("; ".join(row["reason"] for row in skipped[:_REASONS_SHOWN]) + more)
    store.problems += left_out
    for run, row in zip(runs, store.runs, strict=True):
        store.problems += store.problems_of(run)
        store.hosts |= run.record.machines
        row["host"] = next(iter(run.record.machines), None)
    store.problems += skipped
    return store.dataset()


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
    try:
        check_name(path.as_posix())
        with open_log(path) as text, path.open("rb") as raw:
            scan = Scan(text)
            # Without a manifest, the system is the one that the format of the log measures.
            module, system = scan.format, scan.system or f"system {NOT_STATED}"
            entry = LogFile(file=path.name, sha256=hashlib.file_digest(raw, "sha256").hexdigest())
    except UnreadableInput as error:
        raise UnreadableInput(f"{path}: {error}") from None
    return Manifest(system=system, tool=module.TOOL, logs=(entry,))


def open_path(path: Path, without: Collection[str] = (), *, work: Work | None = None) -> Dataset:
    """Read one folder or one log.

    Args:
        path: a folder of runs, a log, a folder of logs, or a folder in which `Dataset.save` wrote.
        without: columns of the results of a saved dataset that the caller does not need.
        work: reads the logs; ``None`` if this process reads them.

    Raises:
        UnreadableInput: the path does not exist, or has nothing that can be read.
    """
    if wrong := not_a_file(path):
        raise UnreadableInput(f"{path}: {wrong}, and is not read")
    if path.is_file():
        return load_logs([path], work=work)
    if not path.is_dir():
        raise UnreadableInput(f"{path}: no such file or folder")
    if is_saved(path):
        return open_saved(path, without)
    if next(run_folders(path), None) is not None:
        return with_hosts_above(load([path], work=work), path)
    return _load_folder_of_logs(path, work)


def open_paths(paths: Sequence[Path], *, work: Work | None = None) -> Dataset:
    """Read several folders or logs into one dataset. Folders of runs are read together, so that their runs are compared with each other.

    Args:
        paths: folders of runs, logs, folders of logs, or folders in which `Dataset.save` wrote.
        work: reads the logs; ``None`` if this process reads them.

    Raises:
        UnreadableInput: one of the paths cannot be read, or is named twice.
    """
    roots = [path for path in paths if path.is_dir() and not is_saved(path) and next(run_folders(path), None) is not None]
    parts = [open_path(path, work=work) for path in paths if path not in roots]
    if roots:
        runs = load(roots, work=work)
        for root in roots:
            runs = with_hosts_above(runs, root)
        parts.insert(0, runs)
    return joined(parts)


def _load_folder_of_logs(path: Path, work: Work | None) -> Dataset:
    folders = list(folders_below(path))
    logs = [folder / file for folder, files in folders for file in files if Path(file).suffix not in (".toml", ".md")]
    left_out = [row for folder, _ in folders for row in special_files(folder)]
    if not logs:
        raise UnreadableInput("; ".join((f"{path}: no run.toml, no saved dataset and no log below it", *(row["reason"] for row in left_out))))
    return load_logs(logs, left_out, skip_unreadable=True, work=work)


def with_hosts_above(dataset: Dataset, path: Path) -> Dataset:
    """Return the dataset with the hosts that it lacks, if a folder above this folder describes them.

    For example, ``data/rti/x`` gets hosts from ``data/hosts``.
    """
    hosts = dict(dataset.hosts)
    for host in sorted(set(dataset.runs["host"].dropna()) - hosts.keys()):
        name = f"{HOSTS_FOLDER}/{host}.toml"
        above = next((folder for folder in path.resolve().parents if "/" not in host and is_there(folder, name)), None)
        if above:
            hosts[host] = read_host(above / name)
    return msgspec.structs.replace(dataset, hosts=hosts)


def joined(parts: Sequence[Dataset]) -> Dataset:
    """Return several datasets as one.

    Raises:
        UnreadableInput: two of them contain the same run.
    """
    import pandas as pd

    if len(parts) == 1:
        return parts[0]
    machines = Machines()
    parts = [with_own_machines(part, machines) for part in parts]
    tables = {name: pd.concat([getattr(part, name) for part in parts], ignore_index=True) for name in TABLES if name != "results"}
    tables["results"] = _joined_results([part.results for part in parts])
    runs = tables["runs"]["run"]
    if runs.duplicated().any():
        raise UnreadableInput(f"the run {runs[runs.duplicated()].iloc[0]} was given twice; its numbers would count twice")
    return Dataset(**tables, hosts=machines.hosts)


def with_own_machines(dataset: Dataset, machines: Machines) -> Dataset:
    """Add the machines of a dataset to ``machines``, and return the dataset with the ids that these have there."""
    ids = {name: machines.add(name, host) for name, host in dataset.hosts.items()}
    changed = {name: added for name, added in ids.items() if name != added}
    if not changed:
        return dataset
    hosts = dataset.hosts | {added: dataset.hosts[name] for name, added in changed.items()}
    return msgspec.structs.replace(dataset, runs=dataset.runs.assign(host=dataset.runs["host"].replace(changed)), hosts=hosts)


def _joined_results(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd
    from pandas.api.types import union_categoricals

    # `pd.concat` alone would turn columns of categories with different words into columns of texts.
    is_text = {name: all(isinstance(frame[name].dtype, pd.CategoricalDtype) for frame in frames) for name in frames[0].columns}
    others = pd.concat([frame[[name for name in frame.columns if not is_text[name]]] for frame in frames], ignore_index=True)
    made = {name: union_categoricals([frame[name].array for frame in frames]) if is_text[name] else others[name] for name in frames[0].columns}
    return pd.DataFrame(made)
