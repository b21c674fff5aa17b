"""The privacy classes: which fields may be published, and what is published instead of a value.

Publishing works by an allow-list. The schema declares the class of each condition and of each column (`tacholog.schema.columns.PrivacyClass`); this
module declares the classes of the fields of manifests and hosts. A field without a class is not published, and `tests/report/test_classes.py` fails.

- ``public``: the value is shown. Known names in it are replaced nevertheless, and so are parts that look like an address, a folder or a secret.
- ``name``, ``address``, ``path``: a pseudonym replaces the whole value.
- ``free text``: a person wrote it. Numbers and public words are shown, all other words are masked (`tacholog.privacy.redactor`).
- ``never``: the value stays on the machine that builds the site.
- ``nested``: a struct whose fields have separate classes.
- ``open``: a table whose keys people choose. Known keys have a class; all other keys and their values are free text. Labels are an exception: their
  names and values appear in the names of rows and pages, like the name of a system, so all labels are public.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from tacholog.privacy.native_log import PUBLIC_SETTINGS
from tacholog.privacy.redactor import Redactor
from tacholog.runs.disturbance import Limits
from tacholog.runs.labels import labels_text
from tacholog.runs.manifest import Command, Host, LabelName, LabelValue, LogFile, Manifest, Readiness, Source
from tacholog.runs.problems import is_altered_reason
from tacholog.schema.columns import PrivacyClass
from tacholog.schema.conditions import STATED_CONDITIONS, StatedConditions


def _all(class_: PrivacyClass, names: str) -> dict[str, PrivacyClass]:
    return dict.fromkeys(names.split(), class_)


CLASSES: Mapping[type[msgspec.Struct], Mapping[str, PrivacyClass]] = {
    Manifest: {
        **_all(
            "public", "schema system system_version tool tool_version release published status start_time repetition order_index campaign seed clocks"
        ),
        **_all("name", "host session"),
        **_all("free text", "reason notes"),
        **_all("open", "labels options environment"),
        **_all("nested", "conditions commands logs source limits"),
    },
    LogFile: {**_all("public", "file sha256 format side results process"), "participant": "name", "path": "path"},
    Command: {
        **_all("public", "role result machine each name program_sha256 program_version exit_status log ends"),
        "host": "name",
        **_all("free text", "argv prefix program"),
        "ready": "nested",
    },
    Readiness: {**_all("public", "port seconds"), "output": "free text"},
    Source: {**_all("public", "sha256 lines retrieved"), **_all("free text", "document title publisher"), "url": "address"},
    Host: {
        **_all("public", "published"),
        "name": "name",
        **_all("free text", "kind source notes"),
        **_all("open", "cpu memory storage network system"),
    },
    Limits: _all("public", "steal_percent other_load"),
    StatedConditions: {name: column.privacy for name, column in STATED_CONDITIONS.items()},
}
# `VERSIONS` are the fields that contain a version: four numbers in such a field are not an address.
# `_DIGESTS` are the fields that contain a digest: a digest looks like a secret, but is not a secret.
VERSIONS = frozenset(("program_version", "system_version", "tool_version", "build"))
_DIGESTS = frozenset(("sha256", "program_sha256"))
# These names become parts of URLs. Links must stay valid, so as little as possible is replaced: only known names and addresses.
IDENTIFIERS = frozenset(("run", "log", "file"))
_DIGEST = re.compile(r"[0-9a-f]{64}")

LABELS = "labels"
REPLACED = "replaced"  # This word replaces a redacted text that the field would not accept.
_LABEL_NAME, _LABEL_VALUE = 64, 200  # A manifest allows at most this many characters in the name and in the value of a label.
_LABEL_NAME_KEPT, _LABEL_VALUE_KEPT = 58, 190  # These limits are shorter: they leave space for a number at the end.

# The keys that our own harness and `tacholog host` write, and the options of this project's campaigns.
OPEN: Mapping[str, Mapping[str, PrivacyClass]] = {
    LABELS: {},
    "options": _all(
        "public",
        "sizes_bytes payload_bytes duration_s warmup_s touch transport batch_bytes reliability rate_per_s demand demands recovery_time_ms instances"
        " publishers subscribers waiting load_mode basis probe_every verify test keyed data_path goal latency_goal trial_s",
    ),
    "settings": _all("public", PUBLIC_SETTINGS),
    "environment": _all(
        "public",
        "governor turbo idle_states transparent_huge_pages cgroup_cpus tacholog_python harness_affinity harness_git harness_dirty program_sha256"
        " cpu_pub cpu_sub link_mtu link_nic"
        " load1_before load5_before load15_before mhz_before throttled_before load1_after load5_after load15_after mhz_after throttled_after"
        " steal_percent_before steal_percent_during steal_percent_after other_load_before other_load_during other_load_after",
    ),
    "cpu": _all(
        "public",
        "model sockets cores threads cache cache_l1d cache_l1i cache_l2 cache_l3 cache_l4 numa_nodes microcode governor min_mhz max_mhz turbo"
        " idle_driver idle_states isolated clock",
    ),
    "memory": _all("public", "size huge_pages transparent_huge_pages dev_shm modules channels"),
    "storage": _all("public", "disk"),
    "network": _all("public", "loopback_mtu nic switch net.core.rmem_max net.core.wmem_max net.core.rmem_default net.core.wmem_default"),
    "system": _all("public", "kernel distribution architecture virtualisation cgroup_cpus mitigations clocksource libc compiler"),
}
# The names that the kernel gives to network cards. A name that contains the hardware address of the card (enx...) is not public.
_INTERFACE = re.compile(r"(?:eth|wlan|ib|eno|ens|enp|wlp)\d[\da-z]{0,9}")
_OPTION = re.compile(r"--?[A-Za-z][A-Za-z_-]{0,40}")
NESTED: Mapping[str, type[msgspec.Struct]] = {
    "conditions": StatedConditions,
    "limits": Limits,
    "commands": Command,
    "logs": LogFile,
    "source": Source,
    "ready": Readiness,
}


def published_manifest(manifest: Manifest, redactor: Redactor) -> Manifest:
    """Return a manifest in the form that the pages of its run may show."""
    return msgspec.convert(_struct(msgspec.to_builtins(manifest), Manifest, redactor), Manifest)


def with_published_labels(published: Manifest, labels: Mapping[str, str], redactor: Redactor) -> Manifest:
    """Return a published manifest with these labels in redacted form.

    Different labels have different redacted forms, in all runs.
    """
    return msgspec.structs.replace(published, labels=_labels(labels, redactor))


def published_host(host: Host, redactor: Redactor) -> Host:
    """Return a machine in the form that its page may show."""
    return msgspec.convert(_struct(msgspec.to_builtins(host), Host, redactor), Host)


def published_text(text: str, field: str, class_: PrivacyClass, redactor: Redactor) -> str | None:
    """Return the text of a field in the form that may be shown; ``None`` if the field is never published."""
    if class_ == "public":
        if field in _DIGESTS and _DIGEST.fullmatch(text):
            return text
        if field in VERSIONS:
            return redactor.version(text)
        return redactor.identifier(text) if field in IDENTIFIERS else redactor.text(text)
    if class_ == "free text":
        return text if is_altered_reason(text) else redactor.free(text)
    if class_ == "name":
        kind: Any = {"session": "session", "participant": "participant"}.get(field, "host")
        return redactor.name(redactor.identifier(text) if kind != "host" else text, kind)
    if class_ in ("address", "path"):
        return redactor.name(text, class_)
    return _open_text(text, field, redactor) if class_ == "open" else None


def is_unchanged(text: str, field: str, class_: PrivacyClass, redactor: Redactor) -> bool:
    """Whether `published_text` returns this text unchanged in every run, without assigning a number to it.

    If this is not certain, return ``False``.
    """
    if class_ == "public":
        return bool(field in _DIGESTS and _DIGEST.fullmatch(text)) or (field not in IDENTIFIERS and redactor.is_harmless(text))
    return class_ == "free text" and (is_altered_reason(text) or redactor.is_harmless_free(text))


def _open_text(text: str, table: str, redactor: Redactor) -> str:
    """Return a table of a manifest in redacted form. ``text`` is the table as JSON.

    Different tables have different redacted forms, because readers distinguish runs by these tables.
    """
    try:
        entries = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:  # people may write anything into this table of a manifest
        return redactor.free(text)
    if table == LABELS:
        return labels_text(_labels(entries, redactor)) or text
    published = _with_distinct_keys(_entry(table, key, value, redactor) for key, value in entries.items())
    if json.dumps(published, ensure_ascii=False) == text:
        return text
    return json.dumps(_with_distinct_keys([*published.items(), ("variant", redactor.variant(text))]), ensure_ascii=False)


def _labels(labels: Mapping[str, str], redactor: Redactor) -> dict[str, str]:
    """Return the labels with redacted names and values. Different labels stay different, because labels distinguish runs."""
    published: dict[str, str] = {}
    numbered = _Numbering()
    for name, value in labels.items():
        valid_name = _valid(redactor.identifier(name)[:_LABEL_NAME], name, LabelName)
        text = redactor.text(value)
        text = value if text == value else text[:_LABEL_VALUE_KEPT]
        key = valid_name if valid_name not in published else numbered.free(f"{valid_name[:_LABEL_NAME_KEPT]}-", published)
        published[key] = _valid(redactor.distinct(text, value)[:_LABEL_VALUE], value, LabelValue)
    return published


def _struct(fields: Mapping[str, Any], kind: type[msgspec.Struct], redactor: Redactor) -> dict[str, Any]:
    published: dict[str, Any] = {}
    for name, value in fields.items():
        class_ = CLASSES[kind].get(name, "never")
        if class_ == "nested":
            inner = NESTED[name]
            is_list = isinstance(value, (list, tuple))
            published[name] = [_struct(item, inner, redactor) for item in value] if is_list else _struct(value, inner, redactor)
        elif name == LABELS:
            published[name] = _labels(value, redactor)
        elif class_ == "open" and isinstance(value, dict):
            published[name] = _with_distinct_keys(_entry(name, str(key), entry, redactor) for key, entry in value.items())
        elif name in ("argv", "prefix"):
            published[name] = [_argument(word, redactor) for word in value]
        elif class_ != "never":
            text = _value(value, name, class_, redactor)
            published[name] = text if name not in _limited_fields(kind) else _valid(text, value, _limited_fields(kind)[name])
    return published


@lru_cache
def _limited_fields(kind: type[msgspec.Struct]) -> Mapping[str, Any]:
    """Return the type hints of the fields that accept only some texts, such as texts of limited length."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in hints.items() if any(isinstance(part, msgspec.Meta) or get_origin(part) is Literal for part in _parts(hint))}


