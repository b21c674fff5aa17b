"""Names of series, of tables, and of the rows of tables and diffs.

A name states in words the conditions that distinguish a series, table or row from its neighbours.

Pages, legends, comparisons and the command line all use these names, so that two different things never have the same name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from tacholog.compare.comparable import ACKNOWLEDGED, settings_of
from tacholog.compare.result import RowKey
from tacholog.runs.conditions import options_words
from tacholog.runs.labels import CONTROL, is_label, label_fields, label_name, labels_of
from tacholog.schema.conditions import CONDITIONS
from tacholog.schema.metrics import METRICS
from tacholog.schema.tables import title
from tacholog.view.numerals import NOT_STATED, grouped, quantity, size

_SHOWN_LAST = ("definition", "planned_duration_s", "warmup", "basis", "load_mode", "campaign", "options", "settings", "build")
_REPEATS_VERSION = ("release", "tool", "tool_version")  # usually equal to the system's version
_MOST_IN_A_HEADING = 60  # characters: a column of a table has room for about twelve in a line
_ALWAYS_NAMED = ("basis", CONTROL)  # a short name states them too: an acknowledgement is no delivery, and a control is no subject
_COMMIT_SHOWN = 7
# A name is repeated for each number of a table. Without this limit, names of a megabyte, from manifests with many options, would take gigabytes.
_MOST_CHARACTERS = 2000
_SIDES = {"publisher": "at the publisher", "subscriber": "at the subscriber", "both": "both sides"}

#: What a latency covers, in words. Half of a round trip is never called one way, and an acknowledgement is no delivery.
BASIS_WORDS = {"rtt": "round trip", "rtt/2": "half round trip", "one-way": "one way", "pub-to-ack": "publish to acknowledgement"}

_SYSTEM = re.compile(r"windows|win\s?\d|ubuntu|debian|linux|macos|freebsd|qnx", re.IGNORECASE)

#: The conditions that pages show, and that distinguish series. The reach follows from the transport, and its settings are shown together with those
#: of the campaign.
SHOWN_CONDITIONS = frozenset(CONDITIONS) - {"reach", "settings"}

_LABELS = "labels"
_YES = " yes"  # For a label with this value, its name alone is enough.
Parts = Sequence[tuple[str, object]]


def row_names(rows: Sequence[Mapping[str, object]], but: str = "") -> list[str]:
    """Return the name of each row: the fewest conditions that distinguish it from the others; an empty text for a single row.

    Args:
        rows: the known values of each row, by the names of conditions. All rows have the same keys.
        but: a condition to leave out, because it is shown elsewhere.
    """
    return made_different([joined_or_unstated(parts) for parts in told_apart(rows, but)], rows)


def made_different(names: Sequence[str], rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the names, with words added to equal names until they differ.

    The words are the run or the definition of the row. If names are still equal, conditions that only some of the rows state are added, and then
    numbers.
    """
    different = list(names)
    for alike in _indices_of_equal_names(different):
        origins = [_origin(rows[index]) for index in alike]
        if len({*origins}) > 1:
            for index, origin in zip(alike, origins, strict=True):
                different[index] = f"{different[index]} ({origin})".strip()
    for alike in _indices_of_equal_names(different):
        alike_rows = with_each_label([rows[index] for index in alike])
        unsaid = [name for name in differing(alike_rows) if any(row[name] is None for row in alike_rows)]
        for index, row in zip(alike, alike_rows, strict=True):
            different[index] = ", ".join(filter(None, [different[index], *(unstated(name) for name in unsaid if row[name] is None)]))
    for alike in _indices_of_equal_names(different):
        for number, index in enumerate(alike, start=1):
            different[index] = f"{different[index]} ({number} of {len(alike)})".strip()
    return different


def _indices_of_equal_names(names: Sequence[str]) -> list[list[int]]:
    indices: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        indices.setdefault(name, []).append(index)
    return [alike for alike in indices.values() if len(alike) > 1]


def told_apart(rows: Sequence[Mapping[str, object]], but: str = "") -> list[list[tuple[str, object]]]:
    """Return, for each row, the fewest conditions that distinguish this row. One condition, ``but``, is left out, because it is shown elsewhere.

    If some rows are times to an acknowledgement and others are not, each row states its basis: nobody may take an acknowledgement for a delivery.
    """
    rows = with_each_label(rows)
    different = sorted(differing(rows), key=lambda name: name in _SHOWN_LAST)
    full = [[(name, row[name]) for name in different] for row in rows]
    is_basis_named = "basis" in different and any(row["basis"] == ACKNOWLEDGED for row in rows)
    used = (_fewest_conditions(full) | ({"basis"} if is_basis_named else set())) - {but}
    return [[(name, value) for name, value in parts if name in used] for parts in full]


