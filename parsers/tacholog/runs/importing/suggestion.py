"""Suggest patterns for the logs of a folder, from their paths and from the sizes that some of the logs state.

The names of all folders or files of one depth are compared. Text that they have in common stays unchanged. Text that differs is split at the
separators that all names have in common, as in ``Array1k@30_54bw_20loss``. It is not split if two parts always change together, as in
``europe-west2`` and ``asia-east1``. Words for roles become ``{role}``. Days become ``{start_time}``: if a day were a label, each day would get a
separate row. Numbers that differ become ``{repetition}``, ``{participant}``, ``{payload_bytes}`` or another condition, by the words next to them. A
number also becomes ``{repetition}`` if it counts from 0 or 1 without gaps. The file extension of a compressed log is ignored, because a pattern fits
a path with and without it. Other numbers become labels, which are named after the word next to them (``{label.bw}bw``). Text in a name with such
numbers becomes a label in the same way (``rate_{label.rate}-hist_{label.hist}``). Other text becomes labels that the user should name. In the last
step, a number becomes ``{payload_bytes}`` if it is the size that the logs state. A number that is a power of two in all names, such as 64 or 1024,
also becomes ``{payload_bytes}`` if no log contradicts this.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise, takewhile
from typing import Literal, NamedTuple

from tacholog.errors import UnreadableInput
from tacholog.runs.importing.fields import LABEL
from tacholog.runs.importing.patterns import START, UNIT, Disagreement, read_pattern, uncompressed
from tacholog.runs.moments import in_form, is_moment

_TOKEN = re.compile(
    r"(?P<role>(?<![A-Za-z])(?:publisher|pub|client|subscriber|server|sub)(?![A-Za-z]))"
    r"|(?P<day>(?<![0-9])(?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:?[0-9]{2}(?::?[0-9]{2})?Z?)?(?![0-9]))"
    r"|(?P<version>v?[0-9]{1,9}(?:\.[0-9]{1,9}){1,4}(?![0-9]))|(?P<number>[0-9]{1,18})|(?P<word>[A-Za-z]+)|(?P<other>[^A-Za-z0-9])"
)
# A day in the form 27-07-2021, 2021-07-27 or 20210727. A time may follow.
_DATE = re.compile(
    r"(?<![0-9])(?:(?P<day>[0-3][0-9])(?P<point>[-._])[01][0-9](?P=point)(?:19|20)[0-9]{2}|(?:19|20)[0-9]{2}(?P<hyphen>[-._]?)[01][0-9](?P=hyphen)[0-3][0-9])"
    r"(?:(?P<before_time>[-_T ])[0-2][0-9](?P<colon>[-._:]?)[0-5][0-9](?P<seconds>(?P=colon)[0-5][0-9])?(?P<zone>Z)?)?(?![0-9:TZ])"
)
_MONTHS = 12
_VERSION = re.compile(r"v?[0-9]{1,9}(?:\.[0-9]{1,9}){1,4}(?:[-.]?(?:alpha|beta|dev|pre|rc)[-.]?[0-9]{0,9})?", re.IGNORECASE)
_TRANSPORTS = re.compile(r"(?:udp|tcp|tls|shm|shmem|uds|rdma|quic|multicast|ipc)(?:v[46])?", re.IGNORECASE)
_SIZE_WORDS = ("size", "len", "length", "bytes", "payload", "datalen", "b")
_REPETITION_WORDS = (
    *("test", "tests", "run", "runs", "rep", "reps", "repeat", "repetition", "iteration", "iter"),
    *("trial", "round", "try", "attempt", "sample", "pass"),
)
#: From a word to a field: the field of a number that is next to this word.
_NUMBER_WORDS = {
    **dict.fromkeys(("loss", "lossrate"), "network_loss_percent"),
    **dict.fromkeys(("sub", "subs", "subscribers", "readers"), "subscribers"),
    **dict.fromkeys(("pubs", "publishers", "writers"), "publishers"),
    "hz": "offered_rate_per_s",
}
_SYSTEMS = re.compile(
    r"(?:rmw_)?(?:fast(?:rtps|dds)|cyclonedds|connext(?:dds)?|gurumdds|opensplice|opendds|zenoh(?:pico)?|iceoryx2?|ecal(?:_(?:dynamic|proto))?|zeromq|zmq|nng|mqtt|nats|lcm)(?:_cpp)?",
    re.IGNORECASE,
)
_SEPARATORS = ("_@-+,= ", "_@", "_")  # sets of separators; names are split with the first set that is possible
_SHORTEST_WORD = 2
_KEY = re.compile(r"([A-Za-z]+)[-_=]\Z")
_PATTERN_TOKEN = re.compile(r"\{\{|\}\}|\{[^{}]+\}|[A-Za-z]+|[0-9]+|.")
_UNNAMED = re.compile(r"label\.(?:name|folder[0-9]+|number[0-9]+)(?:_[0-9]+)?")
_LONGEST_PATH = 4096
_SMALLEST_SIZE = 16  # smaller powers of two are often numbers of streams or threads
_LOGS_READ = 8
StatedSizes = Callable[[str], frozenset[int]]  # For a path: the sizes that its log states.

Kind = Literal["role", "day", "version", "number", "word", "other"]


class Piece(NamedTuple):
    """A piece of the name of a folder or file."""

    kind: Kind
    text: str


class Suggestion(NamedTuple):
    """A pattern that fits some of the paths.

    Attributes:
        pattern: the value for ``--map``.
        paths: the paths that the pattern fits.
        fields: the fields of the pattern, with their different values in the paths.
    """

    pattern: str
    paths: tuple[str, ...]
    fields: dict[str, list[str]]

    @property
    def unnamed(self) -> list[str]:
        """Return the labels that have no name yet. The user should name them."""
        return [name for name in self.fields if _UNNAMED.fullmatch(name)]


def _states_none(_path: str) -> frozenset[int]:
    return frozenset()


def suggest(paths: Iterable[str], stated_sizes: StatedSizes = _states_none) -> list[Suggestion]:
    """Return patterns for these paths. The pattern that fits the most paths is first. A pattern that fits no path is left out.

    Args:
        paths: the paths of the logs.
        stated_sizes: a function that returns the sizes that a log states. It is called for a few logs only.
    """
    alike: dict[tuple[int, str], list[str]] = defaultdict(list)
    for path in paths:
        name = uncompressed(path.rpartition("/")[2])
        alike[path.count("/"), name.rpartition(".")[2] if "." in name else ""].append(path)
    suggestions = [each for members in alike.values() if len(members[0]) <= _LONGEST_PATH for each in _suggestions(members, stated_sizes)]
    return sorted((suggestion for suggestion in suggestions if suggestion.paths), key=lambda suggestion: (-len(suggestion.paths), suggestion.pattern))


def _suggestions(paths: Sequence[str], stated_sizes: StatedSizes) -> list[Suggestion]:
    """Return one pattern, or several if some names lack a part such as ``-SIZE-800``.

    The paths have the same depth and the same file extension.
    """
    suggestion = _suggestion(paths, stated_sizes)
    by_shape: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        by_shape[_shape(path.rpartition("/")[2])].append(path)
    if not any(len({*map(_shape, suggestion.fields[name])}) > 1 for name in suggestion.unnamed):
        return [suggestion]
    longest = _suggestion(by_shape.pop(max(by_shape, key=len)), stated_sizes)
    shorter = [_without_a_part(longest.pattern, members) for members in by_shape.values()]
    return [longest, *filter(None, shorter)] if all(shorter) else [suggestion]


def _shape(text: str) -> str:
    return re.sub(r"[A-Za-z0-9]+", "", text)


def _without_a_part(pattern: str, paths: Sequence[str]) -> Suggestion | None:
    """Return a suggestion that leaves out a part of the file name, so that the pattern fits all paths; ``None`` if there is no such part.

    The part that is left out must contain a word.
    """
    folder, slash, name = pattern.rpartition("/")
    tokens = _PATTERN_TOKEN.findall(name)
    for start, end in sorted(combinations(range(len(tokens) + 1), 2), key=lambda part: (part[1] - part[0], -part[0])):
        if any(len(token) >= _SHORTEST_WORD and token.isalpha() for token in tokens[start:end]):
            shorter = f"{folder}{slash}{''.join(tokens[:start] + tokens[end:])}"
            if _fits(shorter, paths):
                values_of = _values_of(shorter, paths)
                return Suggestion(shorter, tuple(values_of), _distinct_values(values_of))
    return None


def _fits(pattern: str, paths: Sequence[str]) -> bool:
    try:
        prepared = read_pattern(pattern, "")
    except UnreadableInput:
        return False
    return all(isinstance(prepared.match(path), dict) for path in paths)


def _suggestion(paths: Sequence[str], stated_sizes: StatedSizes) -> Suggestion:
    """Return a suggestion for paths that have the same depth and the same file extension."""
    columns = [*zip(*(_plain(path).split("/") for path in paths), strict=True)]
    drafts = _with_one_role([_draft(_pieces_of_column([*dict.fromkeys(names)])) for names in columns])
    pattern = "/".join(_named(drafts))
    try:
        read_pattern(pattern, "")
    except UnreadableInput:  # Two fields have no text between them. So each folder name or file name that differs becomes one field.
        pattern = "/".join(_as_one_field(names, depth, is_file=depth + 1 == len(columns)) for depth, names in enumerate(columns))
    values_of = _values_of(pattern, paths)
    size = _size_field(pattern, values_of, stated_sizes)
    if size or _is_contradicted(values_of, stated_sizes):
        pattern = pattern.replace(f"{{{size}}}", "{payload_bytes}") if size else pattern.replace("{payload_bytes}", "{label.size}")
        values_of = _values_of(pattern, paths)
    return Suggestion(pattern, tuple(values_of), _distinct_values(values_of))


def _distinct_values(values_of: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    fields: dict[str, dict[str, None]] = defaultdict(dict)
    for values in values_of.values():
        for name, value in values.items():
            fields[name][value] = None
    return {name: [*values] for name, values in fields.items()}


def _values_of(pattern: str, paths: Iterable[str]) -> dict[str, Mapping[str, str]]:
    """Return the values by path and field, for each path that the pattern fits."""
    prepared = read_pattern(pattern, "")
    matches = {path: prepared.match(path) for path in paths}
    return {path: values for path, values in matches.items() if values is not None and not isinstance(values, Disagreement)}


def _size_field(pattern: str, values_of: Mapping[str, Mapping[str, str]], stated_sizes: StatedSizes) -> str | None:
    """Return the label that states the payload size; ``None`` if there is none, or if the pattern already has a field for the size."""
    names = list(dict.fromkeys(name for values in values_of.values() for name in values))
    for name in () if "payload_bytes" in names else names:
        path_of = {values[name]: path for path, values in [*values_of.items()][::-1]}  # for each number, the first path that has it
        numbers = [int(text) for text in path_of if text.isdecimal()]
        behind = pattern.partition(f"{{{name}}}")[2]
        if not name.startswith(LABEL) or len(numbers) < len(path_of) or UNIT.match(behind):
            continue
        checked = [(int(text), sizes) for text, path in [*path_of.items()][:_LOGS_READ] if (sizes := stated_sizes(path))]
        if all(sizes == {number} for number, sizes in checked) and (checked or (_UNNAMED.fullmatch(name) and all(map(_is_usual_size, numbers)))):
            return name
    return None


def _is_contradicted(values_of: Mapping[str, Mapping[str, str]], stated_sizes: StatedSizes) -> bool:
    """Whether a log states another size than the path. Then the number in the path has another meaning, such as the size of packets."""
    path_of = {values["payload_bytes"]: path for path, values in [*values_of.items()][::-1] if values.get("payload_bytes", "").isdecimal()}
    return any(stated_sizes(path) not in (frozenset(), {int(text)}) for text, path in [*path_of.items()][:_LOGS_READ])


def _is_usual_size(number: int) -> bool:
    return number >= _SMALLEST_SIZE and number.bit_count() == 1


def _with_one_role(drafts: Sequence[_Draft]) -> list[_Draft]:
    """Keep only one role, because a path has only one. All other words for roles become text.

    The last role that differs between paths is kept, such as the last ``sub`` in ``pub_01-sub_05/log-sub``.
    """
    roles = [(depth, index) for depth, draft in enumerate(drafts) for index, (kind, _) in enumerate(draft.parts) if kind == "role"]
    changing = [(depth, index) for depth, index in roles if len(drafts[depth].parts[index][1]) > 1]
    roles_left = {*changing[-1:]} if len(roles) > 1 else {*roles}
    return [
        _Draft([_role_as_text(part) if part[0] == "role" and (depth, index) not in roles_left else part for index, part in enumerate(draft.parts)])
        for depth, draft in enumerate(drafts)
    ]


def _role_as_text(part: tuple[str, tuple[str, ...]]) -> tuple[str, tuple[str, ...]]:
    return ("literal" if len(part[1]) == 1 else "text", part[1])


def _plain(path: str) -> str:
    plain = uncompressed(path)  # Every pattern fits with and without the file extension of a compressed log.
    return path if plain.endswith("/") or not plain else plain


def _as_one_field(names: Sequence[str], depth: int, *, is_file: bool) -> str:
    texts = tuple(dict.fromkeys(names))
    return _literal(texts[0]) if len(texts) == 1 else f"{{{_text_name(texts, depth, is_file=is_file)}}}"


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _pieces_of_column(names: Sequence[str]) -> list[list[Piece]]:
    """Return the pieces of each name. A date such as ``27-07-2021`` or ``20210727_1430`` becomes one piece.

    This is done only if all names have dates of the same form, and if it is clear which number is the day.
    """
    dates = [[*_DATE.finditer(name)] for name in names]
    are_clear = all(dates) and any(date["day"] is None or int(date["day"]) > _MONTHS for dates_of_name in dates for date in dates_of_name)
    forms = {_form(date) for dates_of_name in dates for date in dates_of_name}
    if not are_clear or len(forms) > 1 or not all(in_form(date[0], _form(date)) for dates_of_name in dates for date in dates_of_name):
        return [_pieces(name) for name in names]
    return [_pieces_with_dates(name, dates_of_name) for name, dates_of_name in zip(names, dates, strict=True)]


def _pieces_with_dates(name: str, dates: Sequence[re.Match[str]]) -> list[Piece]:
    pieces: list[Piece] = []
    end = 0
    for date in dates:
        pieces += [*_pieces(name[end : date.start()]), Piece("day", date[0])]
        end = date.end()
    return pieces + _pieces(name[end:])


def _form(date: re.Match[str]) -> str:
    day = date["point"].join(("%d", "%m", "%Y")) if date["day"] else date["hyphen"].join(("%Y", "%m", "%d"))
    if date["before_time"] is None:
        return day
    clock = date["colon"].join(("%H", "%M", "%S") if date["seconds"] else ("%H", "%M"))
    return f"{day}{date['before_time']}{clock}{'%z' if date['zone'] else ''}"


def _pieces(name: str) -> list[Piece]:
    return [Piece(_kind(match), match[0]) for match in _TOKEN.finditer(name)]


def _kind(match: re.Match[str]) -> Kind:
    if match["day"] and not is_moment(match["day"]):
        return "other"
    kinds: tuple[Kind, ...] = ("role", "day", "version", "number", "word", "other")
    return next(kind for kind in kinds if match[kind] is not None)


class _Draft(NamedTuple):
    """The structure that the names of one column share."""

    parts: list[tuple[str, tuple[str, ...]]]  # For each piece, its kind and its different texts. A piece of the kind ``text`` differs between names.


def _draft(names: Sequence[Sequence[Piece]]) -> _Draft:
    """Return the structure that all names have in common. For this, the names are compared from the beginning and from the end."""
    shortest = min(map(len, names))
    head = next((index for index in range(shortest) if not _alike([name[index] for name in names])), shortest)
    tail = next((index for index in range(shortest - head) if not _alike([name[-1 - index] for name in names])), shortest - head)
    if head + tail == shortest and any(len(name) > shortest for name in names):
        # All pieces of the shortest name belong to the common beginning or to the common end, so the name has no piece for the text that differs.
        # Therefore, the common beginning (or the common end, if there is no common beginning) is made one piece shorter.
        head, tail = (head - 1, tail) if head else (head, tail - 1)
    if any(len(name) > head + tail for name in names):
        # A pattern cannot separate a number from the text next to it if both differ, as in Array1k and PointCloud512k. Such pieces are joined.
        while head and _part([name[head - 1] for name in names])[0] != "literal":
            head -= 1
        if tail and _part([name[len(name) - tail] for name in names])[0] == "number":
            while tail and names[0][len(names[0]) - tail].kind != "other":
                tail -= 1
    parts = [_part([name[index] for name in names]) for index in range(head)]
    if any(len(name) > head + tail for name in names):
        parts += _between([name[head : len(name) - tail] for name in names])
    parts += [_part([name[len(name) - tail + index] for name in names]) for index in range(tail)]
    return _Draft(parts)


def _between(names: Sequence[Sequence[Piece]]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the kind and the texts of each piece between the common beginning and the common end of the names.

    The names are split at separators if all names have the same separators in this part. Otherwise, this part is a single piece.
    """
    for separators in _SEPARATORS:
        split = [_segments(name, separators) for name in names]
        (_, between), *others = split
        if between and all(each[1] == between for each in others) and all(segment for segments, _ in split for segment in segments):
            columns = zip(*(segments for segments, _ in split), strict=True)
            return _joined([_NameColumn(separator, _texts(names), _segment(names)) for separator, names in zip(("", *between), columns, strict=True)])
    return [("text", _texts(names))]


