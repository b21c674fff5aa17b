"""What a row, a series, a table, or a row of a diff is called: the conditions that set it apart from the others beside it, in words.

Pages, legends, comparisons and the command line all name things here, so that no two different things stand side by side under one name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence

from tacholog.compare.comparable import settings_of
from tacholog.compare.result import RowKey
from tacholog.runs.conditions import options_words
from tacholog.runs.labels import CONTROL, is_label, label_fields, label_name, labels_of
from tacholog.schema.conditions import CONDITIONS
from tacholog.schema.metrics import METRICS
from tacholog.schema.tables import title
from tacholog.view.numerals import NOT_STATED, grouped, quantity, size

_SHOWN_LAST = ("definition", "planned_duration_s", "warmup", "basis", "load_mode", "campaign", "options", "settings", "build")
_REPEATS_VERSION = ("release", "tool", "tool_version")  # where the system's version says it too
_COMMIT_SHOWN = 7
_MOST_CHARACTERS = (
    2000  # A name stands beside each number of a table: one of a megabyte, as a manifest with all its options can make, takes gigabytes.
)
_SIDES = {"publisher": "at the publisher", "subscriber": "at the subscriber", "both": "both sides"}

BASIS_WORDS = {"rtt": "round trip", "rtt/2": "half round trip", "one-way": "one way"}  # Half of a round trip is never called one way: methodology.

_SYSTEM = re.compile(r"windows|win\s?\d|ubuntu|debian|linux|macos|freebsd|qnx", re.IGNORECASE)

#: The conditions that pages show of numbers, and tell series apart by. The reach follows from the transport, whose settings stand with those of the
#: campaign.
SHOWN_CONDITIONS = frozenset(CONDITIONS) - {"reach", "settings"}

_LABELS = "labels"
_YES = " yes"  # the name of such a label says all
Parts = Sequence[tuple[str, object]]


def row_names(rows: Sequence[Mapping[str, object]], but: str = "") -> list[str]:
    """Return what each of several rows is called: the fewest conditions that tell it from the others; nothing where it is alone.

    Args:
        rows: what is known of each, by the names of conditions; all have the same names.
        but: a condition that stands elsewhere.
    """
    return made_different([joined_or_unstated(parts) for parts in told_apart(rows, but)], rows)


def made_different(names: Sequence[str], rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Return names of which no two are the same: where words do not tell rows apart, the run or the definition that they are of does.

    What only one of them states tells them apart as "not stated", and what nothing does is numbered.
    """
    found = list(names)
    for alike in _alike(found):
        origins = [_origin(rows[place]) for place in alike]
        if len({*origins}) > 1:
            for place, origin in zip(alike, origins, strict=True):
                found[place] = f"{found[place]} ({origin})".strip()
    for alike in _alike(found):
        apart = with_each_label([rows[place] for place in alike])
        unsaid = [name for name in differing(apart) if any(row[name] is None for row in apart)]
        for place, row in zip(alike, apart, strict=True):
            found[place] = ", ".join(filter(None, [found[place], *(unstated(name) for name in unsaid if row[name] is None)]))
    for alike in _alike(found):
        for number, place in enumerate(alike, start=1):
            found[place] = f"{found[place]} ({number} of {len(alike)})".strip()
    return found


def _alike(names: Sequence[str]) -> list[list[int]]:
    """Return the places of the names that stand more than once."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    return [found for found in places.values() if len(found) > 1]


def told_apart(rows: Sequence[Mapping[str, object]], but: str = "") -> list[list[tuple[str, object]]]:
    """Return of each the fewest conditions that tell it from the others, except ``but``, which stands elsewhere."""
    rows = with_each_label(rows)
    different = sorted(differing(rows), key=lambda name: name in _SHOWN_LAST)
    full = [[(name, one[name]) for name in different] for one in rows]
    used = _fewest(full) - {but}
    return [[(name, value) for name, value in parts if name in used] for parts in full]


def differing(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the conditions in which rows differ; of labels each one that differs (``label.plugin``)."""
    rows = with_each_label(rows)
    return [name for name in rows[0] if name != "run" and len({one[name] for one in rows}) > 1] if rows else []


def with_each_label(rows: Sequence[Mapping[str, object]]) -> Sequence[Mapping[str, object]]:
    """Return rows with an entry for each label that any of them has (``label.plugin``), instead of one for all labels of a row together."""
    texts = [_text_of(row) for row in rows]
    fields = label_fields(texts)
    if not fields:
        return rows
    return [_spread(row, {field: labels_of(text).get(field) for field in fields}) for row, text in zip(rows, texts, strict=True)]


def _text_of(row: Mapping[str, object]) -> str | None:
    text = row.get(_LABELS)
    return text if isinstance(text, str) else None


def _spread(row: Mapping[str, object], labels: Mapping[str, object]) -> dict[str, object]:
    """Return the row with its labels in the place where all of them together stood."""
    return {name: value for key in row for name, value in (labels.items() if key == _LABELS else ((key, row[key]),))}


def joined(parts: Parts) -> str:
    """Return conditions in words; nothing of those that are unknown."""
    return ", ".join(filter(None, (words(name, value) for name, value in parts)))


def joined_or_unstated(parts: Parts) -> str:
    """Return conditions in words, as the whole name of something: if all are unknown, which labels it does not have."""
    return joined(parts) or ", ".join(unstated(name) for name, _ in parts if is_label(name))


