"""The conditions: how something was measured.

One line of `Conditions` declares a condition: its name, its values, its unit, its meaning and whether it may be published. Everything else is derived
from that line: the column of the results and its dtype, the checks, the headers of the CSV files, the JSON Schema, the tables of the docs and of the
site, and the privacy class.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_type_hints

import msgspec

from tacholog.schema.columns import PrivacyClass, SchemaColumn, kind_of, plain_types, words_of

DataPath = Literal["copy", "flat-data", "zero-copy", "pointer"]
Touched = Literal["none", "write", "write+read"]
Reliability = Literal["reliable", "best-effort"]
LoadMode = Literal["closed", "open", "max-rate", "paced"]
Basis = Literal["one-way", "rtt", "rtt/2", "pub-to-ack"]
Durability = Literal["memory", "page-cache", "disk"]
Reach = Literal["process", "host", "network"]
Placement = Literal["one-cpu", "siblings", "shared-cache", "one-node", "two-nodes", "two-hosts", "mixed", "unpinned"]

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Share = Annotated[float, msgspec.Meta(ge=0)]


def _about(privacy: PrivacyClass, meaning: str, *, unit: str | None = None, title: str | None = None) -> msgspec.Meta:
    """Return the metadata of a condition. The arguments have the same meaning as the arguments of `SchemaColumn`.

    The privacy class has no default, because each condition must state its privacy class.
    """
    return msgspec.Meta(title=title, description=meaning, extra={"privacy": privacy, "unit": unit})


class Conditions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How something was measured. A log states some conditions, and the manifest of its run states others; ``None`` means that neither does.

    The order of the fields is the order of the columns in every table.
    """

    transport: Annotated[str | None, _about("public", "What carries the messages: a protocol, shared memory, a queue between threads.")] = None
    reach: Annotated[
        Reach | None,
        _about("public", "How far the transport carries a message: within one process, between the processes of one host, or over a network."),
    ] = None
    data_path: Annotated[
        DataPath | None,
        _about(
            "public",
            "How the payload is handed over: as a copy, in its wire form without serialisation (FlatData), or as a reference (zero copy, pointer).",
        ),
    ] = None
    payload_touched: Annotated[
        Touched | None, _about("public", "Whether the payload was written and read. Otherwise a zero-copy rate counts bytes that never moved.")
    ] = None
    reliability: Annotated[Reliability | None, _about("public", "Whether lost messages are sent again (reliable) or not (best effort).")] = None
    keyed: Annotated[
        bool | None, _about("public", "Whether messages have a key that assigns them to instances of a topic.", title="keyed or not")
    ] = None
    instances: Annotated[Count | None, _about("public", "How many instances a keyed topic has.", unit="instances")] = None
    type: Annotated[str | None, _about("public", "The data type, as the tool calls it.")] = None
    demand: Annotated[Count | None, _about("public", "How many messages are sent in one burst.", unit="messages")] = None
    offered_rate_per_s: Annotated[
        Positive | None, _about("public", "How many messages the publisher tries to send in a second.", unit="messages_per_s", title="offered rate")
    ] = None
    load_share: Annotated[
        Positive | None,
        _about(
            "public",
            "The offered rate as a share of the highest rate that a search of the same campaign found for this transport and size.",
            title="load",
        ),
    ] = None
    goal: Annotated[
        str | None,
        _about("public", "What a search for the highest rate demands of each trial: a statistic of latency, the loss, and which share may miss it."),
    ] = None
    recovery_time_ns: Annotated[
        Count | None,
        _about(
            "public",
            "From the start of one burst to the start of the next; with some tools, the pause between two bursts.",
            unit="ns",
            title="recovery time",
        ),
    ] = None
    batch_bytes: Annotated[
        Count | None, _about("public", "How many bytes of messages are sent together; 0: batching is off.", unit="bytes", title="batching")
    ] = None
    publishers: Annotated[Count | None, _about("public", "How many publishers send at the same time.", unit="publishers")] = None
    subscribers: Annotated[Count | None, _about("public", "How many subscribers receive at the same time.", unit="subscribers")] = None
    topics: Annotated[Count | None, _about("public", "How many topics (subjects, queues) carry the messages.", unit="topics")] = None
    partitions: Annotated[Count | None, _about("public", "Into how many partitions a broker divides each topic.", unit="partitions")] = None
    consumer_groups: Annotated[
        Count | None,
        _about("public", "How many groups of subscribers get each message of a topic once (consumer groups, subscriptions).", unit="groups"),
    ] = None
    acks: Annotated[
        str | None,
        _about(
            "public",
            "Which copies of a message must exist before the broker acknowledges it, in the broker's words: `0`, `1`, `all`, a quorum, `confirm`.",
        ),
    ] = None
    durability: Annotated[
        Durability | None,
        _about(
            "public",
            "Where each copy of a message is when the broker acknowledges it: in memory, in the page cache of the kernel, or on disk (fsync).",
        ),
    ] = None
    replication_factor: Annotated[
        Count | None,
        _about("public", "How many brokers keep a copy of each message.", unit="copies", title="replication"),
    ] = None
    load_mode: Annotated[
        LoadMode | None,
        _about(
            "public",
            "When messages are sent. Closed: the next one after the last answer. Open or paced: on a fixed schedule. Max-rate: as fast as possible.",
            title="load",
        ),
    ] = None
    waiting: Annotated[
        str | None,
        _about(
            "public",
            "How a side waits for the next message: it polls (busy-poll), sleeps until the kernel wakes it (block), or polls first and then sleeps.",
        ),
    ] = None
    settings: Annotated[
        str | None,
        _about("open", "The transport's own settings that were in effect, defaults too, as a JSON object with sorted names."),
    ] = None
    tuning: Annotated[
        str | None,
        _about(
            "public",
            "What the tool requested from the kernel: a real-time priority, locked memory, memory of one NUMA node. none: it requested nothing.",
        ),
    ] = None
    placement: Annotated[
        Placement | None,
        _about(
            "public",
            "What the processors of the two sides share: everything (one-cpu), a core (siblings: its two hardware threads), a cache, a NUMA node, "
            "a machine (two-nodes), or nothing (two-hosts). mixed: not the same for all subscribers. unpinned: a side had several processors.",
        ),
    ] = None
    warmup: Annotated[str | None, _about("public", "What was done before the measurement began.")] = None
    basis: Annotated[
        Basis | None,
        _about(
            "public",
            "What a latency covers: one way, a round trip, a round trip divided by two, or the time until the broker acknowledged (no delivery).",
        ),
    ] = None
    definition: Annotated[
        str | None, _about("public", "The tool's own definition of the metric: who starts the clock, who stops it, and what counts.")
    ] = None
    planned_duration_s: Annotated[
        Positive | None, _about("public", "How long one measurement was planned to take.", unit="s", title="planned duration")
    ] = None
    link_bit_per_s: Annotated[Positive | None, _about("public", "The nominal speed of the network link.", unit="bit_per_s", title="link speed")] = (
        None
    )

    network_loss_percent: Annotated[
        Share | None,
        _about("public", "The share of packets that the network loses on purpose, as set for the test.", unit="percent", title="network loss"),
    ] = None
    network_delay_ns: Annotated[
        Count | None, _about("public", "The delay that was added to the network on purpose, one way.", unit="ns", title="network delay")
    ] = None
    network_jitter_ns: Annotated[
        Count | None, _about("public", "How much the added delay varies, as set for the test.", unit="ns", title="network jitter")
    ] = None
    network_bandwidth_bit_per_s: Annotated[
        Positive | None, _about("public", "The bandwidth that the network was limited to on purpose.", unit="bit_per_s", title="network bandwidth")
    ] = None

    def over(self, other: Conditions) -> Conditions:
        """Return these conditions. Each condition that is ``None`` is replaced by the same condition of ``other``."""
        stated_values = {name: value for name, value in zip(self.__struct_fields__, msgspec.structs.astuple(self), strict=True) if value is not None}
        return msgspec.structs.replace(other, **stated_values) if stated_values else other