def _texts(names: Sequence[Sequence[Piece]]) -> tuple[str, ...]:
    return tuple("".join(piece.text for piece in name) for name in names)


class _NameColumn(NamedTuple):
    """A segment at the same position in all names: the separator before it, the text in each name, and the structure."""

    separator: str
    texts: tuple[str, ...]
    parts: list[tuple[str, tuple[str, ...]]]

    @property
    def is_label(self) -> bool:
        """Whether the segment is a single text, and nothing shows which field the text belongs to."""
        return [kind for kind, _ in self.parts] == ["text"] and _text_name(self.texts, 0, is_file=True) == "label.name"


def _joined(columns: Sequence[_NameColumn]) -> list[tuple[str, tuple[str, ...]]]:
    """Join neighbouring segments that always change together, as in europe-west2 and asia-east1."""
    joined = [columns[0]]
    for column in columns[1:]:
        before = joined[-1]
        pairs = {*zip(before.texts, column.texts, strict=True)}
        if before.is_label and column.is_label and len({*before.texts}) == len({*column.texts}) == len(pairs):
            texts = tuple(f"{first}{column.separator}{second}" for first, second in zip(before.texts, column.texts, strict=True))
            joined[-1] = _NameColumn(before.separator, texts, [("text", tuple(dict.fromkeys(texts)))])
        else:
            joined.append(column)
    return [part for column in joined for part in ([("literal", (column.separator,))] if column.separator else []) + column.parts]


