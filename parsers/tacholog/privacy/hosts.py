"""The machines of a dataset: their pseudonyms, and what is shown of each."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tacholog.privacy.classes import published_host
from tacholog.privacy.pseudonyms import HOST_PSEUDONYM, host_pseudonym
from tacholog.privacy.redactor import Redactor
from tacholog.privacy.settings import Privacy
from tacholog.runs.host import pseudonym
from tacholog.runs.manifest import RENAMES_FILE, REQUIREMENTS_FILE, Host
from tacholog.store.frames import Dataset


def host_ids(data: Dataset, privacy: Privacy) -> dict[str, str]:
    """Return the pseudonym of each own machine: made from its properties if a host file states them and no other machine has the same."""
    if privacy.hosts == "show":
        return {}
    own = data.runs[~data.runs["published"].fillna(value=False)]["host"].dropna().unique()
    published = {name for name, host in data.hosts.items() if host.published}
    ids: dict[str, str] = {}
    for name in sorted({*map(str, own), *data.hosts, *_unread(data)} - published - set(privacy.keep)):
        host = data.hosts.get(name)
        made = name if HOST_PSEUDONYM.match(name) else pseudonym(host) if host and host.cpu else host_pseudonym(name)
        ids[name] = made if made not in ids.values() else host_pseudonym(name)
    return {name: made for name, made in ids.items() if name != made}


def shown_host(name: str, ids: Mapping[str, str]) -> str | None:
    """Return the pseudonym of the machine of a run. Its name in the manifest may be a pseudonym already."""
    return ids.get(name) or (name if HOST_PSEUDONYM.match(name) else None)


def _unread(data: Dataset) -> set[str]:
    """Return the names of host files that cannot be read: they name machines, too. A problem of no run with any other TOML file is one with them."""
    files = {*map(str, data.problems[data.problems["run"] == ""]["log"].unique())} - {RENAMES_FILE, REQUIREMENTS_FILE}
    return {file.removesuffix(".toml") for file in files if file.endswith(".toml")}


def published_hosts(hosts: Mapping[str, Host], ids: Mapping[str, str], privacy: Privacy, redactor: Redactor) -> dict[str, Host]:
    """Return the machines by their pseudonyms, as their pages may show them."""
    return {ids.get(name, name): host if host.published else _host(ids.get(name, name), host, privacy, redactor) for name, host in hosts.items()}


def _host(name: str, host: Host, privacy: Privacy, redactor: Redactor) -> Host:
    """Return a machine named after its processor, because people often call it by its name in their network."""
    shown = published_host(host, redactor)
    if privacy.hosts == "show" or name in privacy.keep:
        return shown
    model, threads = shown.cpu.get("model"), shown.cpu.get("threads")
    described = ", ".join(filter(None, [model, f"{threads} thread{'s' if threads != '1' else ''}" if threads else None])) if model else name
    return msgspec.structs.replace(shown, name=described)
