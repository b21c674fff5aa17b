"""The rule that decides which results may be compared. A diff, a ranking, a table of several series and the comparison page all use it.

`CONDITIONS` declares each condition of a measurement once: the comparisons in which it must be equal, and the comparisons in which it must be stated.
`tacholog.view.refusals` writes the text of a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec

from tacholog.compare.result import Difference
from tacholog.runs.labels import labels_of
from tacholog.schema.conditions import Basis

# What is compared: the same row in two releases; two series whose ratio a reader asks for; the series of one ranked table.
ComparisonKind = Literal["diff", "ratio", "ranking"]
Conditions = Mapping[str, Any]  # the conditions of one cell or series by name; ``None``: not stated
BYTES, A_REFERENCE = "bytes", "a reference"  # what was sent: the latency of bytes grows with their number, the latency of a reference does not
MOVED, NOT_MOVED = "moved", "never moved"  # whether the bytes that a rate counts were moved

_IN_MEMORY = re.compile(r"shm|shmem|shared|inter-?thread|inter-?process|intra|ipc|pointer", re.IGNORECASE)  # transports that may be zero copy

# The names of transports that use no network card. They are only used if the log does not state the reach of the transport.
_NAMED_AS_LOCAL = re.compile(r"shm|shmem|shared|inter-?thread|inter-?process|intra|ipc|uds|unix|loopback|pointer", re.IGNORECASE)


def is_local(conditions: Conditions) -> bool:
    """Whether the transport uses no network card. The reach in the log decides; if it is not stated, the name of the transport decides."""
    if conditions["reach"] is not None:
        return bool(conditions["reach"] != "network")
    return _NAMED_AS_LOCAL.search(conditions["transport"] or "") is not None


Needed = Callable[[Conditions, ComparisonKind], bool]


def _always(_: Conditions, __: ComparisonKind) -> bool:
    return True


def _on_network(conditions: Conditions, _: ComparisonKind) -> bool:
    return not is_local(conditions)


_DIFF: tuple[ComparisonKind, ...] = ("diff",)
_SERIES: tuple[ComparisonKind, ...] = ("ratio", "ranking")
_EVERYWHERE: tuple[ComparisonKind, ...] = (*_DIFF, *_SERIES)
_RANKING: tuple[ComparisonKind, ...] = ("ranking",)
# The comparisons in which the load on the transport must be equal. A reader may ask for a ratio between two loads. But a ranking of different loads
# would favour the transport with the smaller load.
_LOAD: tuple[ComparisonKind, ...] = (*_DIFF, *_RANKING)


class Condition(NamedTuple):
    """A condition that must be equal on both sides: its code in reports, the comparisons and metrics to which it applies, and when it must be stated.

    Logs may leave out a condition that is not needed. For example, a closed loop has no offered rate.
    """

    code: str
    comparisons: tuple[ComparisonKind, ...]
    needed: Needed = lambda *_: False
    metrics: Collection[str] = ()  # empty: all metrics


# Conditions in the name of a row. If the logs of one side never state such a condition, its rows are still compared with rows of the other side.
STATED = ("transport", "data_path", "type", "keyed", "publishers", "subscribers")
_NAMING = ("participant", *STATED)
# if not stated, the network was not changed
NETWORK = ("network_loss_percent", "network_delay_ns", "network_jitter_ns", "network_bandwidth_bit_per_s")
ACKNOWLEDGED: Basis = "pub-to-ack"  # the basis of latencies that end when the broker acknowledges the message, and not when it is delivered
_ACKNOWLEDGED_METRICS = ("acknowledged_rate", "acknowledged_goodput")
SETTINGS = "settings"  # the settings of the transport, as a JSON object
SETTING_PREFIX = "setting "  # the prefix of the name of a setting that differs
MACHINE = ("cpu_model", "cores", "memory", "nic", "mtu")
LABELS = "labels"  # all labels of a side, as in the column ``labels``; each label is a separate condition (``label.plugin``)

# A diff compares machines by their hardware (`MACHINE`), not by their names: two machines may have the same hardware.
CONDITIONS: Mapping[str, Condition] = MappingProxyType(
    {
        # Users label runs to distinguish them. A run without a label differs from all runs with this label.
        LABELS: Condition(LABELS, _EVERYWHERE),
        # In a diff, the test is part of a row's name, and the hardware of the machine is compared instead of its name.
        "host": Condition("host", _SERIES, _always),
        "test": Condition("test", _SERIES),
        "definition": Condition("metric_def", _EVERYWHERE, _always),
        "basis": Condition("basis", _EVERYWHERE, lambda row, _: row["metric"] in ("latency", "jitter"), ("latency", "jitter")),
        "load_mode": Condition("load_mode", _EVERYWHERE, lambda _, comparison: comparison == "diff"),
        "reliability": Condition("qos", _DIFF, _always),
        "batch_bytes": Condition("batching", _DIFF, lambda row, _: row["test"] in ("throughput", "demand") and row["load_mode"] == "max-rate"),
        "payload_touched": Condition("payload_touched", _DIFF, lambda row, _: row["data_path"] in ("zero-copy", "pointer")),
        "latency_of": Condition("latency_of", _EVERYWHERE),
        "offered_rate_per_s": Condition(
            "offered_rate", _LOAD, lambda row, comparison: comparison == "diff" and row["load_mode"] in ("open", "paced") and row["test"] != "sustain"
        ),
        "load_share": Condition("load_share", _LOAD),
        "goal": Condition("goal", _DIFF, lambda row, _: row["test"] == "sustain"),
        "recovery_time_ns": Condition("recovery_time", _LOAD, lambda row, comparison: comparison == "diff" and row["test"] == "demand"),
        "instances": Condition("instances", _DIFF, lambda row, _: row["keyed"] is True),
        # An older version may state fewer settings. Its logs can still be compared.
        SETTINGS: Condition("settings", _DIFF),
        "side": Condition("side", _DIFF),
        "waiting": Condition("waiting", _DIFF),
        "tuning": Condition("tuning", _DIFF),
        # In shared memory, latency depends less on the code than on the placement: whether two threads share a core or a cache.
        "placement": Condition("placement", _EVERYWHERE),
        "cpu_model": Condition("cpu_model", _DIFF, _always),
        "cores": Condition("cores_smt", _DIFF, _always),
        "memory": Condition("memory", _DIFF, _always),
        "nic": Condition("nic", _DIFF, _on_network),
        "mtu": Condition("mtu", _DIFF, _on_network),
        "tool": Condition("tool", _DIFF),
        "harness_major": Condition("harness_major", _DIFF, _always),
        "options": Condition("options", _DIFF),
        "participant": Condition("participant", _DIFF),
        "transport": Condition("transport", _DIFF, _always),
        "data_path": Condition("data_path", _DIFF, lambda row, _: row["transport"] is None or _IN_MEMORY.search(row["transport"]) is not None),
        "type": Condition("type", _DIFF),
        "keyed": Condition("keyed", _DIFF),
        "publishers": Condition("publishers", _LOAD),
        "subscribers": Condition("subscribers", _LOAD),
        "topics": Condition("topics", _LOAD),
        "partitions": Condition("partitions", _LOAD),
        "consumer_groups": Condition("consumer_groups", _LOAD),
        # Only these three conditions tell what a broker guarantees with an acknowledgement. A broker that does not wait for disks is faster.
        "acks": Condition("acks", _EVERYWHERE, lambda row, _: row.get("basis") == ACKNOWLEDGED or row["metric"] in _ACKNOWLEDGED_METRICS),
        "durability": Condition("durability", _EVERYWHERE),
        "replication_factor": Condition("replication", _EVERYWHERE),
        **{name: Condition(name.rsplit("_", 1)[0].removesuffix("_bit_per"), _EVERYWHERE) for name in NETWORK},
        "bytes_moved": Condition("bytes_moved", _SERIES, metrics=("goodput",)),
        # If a document has a column for each operating system, the columns may come from different machines.
        "operating_system": Condition("operating_system", _SERIES),
        # A campaign measures its transports in turns within the same hour. The difference between two campaigns may be larger than the difference
        # between two transports. If two campaigns were ranked together, the transport with more runs in the faster campaign would win.
        "campaign": Condition("campaign", _RANKING),
        # A rate of batched messages cannot be compared with a rate of single messages. The two rates are also measured at different sizes.
        "batched": Condition("batched", _RANKING),
    }
)
CODES: Mapping[str, str] = MappingProxyType({name: condition.code for name, condition in CONDITIONS.items()})


class Judgement(NamedTuple):
    """The conditions that differ, the needed conditions that are not stated (``unverified``), and machines with different names.

    If there are unverified conditions, a diff does not test the row, but compares single values. A ratio or a ranking is refused.
    """

    different: tuple[Difference, ...]
    unverified: tuple[str, ...]
    machines: tuple[Difference, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether a ratio or a ranking of the two sides would be meaningless."""
        return bool(self.different or self.unverified)