def _segments(name: Sequence[Piece], separators: str) -> tuple[list[list[Piece]], list[str]]:
    """Return the pieces of a name between separators, and the separators."""
    segments: list[list[Piece]] = [[]]
    between: list[str] = []
    for piece in name:
        if piece.kind == "other" and piece.text in separators:
            between.append(piece.text)
            segments.append([])
        else:
            segments[-1].append(piece)
    return segments, between


def _segment(names: Sequence[Sequence[Piece]]) -> list[tuple[str, tuple[str, ...]]]:
    different = [*{"".join(piece.text for piece in name): name for name in names}.values()]
    parts = _draft(different).parts
    # A pattern cannot separate two differing parts if there is no text between the parts.
    if any(first != "literal" and second != "literal" for (first, _), (second, _) in pairwise(parts)):
        return [("text", tuple("".join(piece.text for piece in name) for name in different))]
    return parts


def _alike(pieces: Sequence[Piece]) -> bool:
    """Whether pieces at the same position of different names can become one piece of a pattern."""
    kinds, texts = {piece.kind for piece in pieces}, {piece.text for piece in pieces}
    return len(texts) == 1 or (len(kinds) == 1 and kinds <= {"role", "day", "number"})


def _part(pieces: Sequence[Piece]) -> tuple[str, tuple[str, ...]]:
    texts = tuple(dict.fromkeys(piece.text for piece in pieces))
    kind = pieces[0].kind
    return (kind if kind in ("role", "day") or (kind == "number" and len(texts) > 1) else "literal", texts)


