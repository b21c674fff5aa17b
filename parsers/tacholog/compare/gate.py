"""May two cells be compared at all? What must be equal and known on both sides, and what is only said if it changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tacholog.compare.result import Difference
from tacholog.runs.manifest import Host
from tacholog.runs.stated import SOFT_CONDITIONS, options_words, split_options

if TYPE_CHECKING:
    from tacholog.dataset.frames import Dataset

Facts = Mapping[str, Any]
_IN_MEMORY = re.compile(r"shm|shmem|shared|inter-?thread|inter-?process|intra|ipc|pointer", re.IGNORECASE)  # where zero copy may be meant
# Transports that use no network card, by their names: for logs that do not state the reach of the transport.
_NAMED_AS_LOCAL = re.compile(r"shm|shmem|shared|inter-?thread|inter-?process|intra|ipc|uds|unix|loopback|pointer", re.IGNORECASE)
_MTU = re.compile(r"\bMTU (\d+)")
_NOT_A_CARD = ("switch", "cable", "mtu", "loopback_mtu")


class Profile(NamedTuple):
    """What a run was made on and with, as far as it decides whether numbers compare."""

    host: str | None
    machine: str | None
    cpu_model: str | None
    cores: str | None
    memory: str | None
    nic: str | None
    mtu: str | None
    tool: str | None
    harness_major: str | None
    options: str | None
    settings: str | None


# Reason codes: the words of a report and of its JSON. Each names one condition (of a number, or of its run's profile).
CODES: Mapping[str, str] = MappingProxyType(
    {
        "definition": "metric_def",
        "basis": "basis",
        "load_mode": "load_mode",
        "reliability": "qos",
        "batch_bytes": "batching",
        "payload_touched": "payload_touched",
        "latency_of": "latency_of",
        "offered_rate_per_s": "offered_rate",
        "recovery_time_ns": "recovery_time",
        "instances": "instances",
        "side": "side",
        "waiting": "waiting",
        "cpu_model": "cpu_model",
        "cores": "cores_smt",
        "memory": "memory",
        "nic": "nic",
        "mtu": "mtu",
        "tool": "tool",
        "harness_major": "harness_major",
        "options": "options",
        "participant": "participant",
        "transport": "transport",
        "data_path": "data_path",
        "type": "type",
        "keyed": "keyed",
        "publishers": "publishers",
        "subscribers": "subscribers",
    }
)
# What a row is named by and one side may leave out altogether: its rows then stand against those of the other side that say it.
STATED = ("transport", "data_path", "type", "keyed", "publishers", "subscribers")
_NAMING = ("participant", *STATED)
MACHINE = ("cpu_model", "cores", "memory", "nic", "mtu")


def _always(_: Facts) -> bool:
    return True


def _never(_: Facts) -> bool:
    return False


def _uses_network(row: Facts) -> bool:
    if row["reach"] is not None:
        return bool(row["reach"] == "network")
    return _NAMED_AS_LOCAL.search(row["transport"] or "") is None


# Where a condition has to be known. Elsewhere it does not apply, and not stating it is no gap: a latency in a closed loop has no offered rate.
_MUST_BE_KNOWN: Mapping[str, Callable[[Facts], bool]] = MappingProxyType(
    {
        "definition": _always,
        "basis": lambda row: row["metric"] in ("latency", "jitter"),
        "load_mode": _always,
        "reliability": _always,
        "batch_bytes": lambda row: row["test"] in ("throughput", "demand") and row["load_mode"] == "max-rate",
        "payload_touched": lambda row: row["data_path"] in ("zero-copy", "pointer"),
        "offered_rate_per_s": lambda row: row["load_mode"] in ("open", "paced"),
        "recovery_time_ns": lambda row: row["test"] == "demand",
        "instances": lambda row: row["keyed"] is True,
        "side": _never,
        "waiting": _never,
        "latency_of": _never,
        "cpu_model": _always,
        "cores": _always,
        "memory": _always,
        "nic": _uses_network,
        "mtu": _uses_network,
        "tool": _never,
        "harness_major": _always,
        "options": _never,
        "participant": _never,
        **dict.fromkeys(STATED, _never),
        "transport": _always,
        "data_path": lambda row: row["transport"] is None or _IN_MEMORY.search(row["transport"]) is not None,
    }
)


class Judgement(NamedTuple):
    """What the gate says: conditions that differ (not comparable), such that would have to be known, and machines that go by other names."""

    different: tuple[Difference, ...]
    unverified: tuple[str, ...]
    machines: tuple[Difference, ...] = ()


def judge(old: Facts, new: Facts, across: Iterable[str]) -> Judgement:
    """Compare the conditions of two cells. Both mappings hold every field of `CODES`, and ``host``, ``test``, ``metric``, ``reach``, ...

    Two runs on the same host (the same host file) have the same machine, also where the file leaves something out.
    """
    same_host = old["host"] is not None and old["host"] == new["host"]
    fields = [field for field in CODES if not (field in across or (field in MACHINE and "host" in across))]
    different = [Difference(CODES[field], said_of(old[field]), said_of(new[field])) for field in fields if _differ(field, old[field], new[field])]
    open_fields = [field for field in fields if old[field] is None or new[field] is None]
    unverified = [CODES[field] for field in open_fields if not (same_host and field in MACHINE) and _needed(field, old, new)]
    return Judgement(tuple(different), tuple(unverified), _machines(old["machine"], new["machine"]))


def _machines(old: str | None, new: str | None) -> tuple[Difference, ...]:
    """The names of two machines that are not the same one. They forbid nothing: two machines may be alike in all that counts."""
    return (Difference("host", old, new),) if old != new else ()


def _differ(field: str, old: object, new: object) -> bool:
    """Whether two conditions are known to differ. What names a row must be the same, so that a name and none are two."""
    known = (old is not None and new is not None) or field in _NAMING
    return known and old != new


def _needed(field: str, old: Facts, new: Facts) -> bool:
    return _MUST_BE_KNOWN[field](old) or _MUST_BE_KNOWN[field](new)


def said_of(value: object) -> str | None:
    """A condition as a word; ``None`` if it is not stated."""
    if value is None:
        return None
    return f"{value:g}" if isinstance(value, float) else str(value)


def profiles(dataset: Dataset) -> list[Profile]:
    """The profile of each run, in the order of ``runs``."""
    return [
        _profile(run, dataset.hosts)
        for run in dataset.runs.reindex(columns=["host", "tool", "tool_version", "options", "published"]).to_dict("records")
    ]


def _profile(run: Mapping[Hashable, Any], hosts: Mapping[str, Host]) -> Profile:
    host, tool, version = (_known(run[name]) for name in ("host", "tool", "tool_version"))
    found = hosts.get(host or "")
    machine = dict(zip(MACHINE, _machine(found), strict=True)) if found else dict.fromkeys(MACHINE)
    # A document's options are its words for the conditions beside them; those of a campaign are what it set.
    stated = None if run["published"] is True else _known(run["options"])
    options, settings = split_options(stated)
    return Profile(
        host=host,
        machine=found.name if found else host,
        tool=tool,
        harness_major=version.split(".")[0] if version else None,
        options=options_words(options) if options else None if stated is None else "none",
        settings=str(settings) if settings else None,
        **machine,
    )


def _machine(host: Host) -> tuple[str | None, ...]:
    """What a host file says of each of `MACHINE`."""
    cores = [f"{host.cpu[name]} {name}" for name in ("sockets", "cores", "threads") if name in host.cpu]
    cards = [text for name, text in host.network.items() if name not in _NOT_A_CARD and not name.startswith("net.")]
    nic = "; ".join(_MTU.sub("", text).strip(", ") for text in cards)
    mtu = host.network.get("mtu") or ", ".join(found[1] for text in cards if (found := _MTU.search(text)))
    return host.cpu.get("model"), ", ".join(cores) or None, host.memory.get("size"), nic or None, mtu or None


_HARD_FACTS = {("cpu", "model"), ("cpu", "sockets"), ("cpu", "cores"), ("cpu", "threads"), ("memory", "size")}
_PER_RUN = re.compile(r"_(before|after)$|^(program_sha256|harness_git|harness_dirty|tacholog_python|clock_overhead_ns)$")


def changed(old: Dataset, new: Dataset) -> tuple[Difference, ...]:
    """What else is not the same on both sides: facts that do not forbid a comparison, but may explain a change."""
    before, after = _soft(old), _soft(new)
    shown = ((name, _list(before.get(name)), _list(after.get(name))) for name in sorted(before.keys() & after.keys()))
    return tuple(Difference(name, first, second) for name, first, second in shown if first != second)


def _list(values: set[str] | None) -> str | None:
    return ", ".join(sorted(values)) if values else None


def _soft(dataset: Dataset) -> dict[str, set[str]]:
    facts: dict[str, set[str]] = {}
    used = set(dataset.runs["host"].dropna())
    for host in (host for name, host in dataset.hosts.items() if name in used):
        for section in ("cpu", "memory", "network", "system"):
            for name, text in getattr(host, section).items():
                if (section, name) not in _HARD_FACTS and section != "network":
                    facts.setdefault(f"{section} {name}", set()).add(text)
    for name, text in (pair for manifest in dataset.runs["manifest"].dropna() for pair in _environment(manifest)):
        facts.setdefault(name, set()).add(text)
    facts["tool_version"] = set(dataset.runs["tool_version"].dropna())
    facts["build"] = set(dataset.runs["build"].dropna())
    for name, text in (
        pair for options in dataset.runs.get("options", dataset.runs["run"][:0]).dropna().unique() for pair in split_options(options)[1].items()
    ):
        facts.setdefault(name, set()).add(text)
    for name in SOFT_CONDITIONS:
        facts[name] = {str(value) for value in dataset.results[name].dropna().unique()}
    return facts


def _environment(manifest: str) -> list[tuple[str, str]]:
    """The facts of a run's environment that are the same for all runs of a build and a machine."""
    environment: dict[str, str] = msgspec.json.decode(manifest).get("environment", {})
    return [(name, text) for name, text in environment.items() if not _PER_RUN.search(name)]


def same_build(old: Dataset, new: Dataset) -> bool:
    """Whether both sides are one program, called in the same ways (its lists may come in another order): one build measured twice."""
    sides = [_programs(side) for side in (old, new)]
    if None in sides[0] | sides[1] or not (sides[0] <= sides[1] or sides[1] <= sides[0]):
        return False
    return all(len({program[0] for program in side if program}) == 1 for side in sides)


def _programs(dataset: Dataset) -> set[tuple[str, ...] | None]:
    """The SHA-256 of every program that the runs measured, with the words of its command; ``None`` among them if a run does not say."""
    found: set[tuple[str, ...] | None] = set()
    for manifest in (msgspec.json.decode(text) for text in dataset.runs["manifest"].dropna()):
        build = manifest.get("environment", {}).get("program_sha256")
        words = [word for command in manifest.get("commands", ()) for word in command["argv"]]
        found.add((build, *(",".join(sorted(word.split(","))) for word in words)) if build else None)
    return found


def _known(value: Any) -> str | None:  # noqa: ANN401 - a cell of a frame
    return value if isinstance(value, str) else None