class StatedConditions(Conditions, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The conditions that a manifest states for its run, and the message size, which most logs print themselves."""

    payload_bytes: Annotated[Count | None, _about("public", "The payload of a message, as requested from the tool.", unit="bytes")] = None


def _declared(struct: type[Conditions]) -> Mapping[str, SchemaColumn]:
    return MappingProxyType({name: _column_of_hint(hint) for name, hint in get_type_hints(struct, include_extras=True).items()})


def _column_of_hint(hint: Any) -> SchemaColumn:  # noqa: ANN401 - an annotation
    (about,) = hint.__metadata__
    limits = [meta for inner in plain_types(hint) for meta in getattr(inner, "__metadata__", ()) if meta is not about]
    return SchemaColumn(
        kind=kind_of(hint),
        meaning=about.description,
        title=about.title,
        allowed=words_of(hint),
        at_least=next((meta.ge for meta in limits if meta.ge is not None), None),
        above=next((meta.gt for meta in limits if meta.gt is not None), None),
        **about.extra,
    )


#: Each condition as a column of the results, in order.
CONDITIONS: Mapping[str, SchemaColumn] = _declared(Conditions)
#: Each condition that a manifest may state.
STATED_CONDITIONS: Mapping[str, SchemaColumn] = _declared(StatedConditions)