def _parts(hint: Any) -> Iterator[Any]:  # noqa: ANN401 - any annotation
    yield hint
    yield from getattr(hint, "__metadata__", ())
    for part in get_args(hint):
        if not isinstance(part, str):
            yield from _parts(part)


def _valid(redacted_value: Any, value: Any, hint: Any) -> Any:  # noqa: ANN401 - whatever the field holds
    """Return a value that the field accepts, so that a redacted manifest is always valid."""
    try:
        return msgspec.convert(redacted_value, hint)
    except msgspec.ValidationError:
        is_word = any(get_origin(part) is Literal for part in _parts(hint))  # The words that the schema allows contain no names.
        return value if is_word else REPLACED


def _entry(table: str, key: str, value: object, redactor: Redactor) -> tuple[str, Any]:
    machine, dot, fact = key.partition(".")
    # In an environment, ``b.governor`` is the governor of machine ``b`` of the campaign.
    if table == "environment" and dot and fact in OPEN[table]:
        shown_fact, text = _entry(table, fact, value, redactor)
        return f"{redactor.free(machine)}.{shown_fact}", text
    known_class = OPEN[table].get(key) or ("public" if table == "network" and _INTERFACE.fullmatch(key) else None)
    # The value of an option is free text, whatever the name of the option is.
    class_: PrivacyClass = "free text" if known_class is None or table == "options" else known_class
    # An unknown key may be a name, so it is masked too.
    return (key if known_class else redactor.free(key), _value(value, key, class_, redactor))