def _named(drafts: Sequence[_Draft]) -> list[str]:
    """Return the part of the pattern for each column."""
    repetition = _repetition(drafts)
    days = {(depth, index): len(texts) for depth, draft in enumerate(drafts) for index, (kind, texts) in enumerate(draft.parts) if kind == "day"}
    # Paths may contain several days. The day with the most values is the day of a run, because the day of a whole experiment has fewer values.
    start = max(days, key=days.__getitem__, default=None)
    numbers = [(draft, index) for draft in drafts for index, (kind, _) in enumerate(draft.parts) if kind == "number"]
    is_size_varying = any(_number_name(draft, index, is_repetition=False) == "payload_bytes" for draft, index in numbers)
    columns, number = [], 0
    used: set[str] = set()
    for depth, draft in enumerate(drafts):
        text = ""
        for index, (kind, texts) in enumerate(draft.parts):
            if kind == "literal":
                after_role = index and draft.parts[index - 1][0] == "role" and texts[0].isdecimal()
                if "payload_bytes" not in used and not is_size_varying and _is_size_of_all(draft, index):
                    used.add("payload_bytes")
                    text += "{payload_bytes}"
                else:
                    text += "{participant}" if after_role else _literal(texts[0])
                continue
            if kind == "number":
                name = _number_name(draft, index, is_repetition=(depth, index) == repetition) or _named_by_word(draft, index)
                if name is None or name in used:
                    number += 1
                    name = f"label.number{number}"
            elif kind == "day":
                date = _DATE.fullmatch(texts[0])
                name = START if (depth, index) == start else "*"
                text += f"{{{name}:{_form(date)}}}" if date and name == START and not all(map(is_moment, texts)) else f"{{{name}}}"
                continue
            else:
                name = "role" if kind == "role" else _text_name(texts, depth, is_file=depth + 1 == len(drafts))
                name = (_UNNAMED.fullmatch(name) and _text_named_by_word(draft, index)) or name
                name = f"label.folder{depth + 1}" if kind == "text" and name in used else name
                name = f"{name}_{index}" if kind == "text" and name in used else name
            used.add(name)
            text += f"{{{name}}}"
        columns.append(text)
    return columns