def judge(
    old: Conditions, new: Conditions, across: Collection[str] = (), comparison: ComparisonKind = "diff", only: Collection[str] = ()
) -> Judgement:
    """Compare the conditions of two cells or series.

    Two runs with the same host file were made on the same machine, even if the file is incomplete.

    Args:
        old: the conditions of one side. They contain ``metric`` and all conditions to judge. For a diff, they also contain ``host``, ``machine`` and
            ``test``.
        new: the conditions of the other side.
        across: conditions that may differ; a label is written as ``label.plugin``.
        comparison: the kind of comparison.
        only: the names of the conditions to judge. If there are none, the conditions that `asked` returns are judged.
    """
    same_host = old.get("host") is not None and old.get("host") == new.get("host")
    fields = [field for field in only or asked(comparison, old["metric"]) if not (field in across or (field in MACHINE and "host" in across))]
    different = [difference for field in fields for difference in _differences(field, old, new, comparison, across)]
    open_fields = [field for field in fields if old[field] is None or new[field] is None]
    unverified = [
        CODES[field]
        for field in open_fields
        if not (same_host and field in MACHINE) and (_is_needed(field, old, comparison) or _is_needed(field, new, comparison))
    ]
    if comparison == "diff":
        machines = (Difference("host", old["machine"], new["machine"]),) if old["machine"] != new["machine"] else ()
        return Judgement(tuple(different), tuple(unverified), machines)
    return Judgement(tuple(difference for difference in different if difference.field not in unverified), tuple(unverified))


