"""The machines of the home page, each with the campaign that measured most transports there.

Series are put together by the one rule of what may be ranked (`tacholog.compare.comparable`), across the labels of the campaign: a reader who chooses
a transport chooses its variant too. The name of each series says which variant it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from tacholog.compare.comparable import LABELS
from tacholog.runs.labels import label_fields, labels_of
from tacholog.runs.moments import latest_instant
from tacholog.view.cost import SPINS
from tacholog.view.names import words
from tacholog.view.ranking_groups import Compared, Group, groups
from tacholog.view.rankings import best_measured, of_last_releases
from tacholog.view.views import View, manifest_of

ACROSS = (LABELS,)
SLEEPS = "sleeps"  # until the kernel says that a message is there
_WAITING = {"busy-poll": "polls", "block": SLEEPS, "spin-then-block": "polls, then sleeps"}
_LEAST = 2  # transports of an own machine, so that there is a choice; sizes of a published document, so that there is a line
_ALIKE = "one by one"  # rates of batches say nothing of messages one by one


class Members(msgspec.Struct, frozen=True):
    """Series that may be ranked, and the number by which they are."""

    group: Group
    members: tuple[Compared, ...]


class Machine(msgspec.Struct, frozen=True):
    """A machine, and what its main campaign measured there.

    Attributes:
        host: the id of the machine.
        published: whether all figures are a vendor's.
        newest: when the newest run of the campaign began, in seconds since 1970; minus infinity if no run says.
        latency: its series of latencies, if there are two or more.
        rate: its series of rates.
        everything: all series of the machine that may be ranked at all, of all campaigns.
    """

    host: str
    published: bool
    newest: float
    latency: Members | None
    rate: Members | None
    everything: tuple[Compared, ...]

    @property
    def series(self) -> list[Compared]:
        """The series of the main campaign."""
        return [one for found in (self.latency, self.rate) if found for one in found.members]


def machines(everything: Sequence[Compared]) -> list[Machine]:
    """Return the machines of all series: first those with own runs and a choice of transports, the newest first; then those of documents."""
    last = of_last_releases([one for one in everything if not one.is_control])
    found = {group: kept for group, members in groups(last, least=1, across=ACROSS).items() if (kept := best_measured(members))}
    by_host: dict[str, dict[Group, list[Compared]]] = {}
    for group, members in found.items():
        by_host.setdefault(group.host, {})[group] = members
    made = [machine for host, of_host in by_host.items() if (machine := _machine(host, of_host))]
    return sorted(sorted(made, key=lambda one: (one.newest, len(one.series)), reverse=True), key=lambda one: one.published)


def _machine(host: str, found: Mapping[Group, Sequence[Compared]]) -> Machine | None:
    latency = widest(found, "latency")
    rates = {group: members for group, members in found.items() if latency is None or group["campaign"] == latency.group["campaign"]}
    rate = widest(rates, "goodput")
    shown = [one for members in (latency, rate) if members for one in members.members]
    published = all(one.series.published for one in shown)
    sizes = {at for one in shown for at in one.series.sizes()}
    if not shown or (len(sizes) < _LEAST if published else len({(one.system, one.transport) for one in shown}) < _LEAST):
        return None
    everything = {id(one): one for members in found.values() for one in members}
    return Machine(
        host=host,
        published=published,
        newest=_newest(shown),
        latency=latency,
        rate=rate,
        everything=tuple(everything.values()),
    )


def widest(found: Mapping[Group, Sequence[Compared]], metric: str) -> Members | None:
    """Return the group of a metric that compares most transports, of several the one with the most series, then the newest; nothing if none does."""
    of_metric = {group: members for group, members in found.items() if group.metric == metric and group["batched"] in (None, _ALIKE)}
    if not of_metric:
        return None

    def breadth(group: Group) -> tuple[int, int, float]:
        members = of_metric[group]
        return len({(one.system, one.transport) for one in members}), len(members), _newest(members)

    group = max(of_metric, key=breadth)
    return Members(group, tuple(of_metric[group]))


def _newest(members: Iterable[Compared]) -> float:
    return latest_instant(run.start_time for one in members for run in one.series.runs)


def reach_of(one: Compared) -> str | None:
    """Return how far the transport of a series carries a message: ``process``, ``host`` or ``network``; ``None`` if that is not stated."""
    return one.series.results[0].conditions.reach


def how(one: Compared, differing: Collection[str] = ()) -> str:
    """Return in words how a series was measured: how its sides wait, whether messages may be lost, and the labels that are ``differing``."""
    key = dict(one.series.key)
    labels = labels_of(one.series.runs[0].labels)
    reliability = str(key["reliability"] or "")
    parts = [waits(one), words("reliability", reliability) if reliability == "best-effort" else ""]
    return ", ".join(filter(None, [*parts, *(labels[name] for name in differing if name in labels)]))


def waits(one: Compared) -> str:
    """Return in words how the sides of a series wait: as they were told to, or as the measurement shows that they do."""
    waiting = str(dict(one.series.key)["waiting"] or "")
    return SPINS if one.spins else _WAITING.get(waiting, waiting)


def polls(one: Compared) -> bool:
    """Whether a side that waits keeps a processor in use."""
    return one.spins or dict(one.series.key)["waiting"] == "busy-poll"


def differing_labels_of(members: Iterable[Compared]) -> list[str]:
    """Return the labels in which any two of the series differ."""
    texts = {one.series.runs[0].labels for one in members}
    return [name for name in label_fields(texts) if len({labels_of(text).get(name) for text in texts}) > 1]


def floors(members: Sequence[Compared]) -> list[Compared]:
    """Return the series without a library: transports of the tool itself, in a campaign that measures libraries with it."""
    own = [one for one in members if _is_of_tool(one)]
    return own if len(own) < len(members) else []


def _is_of_tool(one: Compared) -> bool:
    """Whether the log names no other system than the campaign, which names the tool's own."""
    run = one.series.results[0].run
    manifest = manifest_of(run)
    return manifest is not None and not run.published and run.system == manifest.system


def is_on_one_machine(view: View, members: Iterable[Compared]) -> bool:
    """Whether there are runs, and all processes of all of them were on one machine, so that a network was its loopback."""
    names = {run.run for one in members for run in one.series.runs}
    return bool(names) and all(_hosts(view, name) for name in names)


def _hosts(view: View, name: str) -> bool:
    run = view.runs[name]
    manifest = manifest_of(run)
    if manifest is None or manifest.clocks == "several" or not manifest.commands:
        return False
    return all(command.host in (None, run.host) and command.machine is None for command in manifest.commands)