def _repetition(drafts: Sequence[_Draft]) -> tuple[int, int] | None:
    """Return the position of the number that is probably the repetition; ``None`` in case of doubt.

    It is a number after a word such as ``test``, or else the last number that counts from 1. If a size were used as the repetition, different
    measurements would be mixed.
    """
    all_numbers = [(depth, index) for depth, draft in enumerate(drafts) for index, (kind, _) in enumerate(draft.parts) if kind == "number"]
    numbers = [(depth, index) for depth, index in all_numbers if _number_name(drafts[depth], index, is_repetition=False) is None]
    behind_word = [(depth, index) for depth, index in numbers if _word_before(drafts[depth], index) in _REPETITION_WORDS]
    counted = [
        (depth, index)
        for depth, index in numbers
        if not _has_unit(drafts[depth], index)
        and (_is_count(drafts[depth].parts[index][1], 1) or ((depth, index) == all_numbers[-1] and _is_count_from_0(drafts[depth], index)))
    ]
    return next(iter([*behind_word[-1:], *counted[-1:]]), None)


def _is_count(texts: Sequence[str], first: int) -> bool:
    return sorted(map(int, texts)) == list(range(first, len(texts) + first))  # Other numbers may be sizes, rates or numbers of streams.


def _is_count_from_0(draft: _Draft, index: int) -> bool:
    """Whether the numbers count from 0, follow a separator, and are at the end of the name.

    Other numbers may be settings, as in ``loss_0`` and ``nodelay0``. If only 0 and 1 follow a word, as in ``keyed_0`` and ``keyed_1``, they are a
    setting too.
    """
    texts = draft.parts[index][1]
    before = draft.parts[index - 1][1][0] if index else "_"
    after = draft.parts[index + 1][1][0] if index + 1 < len(draft.parts) else "."
    name = _named_by_word(draft, index)
    is_setting = name is not None and (len(texts) == len("01") or not name.startswith("label."))
    return _is_count(texts, 0) and not before[-1].isalnum() and after.startswith(".") and not is_setting