@lru_cache
def asked(comparison: ComparisonKind, metric: str) -> tuple[str, ...]:
    """Return the conditions that a comparison of a metric checks, in the order in which they are reported."""
    return tuple(name for name, entry in CONDITIONS.items() if comparison in entry.comparisons and (not entry.metrics or metric in entry.metrics))


def unknown(conditions: Conditions, comparison: ComparisonKind) -> tuple[str, ...]:
    """Return the codes of the needed conditions that a side does not state. Such a side cannot be compared with any other."""
    return tuple(
        CODES[name] for name in asked(comparison, conditions["metric"]) if conditions[name] is None and _is_needed(name, conditions, comparison)
    )


def shared(conditions: Conditions, comparison: ComparisonKind) -> tuple[tuple[str, Any], ...]:
    """Return the conditions that must be equal, with their values. Sides with the same result are comparable if no condition is `unknown`."""
    return tuple((name, _compared_value(name, conditions, comparison)) for name in asked(comparison, conditions["metric"]))


def _compared_value(name: str, conditions: Conditions, comparison: ComparisonKind) -> Any:  # noqa: ANN401 - conditions have many types
    # A ranking compares the load share (the share of the highest rate) instead of the offered rate, if the load share is stated.
    if name == "offered_rate_per_s" and comparison == "ranking" and conditions["load_share"] is not None:
        return None
    return conditions[name]


def is_ranked_nowhere(conditions: Conditions) -> bool:
    """Whether no ranking may contain this result, because it is a rate of bytes that were never moved."""
    return bool(conditions["bytes_moved"] == NOT_MOVED)


def _differences(field: str, old: Conditions, new: Conditions, comparison: ComparisonKind, across: Collection[str]) -> Iterator[Difference]:
    """Yield at most one difference; for labels and settings, one for each label or setting that differs."""
    if field == LABELS:
        olds, news = labels_of(old[field]), labels_of(new[field])
        for label in sorted({*olds, *news} - {*across}):
            if olds.get(label) != news.get(label):
                yield Difference(label, olds.get(label), news.get(label))
    elif not _differ(field, _compared_value(field, old, comparison), _compared_value(field, new, comparison), comparison):
        return
    elif field == SETTINGS:
        yield from _shared_settings_that_differ(old, new)
    else:
        yield Difference(CODES[field], as_text(old[field]), as_text(new[field]))


def _shared_settings_that_differ(old: Conditions, new: Conditions) -> Iterator[Difference]:
    """Yield a difference for each setting that both sides have, but with different values.

    Settings that only one side has are left out, because other transports and older versions may lack them. `compare.profiles` names the settings
    that are left out.
    """
    olds, news = (settings_of(side[SETTINGS]) for side in (old, new))
    for name in sorted(olds.keys() & news.keys()):
        if olds[name] != news[name]:
            yield Difference(f"{SETTING_PREFIX}{name.replace('_', '-')}", olds[name], news[name])


def settings_of(text: str | None) -> Mapping[str, str]:
    """Return the settings of a transport by name; empty if they are not stated. A text that is not JSON becomes one setting with an empty name."""
    try:
        settings = msgspec.json.decode(text or "{}", type=dict[str, Any])
    except msgspec.DecodeError:
        return {"": text or ""}
    return {name: str(value) for name, value in settings.items()}


def _is_needed(field: str, conditions: Conditions, comparison: ComparisonKind) -> bool:
    return CONDITIONS[field].needed(conditions, comparison)


def _differ(field: str, old: object, new: object, comparison: ComparisonKind) -> bool:
    """Whether the values of a condition differ.

    If only one side of a diff states the condition, the values differ only if the condition is part of the name of a row.
    """
    if field in NETWORK:
        return (old or None) != (new or None)
    # Logs of older versions state no placement.
    tolerates_unstated = comparison == "diff" or (comparison == "ratio" and field == "placement")
    is_decidable = (old is not None and new is not None) or field in _NAMING or not tolerates_unstated
    return is_decidable and old != new


def as_text(value: object) -> str | None:
    """Return a condition as text; ``None`` if it is not stated."""
    if value is None:
        return None
    return f"{value:g}" if isinstance(value, float) else str(value)
