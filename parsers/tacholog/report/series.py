"""Series: numbers that were measured the same way, so that one line may join them over the payload sizes.

Runs of one series repeat each other. Repetitions are shown as the median over runs with their range, and as two medians where the runs fall into two
groups; percentiles are never pooled. Every value shown is that of a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence

import msgspec

from tacholog.medians import median_place
from tacholog.report.facts import CONDITIONS, Fact, Run
from tacholog.report.numerals import grouped, natural, quantity, size
from tacholog.report.rungroups import MARK, RunGroup, two_groups

_RUN_PARTS = ("published", "host", "release", "system_version", "tool", "tool_version", "campaign", "build")
_SHOWN_LAST = ("definition", "planned_duration_s", "warmup", "basis", "load_mode", "campaign", "build")
_SAID_TWICE = ("release", "tool", "tool_version")  # where the system's version says it too
_SAYS_MOST = ("data_path", "reliability", "keyed")  # names a series that has nothing to differ from
_COMMIT_SHOWN = 7
_SEVERAL = 2
_SIDES = {"publisher": "at the publisher", "subscriber": "at the subscriber", "both": "both sides"}
_TITLES = {
    "data_path": "data path",
    "payload_touched": "payload touched",
    "keyed": "keyed or not",
    "type": "type",
    "demand": "demand",
    "offered_rate_per_s": "offered rate",
    "recovery_time_ns": "recovery time",
    "batch_bytes": "batching",
    "load_mode": "load",
    "planned_duration_s": "planned duration",
    "link_bit_per_s": "link speed",
    "system_version": "version",
    "tool_version": "tool version",
    "published": "own or published",
}

BASIS_WORDS = {"rtt": "round trip", "rtt/2": "half round trip", "one-way": "one way"}  # Half of a round trip is never called one way: methodology.

# What each condition says, for the page of definitions. A test holds that none is missing.
CONDITION_WORDS = {
    "transport": "What carries the messages: a protocol, shared memory, a queue between threads.",
    "data_path": "Whether the payload is copied, or handed over as a reference (zero copy, pointer) or in its wire form (FlatData).",
    "payload_touched": "Whether anybody wrote or read the payload. A zero-copy rate without that counts bytes that never moved.",
    "reliability": "Whether lost messages are sent again (reliable) or not (best effort).",
    "keyed": "Whether messages belong to instances of a topic by a key.",
    "instances": "How many instances a keyed topic has.",
    "type": "The data type, as the tool calls it.",
    "demand": "How many messages are sent in one burst.",
    "offered_rate_per_s": "How many messages a second the publisher tries to send.",
    "recovery_time_ns": "The pause between two bursts.",
    "batch_bytes": "How many bytes of messages travel together.",
    "publishers": "How many publishers send at once.",
    "subscribers": "How many subscribers receive at once.",
    "load_mode": "Closed: the next message waits for the last answer. Open or paced: a schedule that waits for nobody. Max-rate: as fast as it goes.",
    "waiting": "How a side waits for the other: it polls (busy-poll), sleeps until it is woken (block), or polls first and then sleeps.",
    "warmup": "What was done before the measurement began.",
    "basis": "What a latency spans: one way, a round trip, or a round trip divided by two.",
    "definition": "The tool's own definition of the metric; see the table below.",
    "planned_duration_s": "How long one measurement was meant to take.",
    "link_bit_per_s": "The nominal speed of the network link.",
}

Key = tuple[tuple[str, object], ...]


class Cell(msgspec.Struct, frozen=True):
    """One number of a series at one size, over its runs, in the schema's unit.

    ``value`` is ``None`` where no run states it, or only some of the runs do: a median over other runs than those of the next column would not be
    of the same measurement (p99.99 came out above p99.999). ``stated`` then says in how many of how many.
    ``shown`` is the number whose value this is: for its bound, resolution and line. Where runs fall into two ``groups``, it is that of the larger
    one, of two of one size the worse: what stands for both where one number has to, as in an order of rows or in a ratio.
    """

    value: float | None
    low: float | None
    high: float | None
    facts: tuple[Fact, ...]
    shown: Fact
    stated: tuple[int, int] | None = None
    groups: tuple[RunGroup, ...] = ()

    @property
    def sizes_high(self) -> int | None:
        """The largest payload in bytes, where one number stands for a range of sizes."""
        return next((fact.payload_bytes_high for fact in self.facts if fact.payload_bytes_high is not None), None)

    @property
    def size_words(self) -> str:
        """The payload size, or the range of sizes, that it is of."""
        first = size(self.facts[0].payload_bytes) if self.facts[0].payload_bytes is not None else "size not stated"
        return first if self.sizes_high is None else f"{first} to {size(self.sizes_high)}"

    @property
    def marks(self) -> tuple[str, ...]:
        """Every mark on any of the numbers, in order, and that of two groups of runs."""
        return tuple(dict.fromkeys([*(mark for fact in self.facts for mark in fact.marks), *([MARK] if self.groups else [])]))

    @property
    def run_count(self) -> int:
        """How many runs are behind it."""
        return len({fact.run.run for fact in self.facts})


class Series(msgspec.Struct, frozen=True):
    """Numbers measured the same way. ``slot`` numbers the series on its page, and so fixes its colour."""

    label: str
    slot: int
    key: Key
    facts: tuple[Fact, ...]

    @property
    def published(self) -> bool:
        """Whether these are a vendor's published figures."""
        return self.facts[0].run.published

    @property
    def runs(self) -> list[Run]:
        """The runs behind it, in order."""
        return list({fact.run.run: fact.run for fact in self.facts}.values())

    @property
    def repeated(self) -> bool:
        """Whether any number was measured more than once."""
        return len({(fact.payload_bytes, fact.metric, fact.statistic) for fact in self.facts}) < len(self.facts)

    def sizes(self) -> list[int | None]:
        """The payload sizes in bytes, ascending; ``None`` (not stated) comes first."""
        return sorted({fact.payload_bytes for fact in self.facts}, key=lambda size_bytes: -1 if size_bytes is None else size_bytes)

    def cells(self, metric: str, statistic: str) -> dict[int | None, Cell]:
        """One cell a size for the number of that name."""
        by_size: dict[int | None, dict[str, list[Fact]]] = {}
        for fact in self.facts:
            if fact.metric == metric:
                by_size.setdefault(fact.payload_bytes, {}).setdefault(fact.statistic, []).append(fact)
        return {at: _cell(found[statistic], _most_stated(found.values())) for at, found in by_size.items() if statistic in found}

    def statistics(self) -> list[tuple[str, str]]:
        """The (metric, statistic) pairs that it has, in order of appearance."""
        return list(dict.fromkeys((fact.metric, fact.statistic) for fact in self.facts))

    def has_mark(self, mark: str) -> bool:
        """Whether any number carries that mark."""
        return any(mark in fact.marks for fact in self.facts)


