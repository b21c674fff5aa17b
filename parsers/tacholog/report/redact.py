"""A dataset as its site may show it: own runs without names of machines, people, networks and folders; published figures as they were published."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tacholog.dataset import TABLES, Dataset, Row
from tacholog.host import pseudonym
from tacholog.manifest import Host, Manifest
from tacholog.report import logtext
from tacholog.report.privacy import PSEUDONYM, Names, Privacy, Redactor, host_pseudonym

if TYPE_CHECKING:
    import pandas as pd

_KEPT = ("root", "manifest", "sha256", "system_version", "tool_version", "start_time")  # a version of four numbers is no address


def redacted(data: Dataset, privacy: Privacy, folder: Path) -> Dataset:
    """Return the dataset without names. Logs that held any are written to ``folder``, and their runs' ``root`` leads there.

    The SHA-256 of a log stays that of the original: whoever has it can still prove it.
    """
    ids = _host_ids(data, privacy)
    names = Names(privacy, ids)
    own = data.runs[~data.runs["published"].fillna(value=False)]
    rows: list[Row] = [{str(name): value for name, value in row.items()} for row in own.to_dict("records")]
    for row in rows:
        for line in _said_by(row, data):
            names.learn(line, _shown_host(str(row["host"]), ids))
    tables = {name: getattr(data, name) for name in TABLES}
    redactors = {str(row["run"]): Redactor(names, _shown_host(str(row["host"]), ids)) for row in rows}
    shown = {str(row["run"]): _shown_run(row, tables["logs"], redactors[str(row["run"])], folder) for row in rows}
    _forget(folder, {root for root, _ in shown.values() if root})
    everyone = Redactor(names)
    fresh = {name: _table(table, redactors, everyone) for name, table in tables.items()}
    fresh["runs"] = _runs(fresh["runs"], tables["runs"], shown)
    return Dataset(**fresh, hosts=_hosts(data.hosts, ids, privacy, everyone))


def _host_ids(data: Dataset, privacy: Privacy) -> dict[str, str]:
    """Return the pseudonym of each own machine: after its facts where a host file states them, unless two machines are alike."""
    if privacy.hosts == "show":
        return {}
    own = data.runs[~data.runs["published"].fillna(value=False)]["host"].dropna().unique()
    published = {name for name, host in data.hosts.items() if host.published}
    ids: dict[str, str] = {}
    for name in sorted({*map(str, own), *data.hosts} - published - set(privacy.keep)):
        host = data.hosts.get(name)
        made = name if PSEUDONYM.match(name) else pseudonym(host) if host and host.cpu else host_pseudonym(name)
        ids[name] = made if made not in ids.values() else host_pseudonym(name)
    return {name: made for name, made in ids.items() if name != made}


def _shown_host(name: str, ids: Mapping[str, str]) -> str | None:
    """Return what a run's machine is called on the site; a pseudonym that its manifest gives it is one already."""
    return ids.get(name) or (name if PSEUDONYM.match(name) else None)


def _hosts(hosts: Mapping[str, Host], ids: Mapping[str, str], privacy: Privacy, redactor: Redactor) -> dict[str, Host]:
    return {ids.get(name, name): host if host.published else _host(ids.get(name, name), host, privacy, redactor) for name, host in hosts.items()}


def _host(name: str, host: Host, privacy: Privacy, redactor: Redactor) -> Host:
    """Return a machine that is called after what it is: what people call it is often its name in their network."""
    said = msgspec.convert(_mapped(msgspec.to_builtins(host), redactor), Host)
    if privacy.hosts == "show" or name in privacy.keep:
        return said
    model, threads = host.cpu.get("model"), host.cpu.get("threads")
    described = ", ".join(filter(None, [model, f"{threads} thread{'s' if threads != '1' else ''}" if threads else None])) if model else name
    return msgspec.structs.replace(said, name=described)