def headings(rows: Sequence[Mapping[str, object]], names: Sequence[str]) -> Sequence[str]:
    """Return names for the columns of a table: the full ``names`` of the rows, or short names if a full name is too long for a column.

    If several conditions differ together, so that each of them distinguishes the same rows, a short name states only one of them: the first one that
    all rows state. If short names would be equal or empty, the result is ``names``.
    """
    if max(map(len, names), default=0) <= _MOST_IN_A_HEADING:
        return names
    conditions = [_with_each_option(parts) for parts in told_apart(rows)]
    values = {name: [row.get(name) for row in conditions] for row in conditions for name in row}
    together: dict[tuple[int, ...], list[str]] = {}
    for name, of_rows in values.items():
        together.setdefault(tuple(map(of_rows.index, of_rows)), []).append(name)
    firsts = {next((name for name in alike if None not in values[name]), alike[0]) for pattern, alike in together.items() if any(pattern)}
    used = [name for name in values if name in firsts or name in _ALWAYS_NAMED]
    brief = [joined([(name, row.get(name)) for name in used]) for row in conditions]
    return brief if all(brief) and len({*brief}) == len(brief) else names


def _with_each_option(parts: Parts) -> dict[str, object]:
    """Return conditions by name. Each option of a campaign is a condition of its own, whose value is its words."""
    conditions = dict(parts)
    options = json.loads(str(conditions.pop("options", None) or "{}"))
    return conditions | {f"options.{name}": words("options", json.dumps({name: value})) for name, value in options.items()}