def _has_unit(draft: _Draft, index: int) -> bool:
    return index + 1 < len(draft.parts) and draft.parts[index + 1][0] == "literal" and UNIT.match(draft.parts[index + 1][1][0]) is not None


def _word_before(draft: _Draft, index: int) -> str:
    before = "".join(texts[0] for kind, texts in draft.parts[:index] if kind == "literal")
    match = re.search(r"([A-Za-z]+)[^A-Za-z0-9]{0,3}\Z", before)
    return match[1].lower() if match else ""


def _number_name(draft: _Draft, index: int, *, is_repetition: bool) -> str | None:
    """Return the field that the text around a number shows; ``None`` if it shows none."""
    if index and draft.parts[index - 1][0] == "role":
        return "participant"
    after = draft.parts[index + 1][1][0].lower() if index + 1 < len(draft.parts) and draft.parts[index + 1][0] == "literal" else ""
    if after in _SIZE_WORDS or (_word_before(draft, index) in _SIZE_WORDS[:-1] and not _has_unit(draft, index)):
        return "payload_bytes"
    return "repetition" if is_repetition else None


def _is_size_of_all(draft: _Draft, index: int) -> bool:
    """Whether a number that all names have is the payload size, as in ``size1024_run1``."""
    (_, (text,)) = draft.parts[index]
    return text.isdecimal() and _is_usual_size(int(text)) and _number_name(draft, index, is_repetition=False) == "payload_bytes"