def _with_distinct_keys(entries: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a table with all of these entries.

    Masking may have made several keys equal. Such keys get numbers, so that no entry is lost.
    """
    table: dict[str, Any] = {}
    numbered = _Numbering()
    for key, value in entries:
        table[key if key not in table else numbered.free(f"{key} ", table)] = value
    return table


class _Numbering:
    """Appends the first unused number to a stem, from 2 on. The last number of each stem is stored, so that no number is tried twice."""

    def __init__(self) -> None:
        self._tried: dict[str, int] = {}

    def free(self, stem: str, used: Container[str]) -> str:
        """Return a name that is not in ``used``: the stem with a number.

        The next call with the same stem continues after this number. Therefore no name may be removed from ``used`` between two calls.
        """
        number = self._tried.get(stem, 1) + 1
        while f"{stem}{number}" in used:
            number += 1
        self._tried[stem] = number
        return f"{stem}{number}"


def _value(value: Any, field: str, class_: PrivacyClass, redactor: Redactor) -> Any:  # noqa: ANN401 - whatever TOML holds
    if isinstance(value, str):
        return published_text(value, field, class_, redactor)
    if isinstance(value, (list, tuple)):
        return [_value(inner, field, class_, redactor) for inner in value]
    if isinstance(value, dict):
        return _with_distinct_keys((redactor.free(str(key)), _value(inner, field, class_, redactor)) for key, inner in value.items())
    return value


def _argument(word: str, redactor: Redactor) -> str:
    """Return an argument of a command in redacted form.

    In an option such as ``--name=value``, the name is public, and the value is free text. All other arguments are free text.
    """
    option, equals, value = word.partition("=")
    if not _OPTION.fullmatch(option):
        return redactor.free(word)
    return f"{redactor.identifier(option)}{equals}{redactor.free(value)}"