def differing(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the conditions that differ between rows. Each label is a condition of its own (``label.plugin``)."""
    rows = with_each_label(rows)
    return [name for name in rows[0] if name != "run" and len({row[name] for row in rows}) > 1] if rows else []


def with_each_label(rows: Sequence[Mapping[str, object]]) -> Sequence[Mapping[str, object]]:
    """Return the rows with one entry for each label in any of them (``label.plugin``), instead of one entry for all labels."""
    texts = [_text_of(row) for row in rows]
    fields = label_fields(texts)
    if not fields:
        return rows
    return [_with_separate_labels(row, {field: labels_of(text).get(field) for field in fields}) for row, text in zip(rows, texts, strict=True)]


def _text_of(row: Mapping[str, object]) -> str | None:
    text = row.get(_LABELS)
    return text if isinstance(text, str) else None


def _with_separate_labels(row: Mapping[str, object], labels: Mapping[str, object]) -> dict[str, object]:
    return {name: value for key in row for name, value in (labels.items() if key == _LABELS else ((key, row[key]),))}


def joined(parts: Parts) -> str:
    """Return conditions in words, without the unknown conditions."""
    return ", ".join(filter(None, (words(name, value) for name, value in parts)))


def joined_or_unstated(parts: Parts) -> str:
    """Return the known conditions in words. If all conditions are unknown, return which labels are not stated, so that the name is not empty."""
    return joined(parts) or ", ".join(unstated(name) for name, _ in parts if is_label(name))


def _fewest_conditions(full: Sequence[Sequence[tuple[str, object]]]) -> set[str]:
    names = [name for name, _ in full[0]] if full else []
    used = set(names)
    for name in (name for name in reversed(names) if name in (*_SHOWN_LAST, *_REPEATS_VERSION)):
        fewer = used - {name}
        # An unknown value distinguishes nothing, because names omit it. A missing label distinguishes rows, because names state its absence.
        distinct = {tuple((n, v) for n, v in parts if n in fewer and (v is not None or is_label(n))) for parts in full}
        if len(distinct) == len(full):
            used = fewer
    return used


def _origin(row: Mapping[str, object]) -> str:
    return str(row.get("run") or row.get("definition") or row.get("release") or "own")


def _cut(text: str) -> str:
    """Return a text that is short enough for a name.

    If a text is too long, its end is replaced by a digest. The digest distinguishes the text from other texts with the same beginning.
    """
    if len(text) <= _MOST_CHARACTERS:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{text[:_MOST_CHARACTERS]}... (digest {digest[:_COMMIT_SHOWN]})"


def words(name: str, value: object) -> str:
    """Return the words that state a condition in a name. Return an empty text if the value of the condition is unknown."""
    if value is None:
        return ""
    if is_label(name):
        return unstated(name) if value == NOT_STATED else "control run" if name == CONTROL else f"{label_name(name)} {value}".removesuffix(_YES)
    in_words = _WORDS.get(name)
    return _cut(in_words(value) if in_words else str(value))


def unstated(name: str) -> str:
    """Return the words for a condition that is unknown, such as "plugin not stated".

    A name has these words only if it needs them, for example because it has no other words. For a missing label of controls, the words are
    "measured runs".
    """
    return "measured runs" if name == CONTROL else f"{condition_name(name)} {NOT_STATED}"


def condition_name(name: str) -> str:
    """Return the name of a condition in running text: ``data path``, or ``plugin`` for a label."""
    return label_name(name) if is_label(name) else title(name)


def value_words(name: str, value: object) -> str:
    """Return the words for the value of a condition, to be shown beside `condition_name`; an empty text if the value is unknown."""
    return str(value) if is_label(name) and value is not None else words(name, value).removeprefix(f"{condition_name(name)} ")


def participant_title(name: object) -> str:
    """Return what a text calls a participant: "operating system" if the name begins like that of such a system, else "participant"."""
    return "operating system" if _SYSTEM.match(str(name or "")) else "participant"


def with_system(system: str, transport: str) -> str:
    """Return the names of a system and a transport, or one name if they are equal: ``iceoryx`` and not ``iceoryx, iceoryx``."""
    return system if transport.casefold() == system.casefold() else f"{system}, {transport}"


def build_words(build: str) -> str:
    """Return a commit in short form, with a note if its sources had been changed."""
    commit, dirty, _ = build.partition("-dirty")
    return f"{commit[:_COMMIT_SHOWN]} with uncommitted changes" if dirty else commit[:_COMMIT_SHOWN]


def option_title(name: str) -> tuple[str, str]:
    """Return the name of a campaign's option and the unit of its value: ``warmup_s`` is the warm-up, in seconds."""
    stem, _, unit = name.rpartition("_")
    has_unit = unit in _OPTION_UNITS and bool(stem)
    words = (stem if has_unit else name).replace("_", " ")
    return words.replace("warmup", "warm-up"), f" {unit}" if has_unit else ""


def settings_words(text: str) -> str:
    """Return settings in words, from a JSON object or from the list of a series (``nagle off, warmup_s 0.1``)."""
    settings = settings_of(text)
    pairs = [part.partition(" ")[::2] for part in settings[""].split(", ")] if "" in settings else settings.items()
    return ", ".join(f"{words} {_SETTINGS_IN_WORDS.get(value, value)}{unit}".strip() for name, value in pairs for words, unit in [option_title(name)])


def _number(value: object) -> float:
    return float(str(value))


def _count(singular: str) -> Callable[[object], str]:
    return lambda value: f"{grouped(_number(value))} {singular}" + ("" if value == 1 else "s")


_OPTION_UNITS = ("s", "ms", "us", "ns")  # the endings of option names that state a unit
_SETTINGS_IN_WORDS = {"library": "library default"}  # the value that adapters print if a setting is left to the library
_PLACEMENTS = {
    "one-cpu": "on one CPU",
    "siblings": "on two threads of one core",
    "shared-cache": "on two cores with a shared cache",
    "one-node": "on two cores without a shared cache",
    "two-nodes": "on two NUMA nodes",
    "two-hosts": "on two machines",
    "mixed": "on CPUs at different distances",
    "unpinned": "not pinned to CPUs",
}
_TOUCHED = {"none": "payload not touched", "write": "payload written", "write+read": "payload written and read"}
_DURABILITY = {"memory": "in memory", "page-cache": "in the page cache", "disk": "on disk"}
_WORDS: dict[str, Callable[[object], str]] = {
    "keyed": lambda value: "keyed" if value else "unkeyed",
    "instances": _count("instance"),
    "publishers": _count("publisher"),
    "subscribers": _count("subscriber"),
    "topics": _count("topic"),
    "partitions": _count("partition"),
    "consumer_groups": _count("consumer group"),
    "acks": lambda value: f"acks {value}",
    "durability": lambda value: f"copies {_DURABILITY[str(value)]}",
    "replication_factor": lambda value: f"replication {value}",
    "payload_touched": lambda value: _TOUCHED[str(value)],
    "tuning": lambda value: "no tuning" if value == "none" else f"tuned: {value}",
    "placement": lambda value: _PLACEMENTS[str(value)],
    "demand": lambda value: f"demand {value}",
    "offered_rate_per_s": lambda value: f"{quantity(_number(value), 'messages_per_s')} offered",
    "load_share": lambda value: f"at {100 * _number(value):g}\N{NO-BREAK SPACE}% of the highest rate of each",
    "goal": lambda value: f"goal {value}",
    "recovery_time_ns": lambda value: f"recovery {quantity(_number(value), 'ns')}",
    "batch_bytes": lambda value: f"batches of {size(_number(value))}" if _number(value) else "no batches",
    "planned_duration_s": lambda value: f"{_number(value):g} s each",
    "link_bit_per_s": lambda value: f"{quantity(_number(value), 'bit_per_s')} link",
    "network_loss_percent": lambda value: f"{_number(value):g}\N{NO-BREAK SPACE}% network loss",
    "network_delay_ns": lambda value: f"network delay {quantity(_number(value), 'ns')}",
    "network_jitter_ns": lambda value: f"network jitter {quantity(_number(value), 'ns')}",
    "network_bandwidth_bit_per_s": lambda value: f"network of {quantity(_number(value), 'bit_per_s')}",
    "published": lambda value: "published" if value else "own run",
    "side": lambda value: _SIDES.get(str(value), str(value)),
    "system_version": lambda value: f"version {value}",
    "tool_version": lambda value: f"tool {value}",
    "release": lambda value: f"release {value}",
    "campaign": lambda value: f"campaign {value}",
    "options": lambda value: options_words(str(value), option_title),
    "settings": lambda value: settings_words(str(value)),
    "build": lambda value: f"build {build_words(str(value))}",
    "host": lambda value: str(value) if str(value).startswith("host") else f"host {value}",
    "basis": lambda value: BASIS_WORDS.get(str(value), str(value)),
}


NOT_LOADED = "Under load it was not measured."


def load_words(modes: Iterable[object], *, has_latency: bool = True, loaded: str = NOT_LOADED) -> str:
    """Return a sentence on whether the system was loaded.

    ``modes`` are the load modes of all latencies; if there are no latencies, ``modes`` are the load modes of all rates. ``loaded`` is a sentence that
    is appended if each known load mode means one message at a time.
    """
    all_modes = set(modes)
    if not all_modes:
        return ""
    if not has_latency and all_modes - {None}:
        return "These are rates: the system was loaded."
    is_loaded, is_unloaded = bool(all_modes - {None, "closed"}), "closed" in all_modes
    if is_loaded and is_unloaded:
        return "Some latencies are those of one message at a time, others those of a loaded system: each series states its load."
    if is_loaded:
        return "Latency was measured under load: the next message did not wait for an answer."
    if is_unloaded:
        unknown = " Some sources do not state the load." if None in all_modes else ""
        return f"Latency is that of one message at a time. {loaded}{unknown}"
    return "The source does not state whether the system was loaded."


_OF_LATENCY = ("latency", "jitter", "interval_per_message", "send_lateness", "send_call", "serialization", "deserialization")


def row_name(key: RowKey, *, with_system: bool = False, but: Collection[str] = ()) -> str:
    """Return the name of a row of a diff or of a history: metric, statistic, and conditions.

    Args:
        key: the row.
        with_system: whether to name the system.
        but: the words of `apart_words` that the name does not contain, because these words are shown elsewhere.
    """
    statistic = "" if key.statistic == "total" else f" {key.statistic}"
    peers = f"{key.publishers or '?'}:{key.subscribers or '?'}" if (key.publishers or 1, key.subscribers or 1) != (1, 1) else None
    keyed = None if key.keyed is None else "keyed" if key.keyed else "unkeyed"
    demand = f"demand {key.demand}" if key.demand else None
    system = key.system if with_system else None
    parts = (
        METRICS[key.metric].words.lower() + statistic,
        system,
        key.transport,
        key.data_path,
        key.type,
        keyed,
        peers,
        key.participant,
        _size_words(key),
        demand,
        *(word for word in apart_words(key) if word not in but),
        f"in a test of {key.test}" if key.test and key.test != _usual_test(key) else None,
    )
    return ", ".join(part for part in parts if part)


def apart_words(key: RowKey) -> list[str]:
    """Return the words that distinguish a row from rows with the same conditions.

    If there are no such words, return words that say which conditions are not stated.
    """
    in_words = [text for field, value in key.apart if (text := words(field, value))]
    return in_words or [unstated(field) for field, _ in key.apart]


def _usual_test(key: RowKey) -> str:
    """Return the test that usually measures the metric of a row.

    The name of a row states the test of the row only if this test is not the usual one.
    """
    if key.metric == "sustained_rate":
        return "sustain"
    return "latency" if key.metric in _OF_LATENCY else "demand" if key.demand else "throughput"


def _size_words(key: RowKey) -> str | None:
    if key.payload_bytes is None:
        return None
    return size(key.payload_bytes) if key.payload_bytes_high is None else f"{size(key.payload_bytes)} to {size(key.payload_bytes_high)}"
