"""The machine, the tool and the options of runs, for a comparison.

The profile of a run contains the properties that decide whether the numbers of the run may be compared. Other properties do not prevent a comparison,
but their differences may explain a change.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tacholog.compare.comparable import MACHINE, settings_of
from tacholog.compare.result import Difference
from tacholog.compare.sides import stated_of
from tacholog.runs.conditions import SOFT_CONDITIONS, is_of_machine, options_words, split_options
from tacholog.runs.labels import CONTROL, label_name
from tacholog.runs.manifest import Host

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset


_MTU = re.compile(r"\bMTU (\d+)")
_NOT_A_CARD = ("switch", "cable", "mtu", "loopback_mtu")


class Profile(NamedTuple):
    """The properties of a run that a diff compares. ``machine`` is the name of the machine, see `machine_names`."""

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
    run_settings: str | None
    labels: str | None


def machine_names(*sides: Dataset) -> dict[str, str]:
    """Return the name of each machine on which a run of any side was measured, by the id of the machine.

    A name states the processor, so machines of one kind have the same name. In this case the id is appended, so that readers can distinguish them.
    """
    hosts = {str(host) for side in sides for host in side.runs["host"].dropna()}
    name_of = {host: side.hosts[host].name for side in sides for host in hosts if host in side.hosts}
    shared = Counter(name_of.get(host, host) for host in hosts)
    names = {host: name_of.get(host, host) for host in hosts}
    return {host: f"{name} ({host})" if shared[name] > 1 else name for host, name in names.items()}


def profiles_of(dataset: Dataset, names: Mapping[str, str] | None = None) -> list[Profile]:
    """Return the profile of each run, in the order of ``runs``. ``names`` is the result of `machine_names`; ``None``: that of this dataset."""
    names = machine_names(dataset) if names is None else names
    columns = ("host", "tool", "tool_version", "options", "published", "labels", "manifest")
    return [_profile(run, dataset.hosts, names) for run in stated_of(dataset.runs, columns)]


def _profile(run: Mapping[str, Any], hosts: Mapping[str, Host], names: Mapping[str, str]) -> Profile:
    host, tool, version = (_text_or_none(run[name]) for name in ("host", "tool", "tool_version"))
    host_file = hosts.get(host or "")
    machine = dict(zip(MACHINE, _machine_values(host_file), strict=True)) if host_file else dict.fromkeys(MACHINE)
    machine |= _link(_text_or_none(run["manifest"]))
    # Options of a campaign are settings. Options of a published document are not used, because they only repeat its conditions.
    option_text = None if run["published"] is True else _with_machines(_text_or_none(run["options"]), hosts)
    options, settings = split_options(option_text)
    return Profile(
        host=host,
        machine=names.get(host or ""),
        tool=tool,
        harness_major=version.split(".")[0] if version else None,
        options=options_words(options) if options else None if option_text is None else "none",
        run_settings=str(settings) if settings else None,
        labels=_text_or_none(run["labels"]),
        **machine,
    )


def _with_machines(options: str | None, hosts: Mapping[str, Host]) -> str | None:
    """Replace the ids of machines by their hardware.

    The id of a machine changes with its kernel, but a comparison considers only the hardware of the hosts of the run and of its processes.
    """
    if options is None:
        return None
    values: dict[str, Any] = msgspec.json.decode(options)
    for name, value in values.items():
        if is_of_machine(name) and isinstance(value, str) and value in hosts:
            values[name] = ", ".join(text for text in _machine_values(hosts[value])[:3] if text) or value
    return msgspec.json.encode(values).decode()


def _machine_values(host: Host) -> tuple[str | None, ...]:
    """Return the values in the order of `MACHINE`."""
    cores = [f"{host.cpu[name]} {name}" for name in ("sockets", "cores", "threads") if name in host.cpu]
    cards = [text for name, text in host.network.items() if name not in _NOT_A_CARD and not name.startswith("net.")]
    nic = "; ".join(_MTU.sub("", text).strip(", ") for text in cards)
    mtu = host.network.get("mtu") or ", ".join(match[1] for text in cards if (match := _MTU.search(text)))
    return host.cpu.get("model"), ", ".join(cores) or None, host.memory.get("size"), nic or None, mtu or None


def _link(manifest: str | None) -> dict[str, str]:
    """Return ``nic`` and ``mtu`` of the link between the hosts of a run, if the run states them. Other cards are ignored."""
    if manifest is None or '"link_' not in manifest:
        return {}
    environment: dict[str, str] = msgspec.json.decode(manifest).get("environment", {})
    return {name: environment[f"link_{name}"] for name in ("nic", "mtu") if f"link_{name}" in environment}


def _text_or_none(value: Any) -> str | None:  # noqa: ANN401 - a cell of a frame
    return value if isinstance(value, str) else None


_HARDWARE = {("cpu", "model"), ("cpu", "sockets"), ("cpu", "cores"), ("cpu", "threads"), ("memory", "size")}
_PER_RUN = re.compile(r"_(before|during|after)$|^(program_sha256|harness_git|harness_dirty|tacholog_python|clock_overhead_ns)$")
# (fact of a run, its name in a report, the smallest difference of the medians that is shown)
_OF_RUNS = (
    ("load1_before", "load before, median", 1.0),
    ("other_load_during", "load of other programs, median", 0.1),
    ("steal_percent_during", "stolen processor time, median, %", 1.0),
    ("mhz_before", "processor frequency before, median, MHz", 100.0),
)


def soft_differences(old: Dataset, new: Dataset) -> tuple[Difference, ...]:
    """Return the differences that do not prevent a comparison, but may explain a change."""
    before, after = _soft(old), _soft(new)
    pairs = ((name, _list(before.get(name)), _list(after.get(name))) for name in sorted(before.keys() & after.keys()))
    changed = (Difference(name, first, second) for name, first, second in pairs if first != second)
    return (*changed, *_settings_of_one_side(old, new), *_facts_that_differ(old, new))


def _settings_of_one_side(old: Dataset, new: Dataset) -> Iterator[Difference]:
    """Yield a difference for each setting that only one side states. Transports with the same setting and value are named in one difference."""
    before, after = _settings(old), _settings(new)
    transports_of: dict[tuple[str, str | None, str | None], list[str]] = {}
    for transport in sorted(before.keys() & after.keys()):
        olds, news = before[transport], after[transport]
        for name in olds.keys() ^ news.keys():
            transports_of.setdefault((name, _list(olds.get(name)), _list(news.get(name))), []).append(transport)
    for (name, first, second), transports in sorted(transports_of.items(), key=lambda item: (item[1], item[0][0])):
        yield Difference(f"setting {name.replace('_', '-')} of {', '.join(transports)}", first, second)


def _settings(dataset: Dataset) -> dict[str, dict[str, set[str]]]:
    settings_of_transports: dict[str, dict[str, set[str]]] = {}
    rows = dataset.results[["transport", "settings"]].drop_duplicates().dropna(subset=["transport"]).astype(object)
    for transport, settings in rows.itertuples(index=False):
        of_transport = settings_of_transports.setdefault(str(transport), {})
        for name, value in settings_of(settings if isinstance(settings, str) else None).items():
            of_transport.setdefault(name, set()).add(value)
    return settings_of_transports


def _facts_that_differ(old: Dataset, new: Dataset) -> Iterator[Difference]:
    before, after = _values_of_facts(old), _values_of_facts(new)
    for fact, name, enough in _OF_RUNS:
        sides = before[fact], after[fact]
        if all(sides) and abs(median(sides[0]) - median(sides[1])) >= enough:
            yield Difference(name, *(f"{median(values):.1f}" for values in sides))


def _values_of_facts(dataset: Dataset) -> dict[str, list[float]]:
    values_of: dict[str, list[float]] = {fact: [] for fact, _, _ in _OF_RUNS}
    for manifest in dataset.runs["manifest"].dropna():
        environment: dict[str, str] = msgspec.json.decode(manifest).get("environment", {})
        for name, text in environment.items():
            values = values_of.get(name.rpartition(".")[2])  # a run on several machines states the fact for each machine
            if values is not None:
                with contextlib.suppress(ValueError):
                    values.append(float(text))
    return values_of


def _list(values: set[str] | None) -> str | None:
    return ", ".join(sorted(values)) if values else None


def _soft(dataset: Dataset) -> dict[str, set[str]]:
    values_of: dict[str, set[str]] = {}
    used = set(dataset.runs["host"].dropna())
    for host in (host for name, host in dataset.hosts.items() if name in used):
        for section in ("cpu", "memory", "network", "system"):
            for name, text in getattr(host, section).items():
                if (section, name) not in _HARDWARE and section != "network":
                    values_of.setdefault(f"{section} {name}", set()).add(text)
    for name, text in (pair for manifest in dataset.runs["manifest"].dropna() for pair in _constant_environment(manifest)):
        values_of.setdefault(name, set()).add(text)
    values_of["tool_version"] = set(dataset.runs["tool_version"].dropna())
    values_of["build"] = set(dataset.runs["build"].dropna())
    for name, text in (
        pair for options in dataset.runs.get("options", dataset.runs["run"][:0]).dropna().unique() for pair in split_options(options)[1].items()
    ):
        values_of.setdefault(name, set()).add(text)
    for name in SOFT_CONDITIONS:
        values_of[name] = {str(value) for value in dataset.results[name].dropna().unique()}
    return values_of


def _constant_environment(manifest: str) -> list[tuple[str, str]]:
    environment: dict[str, str] = msgspec.json.decode(manifest).get("environment", {})
    return [(name, text) for name, text in environment.items() if not _PER_RUN.search(name)]


def is_same_build(old: Dataset, new: Dataset) -> bool:
    """Whether both sides measured the same program with the same arguments. The order of items within an argument may differ."""
    sides = [_programs(side) for side in (old, new)]
    if None in sides[0] | sides[1] or not (sides[0] <= sides[1] or sides[1] <= sides[0]):
        return False
    return all(len({program[0] for program in side if program}) == 1 for side in sides)


def is_same_control(old: Dataset, new: Dataset) -> bool:
    """Whether the controls of both sides are the same program; also true if a side does not state the program of its controls.

    If the controls are different programs, they show nothing about the host.
    """
    builds = [{program[0] for program in _programs(side, controls=True) if program} for side in (old, new)]
    return builds[0] == builds[1] or not all(builds)


def _programs(dataset: Dataset, *, controls: bool = False) -> set[tuple[str, ...] | None]:
    """Return the SHA-256 of each measured program, with the arguments of its command; ``None`` for a run that does not state its program.

    With ``controls``, only control runs are considered; otherwise only the other runs.
    """
    programs: set[tuple[str, ...] | None] = set()
    decoded = (msgspec.json.decode(text) for text in dataset.runs["manifest"].dropna())
    for manifest in (manifest for manifest in decoded if (label_name(CONTROL) in manifest.get("labels", {})) == controls):
        commands = manifest.get("commands", ())
        # A run of several processes states the program of each process. A run of one command states the program in its environment.
        builds = [command.get("program_sha256") for command in commands if command.get("name")]
        build = " ".join(filter(None, builds)) if builds and all(builds) else manifest.get("environment", {}).get("program_sha256")
        words = [word for command in commands for word in command["argv"]]
        programs.add((build, *(",".join(sorted(word.split(","))) for word in words)) if build else None)
    return programs