def _named_by_word(draft: _Draft, index: int) -> str | None:
    """Return the field that the word next to a number names, as in ``20loss`` and ``depth-10``; ``None`` if there is no such word."""
    after = draft.parts[index + 1][1][0] if index + 1 < len(draft.parts) and draft.parts[index + 1][0] == "literal" else ""
    before = _literal_before(draft, index)
    word = "" if UNIT.match(after) else _word(re.match(r"[A-Za-z]+", after))
    word = word or _word(re.search(r"([A-Za-z]+)[-_=]?\Z", before))
    if len(word) < _SHORTEST_WORD or _TRANSPORTS.fullmatch(word) or word in _REPETITION_WORDS:
        return None
    return _NUMBER_WORDS.get(word, f"label.{word}")


def _text_named_by_word(draft: _Draft, index: int) -> str | None:
    """Return the label for a text that follows a word. In ``rate_10-hist_all``, the text ``all`` gets the label ``label.hist``.

    Return ``None`` if no number of the file name follows a word, because only such a number shows that words name values. In the example, the number
    ``10`` follows the word ``rate``.
    """

    def key(position: int) -> str:
        return _word(_KEY.search(_literal_before(draft, position)))

    numbers = [(number, key(number)) for number, (kind, _) in enumerate(draft.parts) if kind == "number"]
    has_keys = any(word and _named_by_word(draft, number) == _NUMBER_WORDS.get(word, f"label.{word}") for number, word in numbers)
    return f"label.{key(index)}" if has_keys and len(key(index)) >= _SHORTEST_WORD else None


def _literal_before(draft: _Draft, index: int) -> str:
    literals = takewhile(lambda part: part[0] == "literal", reversed(draft.parts[:index]))
    return "".join([texts[0] for _, texts in literals][::-1])


def _word(match: re.Match[str] | None) -> str:
    return match[match.lastindex or 0].lower() if match else ""


def _text_name(texts: Sequence[str], depth: int, *, is_file: bool) -> str:
    if all(_TRANSPORTS.fullmatch(text) for text in texts):
        return "transport"
    if all(_VERSION.fullmatch(text) for text in texts):
        return "release"
    if all(_SYSTEMS.fullmatch(text) for text in texts):
        return "system"
    return "label.name" if is_file else f"label.folder{depth + 1}"