def _said_by(row: Row, data: Dataset) -> Iterator[str]:
    """Yield every text of a run: the lines of its logs, and the strings of its manifest as ``key=value``."""
    for log in data.logs[data.logs["run"] == row["run"]]["log"]:
        yield from map(logtext.plain, logtext.lines(Path(str(row["root"]), str(log))))
    yield from _strings(msgspec.json.decode(str(row["manifest"])))


def _strings(value: object, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _strings(inner, str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner, key)
    elif isinstance(value, str):
        yield value
        if key in ("hostname", "nodename", "user", "username", "login", "logname"):
            yield f"{key}={value}"


def _shown_run(row: Row, logs: pd.DataFrame, redactor: Redactor, folder: Path) -> tuple[Path | None, str]:
    """Return where a run's logs are to be shown from (nowhere else, if nothing in them is hidden), and its manifest without names."""
    run, root = str(row["run"]), Path(str(row["root"]))
    target = folder / hashlib.sha256(run.encode()).hexdigest()[:16]
    contents = {str(log): logtext.redacted(root / str(log), redactor) for log in logs[logs["run"] == run]["log"]}
    manifest = msgspec.json.decode(str(row["manifest"]), type=Manifest)
    said = msgspec.convert(_mapped(msgspec.to_builtins(manifest), redactor), Manifest)
    if all(text is None and redactor.text(log) == log for log, text in contents.items()):
        return None, msgspec.json.encode(said).decode()
    target.mkdir(parents=True, exist_ok=True)
    for log, text in contents.items():
        shown, original = target / redactor.text(log), root / log
        content = original.read_bytes() if text is None and original.is_file() else text
        if content is not None and (not shown.is_file() or shown.read_bytes() != content):
            shown.write_bytes(content)
    return target, msgspec.json.encode(said).decode()


def _mapped(value: Any, redactor: Redactor, key: str = "") -> Any:  # noqa: ANN401 - whatever TOML holds
    if isinstance(value, str):
        return value if key in _KEPT else redactor.text(value)
    if isinstance(value, (list, tuple)):
        return [_mapped(inner, redactor, key) for inner in value]
    if isinstance(value, dict):
        return {name: _mapped(inner, redactor, name) for name, inner in value.items()}
    return value


def _table(table: pd.DataFrame, redactors: Mapping[str, Redactor], everyone: Redactor) -> pd.DataFrame:
    """Return a table without names: each text by the redactor of its run, texts of no run by one that knows all names."""
    fresh = table.copy()
    runs = table["run"].fillna("").astype(str)
    for column in [name for name in table.columns if table[name].dtype == "string" and name not in _KEPT]:
        pairs = {(run, text) for run, text in zip(runs, table[column], strict=True) if (run in redactors or not run) and isinstance(text, str)}
        told = {(run, text): redactors.get(run, everyone).text(text) for run, text in sorted(pairs)}
        fresh[column] = [told.get((run, text), text) for run, text in zip(runs, table[column], strict=True)]
        fresh[column] = fresh[column].astype("string")
    return fresh


def _runs(fresh: pd.DataFrame, given: pd.DataFrame, shown: Mapping[str, tuple[Path | None, str]]) -> pd.DataFrame:
    """Put in where the logs are shown from, and the manifests."""
    places = [shown.get(str(run), (None, None)) for run in given["run"]]
    roots = [str(place) if place else root for (place, _), root in zip(places, given["root"], strict=True)]
    manifests = [said or manifest for (_, said), manifest in zip(places, given["manifest"], strict=True)]
    return fresh.assign(root=roots, manifest=manifests).astype({"root": "string", "manifest": "string"})


def _forget(folder: Path, kept: set[Path]) -> None:
    """Delete what an earlier build showed and this one does not."""
    for old in folder.iterdir() if folder.is_dir() else ():
        if old not in kept:
            for file in old.iterdir():
                file.unlink()
            old.rmdir()