def _fewest(full: Sequence[Sequence[tuple[str, object]]]) -> set[str]:
    """Leave out conditions that are not needed to tell all series apart, so that labels are short."""
    names = [name for name, _ in full[0]] if full else []
    used = set(names)
    for name in (name for name in reversed(names) if name in (*_SHOWN_LAST, *_REPEATS_VERSION)):
        fewer = used - {name}
        # What is unknown adds no words, so it cannot tell series apart either. A label can: the others have its words.
        distinct = {tuple((n, v) for n, v in parts if n in fewer and (v is not None or is_label(n))) for parts in full}
        if len(distinct) == len(full):
            used = fewer
    return used


def _origin(row: Mapping[str, object]) -> str:
    return str(row.get("run") or row.get("definition") or row.get("release") or "own")


def _cut(text: str) -> str:
    """Return words of bounded length: of long ones the beginning, and a digest that tells them from others that begin alike."""
    if len(text) <= _MOST_CHARACTERS:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{text[:_MOST_CHARACTERS]}... (digest {digest[:_COMMIT_SHOWN]})"


def words(name: str, value: object) -> str:
    """Return a condition as it reads in a name; nothing for what is unknown."""
    if value is None:
        return ""
    if is_label(name):
        return unstated(name) if value == NOT_STATED else "control run" if name == CONTROL else f"{label_name(name)} {value}".removesuffix(_YES)
    in_words = _WORDS.get(name)
    return _cut(in_words(value) if in_words else str(value))


def unstated(name: str) -> str:
    """Return in words that a condition is unknown, for a name that has no other words. Runs without the label of controls are none."""
    return "no control run" if name == CONTROL else f"{label_name(name) if is_label(name) else title(name)} {NOT_STATED}"


def condition_name(name: str) -> str:
    """Return what a condition is called in running text: ``data path``, or ``label plugin``."""
    return f"label {label_name(name)}" if is_label(name) else title(name)


def participant_title(name: object) -> str:
    """Return what a participant is to be called: nobody looks for Windows among participants."""
    return "operating system" if _SYSTEM.match(str(name or "")) else "participant"


def with_system(system: str, transport: str) -> str:
    """Return a transport after its system, or one name where both have the same: ``iceoryx`` and not ``iceoryx, iceoryx``."""
    return system if transport.casefold() == system.casefold() else f"{system}, {transport}"


def build_words(build: str) -> str:
    """Return a commit as people write it, and whether its sources had been changed."""
    commit, dirty, _ = build.partition("-dirty")
    return f"{commit[:_COMMIT_SHOWN]} with uncommitted changes" if dirty else commit[:_COMMIT_SHOWN]


def option_title(name: str) -> tuple[str, str]:
    """Return what an option of a campaign is called, and the unit behind its value: ``warmup_s`` is the warm-up, in seconds."""
    stem, _, unit = name.rpartition("_")
    known = unit in _OPTION_UNITS and bool(stem)
    words = (stem if known else name).replace("_", " ")
    return words.replace("warmup", "warm-up"), f" {unit}" if known else ""


def settings_words(text: str) -> str:
    """Return settings in words: those of a JSON object, or of a series, where they stand one behind the other (``nagle off, warmup_s 0.1``)."""
    found = settings_of(text)
    pairs = [part.partition(" ")[::2] for part in found[""].split(", ")] if "" in found else found.items()
    return ", ".join(f"{words} {_SETTINGS_IN_WORDS.get(value, value)}{unit}".strip() for name, value in pairs for words, unit in [option_title(name)])


def _number(value: object) -> float:
    return float(str(value))


def _count(one: str) -> Callable[[object], str]:
    return lambda value: f"{grouped(_number(value))} {one}" + ("" if value == 1 else "s")


_OPTION_UNITS = ("s", "ms", "us", "ns")  # at the end of an option's name
_SETTINGS_IN_WORDS = {"library": "library default"}  # adapters call it "library" if a setting is left to the library
_WORDS: dict[str, Callable[[object], str]] = {
    "keyed": lambda value: "keyed" if value else "unkeyed",
    "instances": _count("instance"),
    "publishers": _count("publisher"),
    "subscribers": _count("subscriber"),
    "payload_touched": lambda value: "payload not touched" if value == "none" else f"payload touched ({value})",
    "tuning": lambda value: "no tuning" if value == "none" else f"tuned: {value}",
    "demand": lambda value: f"demand {value}",
    "offered_rate_per_s": lambda value: f"{quantity(_number(value), 'messages_per_s')} offered",
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


_OF_LATENCY = ("latency", "jitter", "interval_per_message", "send_lateness", "send_call", "serialization", "deserialization")


def row_name(key: RowKey, *, with_system: bool = False, but: Collection[str] = ()) -> str:
    """What a row is about: metric, statistic, and the setting.

    Args:
        key: the row.
        with_system: whether to name the system.
        but: words that `apart_words` gives for the row and that stand elsewhere.
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
        _sizes(key),
        demand,
        *(word for word in apart_words(key) if word not in but),
        f"in a test of {key.test}" if key.test and key.test != _tested_by(key) else None,
    )
    return ", ".join(part for part in parts if part)


def apart_words(key: RowKey) -> list[str]:
    """What tells a row from those that are alike in all else; what is not stated is named where nothing else tells it."""
    known = [text for field, value in key.apart if (text := words(field, value))]
    return known or [unstated(field) for field, _ in key.apart]


def _tested_by(key: RowKey) -> str:
    """The test that a metric is expected in: another one is named."""
    if key.metric == "sustained_rate":
        return "sustain"
    return "latency" if key.metric in _OF_LATENCY else "demand" if key.demand else "throughput"


def _sizes(key: RowKey) -> str | None:
    """The payload size, or the range of sizes."""
    if key.payload_bytes is None:
        return None
    return size(key.payload_bytes) if key.payload_bytes_high is None else f"{size(key.payload_bytes)} to {size(key.payload_bytes_high)}"
