"""Redact a dataset for a site. Own runs are redacted according to the class of each field and line. Published figures stay unchanged."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pandas as pd

from tacholog.errors import UnreadableInput
from tacholog.privacy import logs as logtext
from tacholog.privacy.classes import is_unchanged, published_host, published_manifest, published_text, with_published_labels
from tacholog.privacy.known_names import KnownNames
from tacholog.privacy.logs import LineClasses, LogFolder, Ranges
from tacholog.privacy.redaction_cache import RedactedLog, RedactedRun, RedactionCache, manifest_names_key, names_key, run_key, settings_key
from tacholog.privacy.redactor import Redactor
from tacholog.privacy.settings import HOST_PSEUDONYM, Privacy, host_pseudonym
from tacholog.privacy.tokens import plain
from tacholog.runs.host import pseudonym
from tacholog.runs.manifest import RENAMES_FILE, REQUIREMENTS_FILE, Host, Manifest
from tacholog.runs.problems import problem
from tacholog.schema.columns import PrivacyClass
from tacholog.schema.tables import TABLES
from tacholog.store.cache import open_cache
from tacholog.store.frames import Dataset, Row
from tacholog.store.logs import Progress

TEXT_BYTES = 64_000_000
_NAMING = ("hostname", "nodename", "user", "username", "login", "logname")


class _PublishedRun(NamedTuple):
    """A run as it is published.

    ``root`` is the folder of the redacted logs. ``withheld`` has the withheld lines of each shown log. For each log that is not shown, ``unshown``
    has the reason.
    """

    root: Path
    manifest: str
    withheld: Mapping[str, Ranges]
    unshown: Mapping[str, str]


def redacted(data: Dataset, privacy: Privacy, folder: Path, progress: Progress | None = None, text_bytes: int = TEXT_BYTES) -> Dataset:
    """Return the redacted dataset; see `redacted_with_redactor`."""
    return redacted_with_redactor(data, privacy, folder, progress, text_bytes)[0]


def redacted_with_redactor(
    data: Dataset, privacy: Privacy, folder: Path, progress: Progress | None = None, text_bytes: int = TEXT_BYTES
) -> tuple[Dataset, Redactor]:
    """Return the redacted dataset, and the redactor for texts that belong to no run.

    The redacted logs of own runs are written to ``folder``, and the ``root`` of these runs points there. The table keeps the SHA-256 of the original
    log, so that the owner can prove which log it was. A log with more than ``text_bytes`` of text is not shown.
    """
    ids = host_ids(data, privacy)
    names = KnownNames(privacy, ids)
    own_runs = data.runs[~data.runs["published"].fillna(value=False)]
    rows = _rows(own_runs)
    tables = {name: getattr(data, name) for name in TABLES}
    logs: dict[str, list[Row]] = {}
    for log in _rows(tables["logs"]):
        logs.setdefault(str(log["run"]), []).append(log)
    redaction = _Redaction(privacy, LogFolder(folder), progress, text_bytes, RedactionCache(open_cache()), names)
    _collect_names(rows, logs, ids, redaction)
    redactors = {str(row["run"]): Redactor(names, shown_host(str(row["host"]), ids)) for row in rows}
    published_runs = _published_runs(rows, logs, redactors, redaction)
    redaction.cache.flush()
    redaction.log_folder.close()
    everyone = Redactor(names)
    tables["problems"] = _problems(tables["problems"], published_runs, privacy)
    published = frozenset(map(str, data.runs["run"])) - redactors.keys()
    fresh = {name: _table(name, table, published, redactors, everyone) for name, table in tables.items()}
    fresh["runs"] = _runs(fresh["runs"], tables["runs"], published_runs)
    return Dataset(**fresh, hosts=published_hosts(data.hosts, ids, privacy, everyone)), everyone


def _rows(table: pd.DataFrame) -> list[Row]:
    """Return the rows of a table, with ``None`` for missing values.

    Whole columns are converted, because reading single values took as long as redacting them.
    """
    names = [str(name) for name in table.columns]
    columns: list[Any] = [table[name] for name in names]  # `Any`, because the type hints of pandas do not allow `na_value=None`.
    cells = (column.to_numpy(dtype=object, na_value=None).tolist() for column in columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]


def _collect_names(rows: list[Row], logs: Mapping[str, list[Row]], ids: Mapping[str, str], redaction: _Redaction) -> None:
    names, host = redaction.names, {str(row["run"]): shown_host(str(row["host"]), ids) for row in rows}
    keys = {(run, str(log["log"])): names_key(log, redaction.text_bytes) for run, run_logs in logs.items() if run in host for log in run_logs}
    of_manifests = {str(row["run"]): manifest_names_key(str(row["manifest"])) for row in rows}
    cached = redaction.cache.names([*(key for key in keys.values() if key), *of_manifests.values()])
    for row in rows:
        run = str(row["run"])
        for log in logs.get(run, ()):
            if not _may_be_shown(log, redaction.privacy):
                continue
            key = keys[run, str(log["log"])]
            log_names = cached.get(key) if key else None
            if log_names is None:
                root, count_bytes = Path(str(row["root"])), redaction.byte_counter(f"{run}/{log['log']}")
                log_names = names.found_in(logtext.plain_lines(root, str(log["log"]), count_bytes))
                if key:
                    redaction.cache.keep(key, log_names)
            names.add(log_names, host[run])
        log_names = cached.get(of_manifests[run])
        if log_names is None:
            log_names = names.found_in(_strings(msgspec.json.decode(str(row["manifest"]))))
            redaction.cache.keep(of_manifests[run], log_names)
        names.add(log_names, host[run])


def _strings(value: object, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _strings(inner, str(name))
    elif isinstance(value, list):
        if all(isinstance(inner, str) for inner in value):
            yield " ".join(value)  # the list may be the words of a command, such as `ssh`, `-l`, `NAME`
        for inner in value:
            yield from _strings(inner, key)
    elif isinstance(value, str):
        yield plain(value)
        if key in _NAMING:  # Such a key shows that the value is a name, so the value is searched together with the key.
            yield f"{key}={plain(value)}"


class _Redaction(NamedTuple):
    privacy: Privacy
    log_folder: LogFolder
    progress: Progress | None
    text_bytes: int
    cache: RedactionCache
    names: KnownNames

    def byte_counter(self, log: str) -> Callable[[int], object]:
        """Return a function that reports progress, and raises an error if the log is too large."""
        read = 0

        def count_bytes(count: int) -> None:
            nonlocal read
            read += count
            if read > self.text_bytes:
                raise UnreadableInput(f"its text is longer than {self.text_bytes / 1e6:g} MB, the limit (log_text_mb), so it is not shown")
            if self.progress:
                self.progress(log, count)

        return count_bytes


def _published_runs(
    rows: Sequence[Row], logs: Mapping[str, list[Row]], redactors: Mapping[str, Redactor], redaction: _Redaction
) -> dict[str, _PublishedRun]:
    settings = settings_key(redaction.names, redaction.text_bytes)
    parts = [(row, logs.get(str(row["run"]), []), redactors[str(row["run"])]) for row in rows]
    keys = [run_key(str(row["manifest"]), run_logs, settings, redactor.machine) for row, run_logs, redactor in parts]
    cached_runs = zip(parts, keys, redaction.cache.runs(keys), strict=True)
    return {str(part[0]["run"]): _published_run(*part, redaction, key, cached) for part, key, cached in cached_runs}


def _published_run(
    row: Row, logs: list[Row], redactor: Redactor, redaction: _Redaction, key: bytes | None, cached: RedactedRun | None
) -> _PublishedRun:
    """Write the redacted logs of a run, and return the run as it is published."""
    run, root = str(row["run"]), Path(str(row["root"]))
    target = redaction.log_folder.of_run(run)
    current = _still_current(root, logs, cached)
    if current is not None and _restored(current, target, redaction.cache):
        published, unshown = {name: (log.name, log.classes) for name, log in current.logs.items()}, dict[str, str]()
        redactor.continue_from(current.numbers)
        text, without_results = current.manifest, current.without_results
        if current.has_labels:
            labels = msgspec.json.decode(str(row["manifest"]), type=Manifest).labels
            text = msgspec.json.encode(with_published_labels(msgspec.json.decode(text, type=Manifest), labels, redactor))
    else:
        manifest = msgspec.json.decode(str(row["manifest"]), type=Manifest)
        without_results = {entry.file for entry in manifest.logs if not entry.results}  # The unknown lines of these logs are not reported.
        published, unshown = _written(root, logs, target, redactor, redaction)
        text = msgspec.json.encode(published_manifest(manifest, redactor))
        if key and not unshown:
            logs_kept = {
                log: RedactedLog(name, redaction.cache.keep_text((target / name).read_bytes()), lines) for log, (name, lines) in published.items()
            }
            redaction.cache.keep(key, RedactedRun(logs_kept, text, redactor.numbers, without_results, has_labels=bool(manifest.labels)))
    redaction.log_folder.keep(target, {name for name, _ in published.values()})
    withheld = {name: lines.withheld for name, (_, lines) in published.items() if lines.withheld and name not in without_results}
    return _PublishedRun(target, text.decode(), withheld, unshown)


_PublishedLogs = dict[str, tuple[str, LineClasses]]  # the name of each log with its published name and its lines by class


def _written(root: Path, logs: list[Row], target: Path, redactor: Redactor, redaction: _Redaction) -> tuple[_PublishedLogs, dict[str, str]]:
    """Write the redacted logs. Return the published logs, and the reasons why other logs are not shown."""
    published: _PublishedLogs = {}
    unshown: dict[str, str] = {}
    for log in logs:
        name, shown_name = str(log["log"]), redactor.identifier(str(log["log"]))
        try:
            lines = _write(root, log, target, shown_name, redactor, redaction)
        except UnreadableInput as error:
            unshown[name] = str(error)
            continue
        except (MemoryError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - any failure on a stranger's log affects only this log
            unshown[name] = f"it is not shown, because Tacholog failed: {type(error).__name__}"  # The message of the error may quote the log.
            continue
        if lines is not None:
            published[name] = shown_name, lines
    return published, unshown


def _still_current(root: Path, logs: list[Row], cached: RedactedRun | None) -> RedactedRun | None:
    if cached is None or cached.logs.keys() != {str(log["log"]) for log in logs}:
        return None
    return cached if all(logtext.sha256_of(root, str(log["log"])) == log["sha256"] for log in logs) else None


def _restored(cached: RedactedRun, target: Path, cache: RedactionCache) -> bool:
    """Write the redacted logs from the cache. Return whether the cache had all needed texts."""
    if not os.path.isdir(target):  # noqa: PTH112 - faster than `Path` for thousands of folders
        target.mkdir(parents=True, exist_ok=True)
    for log in cached.logs.values():
        if logtext.sha256_of(target, log.name) != log.sha256:
            text = cache.text(log.sha256)
            if text is None:
                return False
            part = target / ".part"
            part.write_bytes(text)
            part.replace(target / log.name)
        logtext.save_line_classes(target, log.name, log.classes)
    return True


def _may_be_shown(log: Row, privacy: Privacy) -> bool:
    """If no format reads the log, every line would be withheld, and the path may even lead out of the folder."""
    return isinstance(log["sha256"], str) or privacy.unknown_lines == "show"


def _write(root: Path, log: Row, target: Path, shown_name: str, redactor: Redactor, redaction: _Redaction) -> LineClasses | None:
    if not _may_be_shown(log, redactor.privacy):
        return None
    target.mkdir(parents=True, exist_ok=True)
    part = target / ".part"
    count_bytes = redaction.byte_counter(f"{log['run']}/{log['log']}")
    try:
        with part.open("wb") as stream:
            original = logtext.OriginalLog(root, str(log["log"]), log["format"] if isinstance(log["sha256"], str) else None)
            made = logtext.write_redacted(original, redactor, stream, count_bytes)
        if isinstance(log["sha256"], str) and logtext.sha256_of(root, str(log["log"])) != log["sha256"]:
            raise UnreadableInput("the log changed while the site was built: it is not shown")
        # Pages depend on these files, so a file that has not changed keeps its modification time.
        if logtext.sha256_of(target, shown_name) != logtext.sha256_of(target, part.name):
            part.replace(target / shown_name)
    finally:
        part.unlink(missing_ok=True)
    logtext.save_line_classes(target, shown_name, made)
    return made


def _problems(table: pd.DataFrame, published_runs: Mapping[str, _PublishedRun], privacy: Privacy) -> pd.DataFrame:
    """Return the table with one row for all withheld lines of a log, and one row for each log that cannot be shown."""
    rows = _rows(table)
    if privacy.unknown_lines == "withhold":
        rows = [row for row in rows if not (row["kind"] == "unknown" and row["run"] in published_runs)]
    for run, published in published_runs.items():
        for log, ranges in published.withheld.items():
            if privacy.unknown_lines == "withhold":
                rows.append(problem(run, log, ranges[0][0], "unknown", "", f"the format does not know them; {logtext.withheld_words(ranges)}"))
        reasons = {str(row["reason"]) for row in rows if row["run"] == run}
        rows += [problem(run, log, 0, "unreadable", "", reason) for log, reason in published.unshown.items() if reason not in reasons]
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=table[name].dtype) for name in table.columns})


def _table(name: str, table: pd.DataFrame, published: frozenset[str], redactors: Mapping[str, Redactor], everyone: Redactor) -> pd.DataFrame:
    """A text without a run is redacted with all known names."""
    fresh = table.copy(deep=False)  # Whole columns are replaced, so all other columns need no copy.
    for column in [column for column in table.columns if column not in TABLES[name] or TABLES[name][column].kind == "text"]:
        class_ = TABLES[name][column].privacy if column in TABLES[name] else "never"
        if class_ == "never":
            continue  # `_runs` replaces `root` and `manifest`

        def is_plain(text: str, column: str = column, class_: PrivacyClass = class_) -> bool:
            return is_unchanged(text, column, class_, everyone)

        def redacted_text(run: str, text: str, column: str = column, class_: PrivacyClass = class_) -> str | None:
            if run in published:  # A run whose manifest cannot be read may be an own run.
                return text
            return published_text(text, column, class_, redactors.get(run, everyone))

        fresh[column] = _replaced_texts(table["run"], table[column], is_plain, redacted_text)
    return fresh


def _replaced_texts(runs: pd.Series, texts: pd.Series, is_plain: Callable[[str], bool], redact: Callable[[str, str], str | None]) -> pd.Series:
    """Call ``is_plain`` once for each distinct text, and ``redact`` once for each pair of a run and a text.

    ``is_plain`` returns whether a text stays unchanged in every run.
    """
    words = texts.astype("category").cat.remove_unused_categories()  # The categories may contain words of other runs.
    words = words.cat.set_categories(sorted(words.cat.categories))  # sorted, so that the files do not depend on the order of reading
    rows = words.isin([word for word in words.cat.categories if not is_plain(str(word))]).to_numpy()
    if rows.any():
        names = runs[rows].astype("string").fillna("").astype("category").cat
        count = len(words.cat.categories)
        pairs, numbers = np.unique(names.codes.to_numpy(np.int64) * count + words.cat.codes.to_numpy()[rows], return_inverse=True)
        run_names, distinct_texts = names.categories.tolist(), words.cat.categories.tolist()
        texts_of_pairs = [redact(run_names[pair // count], distinct_texts[pair % count]) for pair in pairs.tolist()]
        # The original texts must not stay among the categories of the column, because the categories are saved with the column.
        words = words.where(~rows).cat.remove_unused_categories()
        every = pd.Index(sorted({*words.cat.categories, *(text for text in texts_of_pairs if text is not None)}), dtype="str")
        codes = words.cat.set_categories(every).cat.codes.to_numpy(np.int64, copy=True)
        codes[rows] = every.get_indexer(pd.Index(texts_of_pairs, dtype="str"))[numbers]
        words = pd.Series(pd.Categorical.from_codes(codes, categories=every), index=texts.index)
    return words if isinstance(texts.dtype, pd.CategoricalDtype) else words.astype(texts.dtype)


def _runs(fresh: pd.DataFrame, original: pd.DataFrame, published_runs: Mapping[str, _PublishedRun]) -> pd.DataFrame:
    published = [published_runs.get(str(run)) for run in original["run"]]
    roots = [os.fspath(run.root) if run else root for run, root in zip(published, original["root"], strict=True)]
    manifests = [run.manifest if run else manifest for run, manifest in zip(published, original["manifest"], strict=True)]
    return fresh.assign(root=roots, manifest=manifests).astype({"root": "string", "manifest": "string"})


def host_ids(data: Dataset, privacy: Privacy) -> dict[str, str]:
    """Return the pseudonym of each machine that is not published yet.

    The pseudonym is made from the properties in the host file. The name is used if they are missing, or if another machine has this pseudonym.
    """
    if privacy.hosts == "show":
        return {}
    own_hosts = data.runs[~data.runs["published"].fillna(value=False)]["host"].dropna().unique()
    published = {name for name, host in data.hosts.items() if host.published}
    ids: dict[str, str] = {}
    for name in sorted({*map(str, own_hosts), *data.hosts, *_unreadable_hosts(data)} - published - set(privacy.keep)):
        host = data.hosts.get(name)
        made = name if HOST_PSEUDONYM.match(name) else pseudonym(host) if host and host.cpu else host_pseudonym(name)
        ids[name] = made if made not in ids.values() else host_pseudonym(name)
    return {name: made for name, made in ids.items() if name != made}


def shown_host(name: str, ids: Mapping[str, str]) -> str | None:
    """Return the pseudonym of the machine of a run. The manifest may contain a pseudonym already."""
    return ids.get(name) or (name if HOST_PSEUDONYM.match(name) else None)


def _unreadable_hosts(data: Dataset) -> set[str]:
    """Return the names of unreadable host files. They must be redacted, because each is the name of a machine."""
    # If a problem belongs to no run and its file is a TOML file, the file is a host file, except for the two files below.
    files = {*map(str, data.problems[data.problems["run"] == ""]["log"].unique())} - {RENAMES_FILE, REQUIREMENTS_FILE}
    return {file.removesuffix(".toml") for file in files if file.endswith(".toml")}


def published_hosts(hosts: Mapping[str, Host], ids: Mapping[str, str], privacy: Privacy, redactor: Redactor) -> dict[str, Host]:
    """Return the machines by their pseudonyms, in the form that their pages may show."""
    return {ids.get(name, name): host if host.published else _host(ids.get(name, name), host, privacy, redactor) for name, host in hosts.items()}


def _host(name: str, host: Host, privacy: Privacy, redactor: Redactor) -> Host:
    """The name becomes the model of the processor, because the original is often the machine's name in its network."""
    published = published_host(host, redactor)
    if privacy.hosts == "show" or name in privacy.keep:
        return published
    model, threads = published.cpu.get("model"), published.cpu.get("threads")
    described = ", ".join(filter(None, [model, f"{threads} thread{'s' if threads != '1' else ''}" if threads else None])) if model else name
    return msgspec.structs.replace(published, name=described)