def series_of(facts: Iterable[Fact]) -> list[Series]:
    """Return the series in ``facts``, each labelled by only those conditions in which they differ.

    Those of a later version come later, so that a new version takes no colour from an old one.
    """
    groups: dict[Key, list[Fact]] = {}
    keys: dict[tuple[object, ...], Key] = {}
    for fact in facts:
        short = (fact.run.run, fact.side, fact.participant, fact.conditions)
        key = keys.get(short)
        if key is None:
            key = keys[short] = _key(fact)
        groups.setdefault(key, []).append(fact)
    ordered = sorted(groups, key=_version)
    labels = _labels(ordered)
    return [Series(label, slot, key, tuple(groups[key])) for slot, (label, key) in enumerate(zip(labels, ordered, strict=True))]


def labels_among(series: Sequence[tuple[str, Series]]) -> list[str]:
    """Return what each series is called among others, by only what differs between these; its system and transport stand beside the label."""
    keys = [one.key for _, one in series]
    names = ["" for _ in keys] if len(keys) < _SEVERAL else [_joined(parts) for parts in _told_apart(keys, but="transport")]
    beside = [(system, dict(one.key)["transport"], label) for (system, one), label in zip(series, names, strict=True)]
    return [f"{label} ({_origin(key)})".strip() if beside.count(whole) > 1 else label for label, key, whole in zip(names, keys, beside, strict=True)]


def common_words(series: Iterable[Series], but: Container[str]) -> list[str]:
    """Return, in words, what all series have in common and is known, but for the names given."""
    first, *rest = [dict(one.key) for one in series]
    return [said for name, value in first.items() if name not in but and all(one[name] == value for one in rest) and (said := words(name, value))]


def newest_first(series: Iterable[Series]) -> list[Series]:
    """Return series of later versions before those of earlier ones, and else in their order."""
    return sorted(series, key=lambda one: _version(one.key), reverse=True)


def _version(key: Key) -> list[tuple[int, int, str]]:
    return natural(str(dict(key)["system_version"] or ""))


def _most_stated(statistics: Iterable[Sequence[Fact]]) -> Counter[str]:
    """Return how often each run states the statistic of a metric that it states most often: as often it should state every other."""
    most: Counter[str] = Counter()
    for facts in statistics:
        most |= _stated(facts)
    return most


def _stated(facts: Sequence[Fact]) -> Counter[str]:
    return Counter(fact.run.run for fact in facts if fact.value is not None)


def _cell(facts: Sequence[Fact], wanted: Counter[str]) -> Cell:
    known = [(fact.value, fact) for fact in facts if fact.value is not None]
    if not known or len(known) < wanted.total():
        first = known[0][1] if known else facts[0]
        return Cell(None, None, None, tuple(facts), first, (len(known), wanted.total()) if known else None)
    values = [value for value, _ in known]
    value, shown = known[median_place(values, facts[0].metric)]
    groups = two_groups(facts)
    for group in groups:
        if group.low <= value <= group.high:
            value, shown = group.value, group.fact
    return Cell(value, min(values), max(values), tuple(facts), shown, groups=groups)


