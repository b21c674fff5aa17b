"""Other differences between the sides of a diff, which may explain a change but forbid no comparison; and whether both sides are one build."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING

import msgspec

from tacholog.compare.comparable import settings_of
from tacholog.compare.result import Difference
from tacholog.runs.conditions import SOFT_CONDITIONS, split_options
from tacholog.runs.labels import CONTROL, label_name

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset

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
    """The differences that forbid no comparison, but may explain a change."""
    before, after = _soft(old), _soft(new)
    shown = ((name, _list(before.get(name)), _list(after.get(name))) for name in sorted(before.keys() & after.keys()))
    changed = (Difference(name, first, second) for name, first, second in shown if first != second)
    return (*changed, *_settings_of_one_side(old, new), *_disturbance(old, new))


def _settings_of_one_side(old: Dataset, new: Dataset) -> Iterator[Difference]:
    """The settings that a transport of both sides has on one side only, each once, with the transports. Their rows are compared all the same."""
    before, after = _settings(old), _settings(new)
    found: dict[tuple[str, str | None, str | None], list[str]] = {}
    for transport in sorted(before.keys() & after.keys()):
        olds, news = before[transport], after[transport]
        for name in olds.keys() ^ news.keys():
            found.setdefault((name, _list(olds.get(name)), _list(news.get(name))), []).append(transport)
    for (name, first, second), transports in sorted(found.items(), key=lambda item: (item[1], item[0][0])):
        yield Difference(f"setting {name.replace('_', '-')} of {', '.join(transports)}", first, second)


def _settings(dataset: Dataset) -> dict[str, dict[str, set[str]]]:
    """The values of each setting of each transport."""
    found: dict[str, dict[str, set[str]]] = {}
    stated = dataset.results[["transport", "settings"]].drop_duplicates().dropna(subset=["transport"]).astype(object)
    for transport, settings in stated.itertuples(index=False):
        of_transport = found.setdefault(str(transport), {})
        for name, value in settings_of(settings if isinstance(settings, str) else None).items():
            of_transport.setdefault(name, set()).add(value)
    return found


def _disturbance(old: Dataset, new: Dataset) -> Iterator[Difference]:
    """What differs from run to run, by the medians of both sides, where they differ by enough to matter."""
    before, after = _stated(old), _stated(new)
    for fact, name, enough in _OF_RUNS:
        sides = before[fact], after[fact]
        if all(sides) and abs(median(sides[0]) - median(sides[1])) >= enough:
            yield Difference(name, *(f"{median(values):.1f}" for values in sides))


def _stated(dataset: Dataset) -> dict[str, list[float]]:
    """What the runs state of each fact."""
    found: dict[str, list[float]] = {fact: [] for fact, _, _ in _OF_RUNS}
    for manifest in dataset.runs["manifest"].dropna():
        environment: dict[str, str] = msgspec.json.decode(manifest).get("environment", {})
        for name, text in environment.items():
            values = found.get(name.rpartition(".")[2])  # a run on several machines states it for each
            if values is not None:
                with contextlib.suppress(ValueError):
                    values.append(float(text))
    return found


def _list(values: set[str] | None) -> str | None:
    return ", ".join(sorted(values)) if values else None


def _soft(dataset: Dataset) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    used = set(dataset.runs["host"].dropna())
    for host in (host for name, host in dataset.hosts.items() if name in used):
        for section in ("cpu", "memory", "network", "system"):
            for name, text in getattr(host, section).items():
                if (section, name) not in _HARDWARE and section != "network":
                    found.setdefault(f"{section} {name}", set()).add(text)
    for name, text in (pair for manifest in dataset.runs["manifest"].dropna() for pair in _environment(manifest)):
        found.setdefault(name, set()).add(text)
    found["tool_version"] = set(dataset.runs["tool_version"].dropna())
    found["build"] = set(dataset.runs["build"].dropna())
    for name, text in (
        pair for options in dataset.runs.get("options", dataset.runs["run"][:0]).dropna().unique() for pair in split_options(options)[1].items()
    ):
        found.setdefault(name, set()).add(text)
    for name in SOFT_CONDITIONS:
        found[name] = {str(value) for value in dataset.results[name].dropna().unique()}
    return found


def _environment(manifest: str) -> list[tuple[str, str]]:
    """The part of a run's environment that all runs of a build on a machine share."""
    environment: dict[str, str] = msgspec.json.decode(manifest).get("environment", {})
    return [(name, text) for name, text in environment.items() if not _PER_RUN.search(name)]


def is_same_build(old: Dataset, new: Dataset) -> bool:
    """Whether both sides are one program, called in the same ways (its lists may come in another order): one build measured twice."""
    sides = [_programs(side) for side in (old, new)]
    if None in sides[0] | sides[1] or not (sides[0] <= sides[1] or sides[1] <= sides[0]):
        return False
    return all(len({program[0] for program in side if program}) == 1 for side in sides)


def is_same_control(old: Dataset, new: Dataset) -> bool:
    """Whether the controls of both sides are the same program, as far as the runs say: a control whose program changed shows nothing of the host."""
    builds = [{program[0] for program in _programs(side, controls=True) if program} for side in (old, new)]
    return builds[0] == builds[1] or not all(builds)


def _programs(dataset: Dataset, *, controls: bool = False) -> set[tuple[str, ...] | None]:
    """The SHA-256 of every program that the runs measured, with the words of its command; ``None`` among them if a run does not say.

    Either of the controls, or of all other runs.
    """
    found: set[tuple[str, ...] | None] = set()
    decoded = (msgspec.json.decode(text) for text in dataset.runs["manifest"].dropna())
    for manifest in (one for one in decoded if (label_name(CONTROL) in one.get("labels", {})) == controls):
        commands = manifest.get("commands", ())
        # A run of several processes names the program of each; a run that is one command names it in its environment.
        builds = [command.get("program_sha256") for command in commands if command.get("name")]
        build = " ".join(filter(None, builds)) if builds and all(builds) else manifest.get("environment", {}).get("program_sha256")
        words = [word for command in commands for word in command["argv"]]
        found.add((build, *(",".join(sorted(word.split(","))) for word in words)) if build else None)
    return found