def _key(fact: Fact) -> Key:
    parts: list[tuple[str, object]] = [(name, getattr(fact.conditions, name)) for name in CONDITIONS]
    parts += [(name, getattr(fact.run, name)) for name in _RUN_PARTS]
    parts += [("side", fact.side), ("participant", fact.participant)]
    # Two published tables are never repetitions of each other: a document that prints both means them to differ, even if it does not say how.
    parts.append(("run", fact.run.run if fact.run.published else None))
    return tuple(parts)


def _labels(keys: Sequence[Key]) -> list[str]:
    return _made_different([_joined(parts) for parts in _told_apart(keys)], keys) if keys else []


def _told_apart(keys: Sequence[Key], but: str = "") -> list[list[tuple[str, object]]]:
    """Return of each the fewest conditions that tell it from the others, ``but`` one that is said elsewhere."""
    facts = [dict(key) for key in keys]
    differing = sorted(_differing(facts), key=lambda name: name in _SHOWN_LAST)
    full = [[(name, one[name]) for name in differing] for one in facts]
    used = _fewest(full) - {but}
    return [[(name, value) for name, value in parts if name in used] for parts in full]


def _differing(facts: Sequence[dict[str, object]]) -> list[str]:
    return [name for name in facts[0] if name != "run" and len({one[name] for one in facts}) > 1]


def _joined(parts: Sequence[tuple[str, object]]) -> str:
    return ", ".join(filter(None, (words(name, value) for name, value in parts)))


def _fewest(full: Sequence[Sequence[tuple[str, object]]]) -> set[str]:
    """Leave out a condition where the others already tell all series apart: a label is to be read at a glance."""
    names = [name for name, _ in full[0]] if full else []
    used = set(names)
    for name in reversed(names):
        fewer = used - {name}
        # What is unknown adds no words, so it cannot tell series apart either.
        told = {tuple((n, v) for n, v in parts if n in fewer and v is not None) for parts in full}
        if name in (*_SHOWN_LAST, *_SAID_TWICE) and len(told) == len(full):
            used = fewer
    return used


def _made_different(labels: list[str], keys: Sequence[Key]) -> list[str]:
    if len(keys) == 1:
        facts = dict(keys[0])
        return [_joined([(name, facts[name]) for name in _SAYS_MOST]) or "all runs"]
    named = [label or "no further conditions stated" for label in labels]
    return [f"{label} ({_origin(key)})" if named.count(label) > 1 else label for label, key in zip(named, keys, strict=True)]


def _origin(key: Key) -> str:
    facts = dict(key)
    return str(facts["run"] or facts["definition"] or facts["release"] or "own")


def words(name: str, value: object) -> str:
    """Return a condition as it reads in a label; nothing for what is unknown."""
    if value is None:
        return ""
    in_words = _WORDS.get(name)
    return in_words(value) if in_words else str(value)


def title(name: str) -> str:
    """Return what a condition is called in running text."""
    return _TITLES.get(name, name.replace("_", " "))


def build_words(build: str) -> str:
    """Return a commit as people write it, and whether its sources had been changed."""
    commit, dirty, _ = build.partition("-dirty")
    return f"{commit[:_COMMIT_SHOWN]} with uncommitted changes" if dirty else commit[:_COMMIT_SHOWN]


def _number(value: object) -> float:
    return float(str(value))


def _count(one: str) -> Callable[[object], str]:
    return lambda value: f"{grouped(_number(value))} {one}" + ("" if value == 1 else "s")


_WORDS: dict[str, Callable[[object], str]] = {
    "keyed": lambda value: "keyed" if value else "unkeyed",
    "instances": _count("instance"),
    "publishers": _count("publisher"),
    "subscribers": _count("subscriber"),
    "payload_touched": lambda value: "payload not touched" if value == "none" else f"payload touched ({value})",
    "demand": lambda value: f"demand {value}",
    "offered_rate_per_s": lambda value: f"{quantity(_number(value), 'messages_per_s')} offered",
    "recovery_time_ns": lambda value: f"recovery {quantity(_number(value), 'ns')}",
    "batch_bytes": lambda value: f"batches of {size(_number(value))}" if _number(value) else "no batches",
    "planned_duration_s": lambda value: f"{_number(value):g} s each",
    "link_bit_per_s": lambda value: f"{quantity(_number(value), 'bit_per_s')} link",
    "published": lambda value: "published" if value else "own run",
    "side": lambda value: _SIDES.get(str(value), str(value)),
    "system_version": lambda value: f"version {value}",
    "tool_version": lambda value: f"tool {value}",
    "release": lambda value: f"release {value}",
    "campaign": lambda value: f"campaign {value}",
    "build": lambda value: f"build {build_words(str(value))}",
    "host": lambda value: str(value) if str(value).startswith("host") else f"host {value}",
    "basis": lambda value: BASIS_WORDS.get(str(value), str(value)),
}
