"""Verify a site offline: read its raw logs again, and compare every number on the site with them.

The verification has three steps, which do not use the program that built the site:

1. The files agree with the stamp (a published site has none). The name of each raw log is the SHA-256 of its text.
2. The numbers for download are those that the readers find in the offered (redacted) logs: with the same line, metric, statistic, value and other
   columns. Without a list of files, the rows of CSV and JSON lines are compared with those of Parquet.
3. Each number on a page, or in a part that a page loads, links to a line of a log. The shown text and the exact value agree with that line.
"""

from __future__ import annotations

import hashlib
import math
import re
import tempfile
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

import msgspec

from tacholog import terminal
from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there
from tacholog.render.tables.logs import raw_log_name, raw_name
from tacholog.runs.manifest import RUN_FILE, Manifest, read_evidence_toml
from tacholog.runs.problems import ALTERED
from tacholog.site.downloads import ALL
from tacholog.site.output_folder import MARKER
from tacholog.site.page import pieces_of
from tacholog.site.publish import published
from tacholog.site.stamp import STAMP, changed_files, read_stamp
from tacholog.site.verification.downloads import altered_numbers, as_offered, columns_compared, newest_compared, offered_table, texts_compared
from tacholog.site.verification.reading import OfferedLogs, number_texts, read_foreign, reads, unpacked_pieces
from tacholog.site.verification.receipt import Mismatch, Receipt, readers_of
from tacholog.store.export import results_table
from tacholog.store.frames import Dataset
from tacholog.store.load import load
from tacholog.view.page_index import LOGS, RAW, SOURCES, STATIC, VERSIONS
from tacholog.view.views import log_document

if TYPE_CHECKING:
    import pandas as pd

_PAGES_WITHOUT = (LOGS, RAW, VERSIONS, STATIC, SOURCES)
_ANCHOR = re.compile(r"L\d+:[\w.-]+(?:~\d+)?")
_ORDINAL = re.compile(r"~\d+\Z")
_RAW_LOG = re.compile(r'href="(?:\.\./)*raw/[0-9a-f]{2}/([0-9a-f]{64})\.gz"')
Values = dict[str, list[float | None]]  # the values of each id; earlier versions gave several numbers the same id


def is_site(folder: Path) -> bool:
    """Whether a folder is a site, built (completely or not) or published."""
    return (folder / MARKER).is_file() or ((folder / ALL).is_file() and (folder / RAW).is_dir())


def verify_site(site: Path) -> Receipt:
    """Verify a site.

    Raises:
        UnreadableInput: the site is not finished, or its downloads cannot be read.
    """
    findings, notes = _changed(site)
    offered = offered_table(site)
    by_log = _offered_values(offered)
    with tempfile.TemporaryDirectory() as work:
        data, names, missing = _read_again(site, sorted({run for run, _ in by_log}), Path(work))
        table = as_offered(results_table(data), names)
        if offered["id"].duplicated().any():  # An earlier version gave several numbers of a line the same id.
            table["id"] = table["id"].str.replace(_ORDINAL, "", regex=True)
        logged: Values = {}
        for number, value in zip(table["id"], table["value"], strict=True):
            logged.setdefault(str(number), []).append(None if _is_missing(value) else float(value))
        logs = OfferedLogs({(names[run], log): Path(work, run, log) for run, log in data.logs[["run", "log"]].astype(str).to_numpy().tolist()})
        printed = logs.printed(offered, logged)
        logged |= {number: by_log[log][number] for log, numbers in printed.items() for number in numbers}
        findings += [*missing, *_marked_as_altered(site), *_mismatches(by_log, logged), *columns_compared(offered, table, logs.is_masked)]
    notes += [_printed_words(log, len(numbers)) for log, numbers in printed.items()]
    if not is_built(site):
        systems = set(offered.loc[offered["run"].isin([run for run, _ in printed]), "system"].dropna())
        findings += [*texts_compared(site, offered), *newest_compared(site, data, systems)]
    addresses = {f"{log_document(LOGS, run, log)}.html": f"{run}/{log}" for run, log in by_log}
    pages = numbers_shown = 0
    for page in sorted(path for ending in ("html", "js") for path in site.rglob(f"*.{ending}")):
        path = page.relative_to(site)
        if path.parts[0] in _PAGES_WITHOUT or path.parts[0].startswith("."):
            continue
        terminal.status(f"comparing {path}")
        try:
            numbers = list(_linked_numbers_on(site, path, addresses))
        except UnreadableInput as error:
            findings.append(Mismatch(place=path.as_posix(), reason=str(error)))
            continue
        pages, numbers_shown = pages + bool(numbers), numbers_shown + len(numbers)
        findings += [finding for number in numbers if (finding := _wrong(number, path, logged))]
    return Receipt(
        kind="site",
        path=str(site),
        logs=len(data.logs),
        readers=readers_of(data),
        numbers=len(table),
        pages=pages,
        shown=numbers_shown,
        findings=tuple(findings),
        notes=tuple(notes),
    )


def _offered_values(offered: pd.DataFrame) -> dict[tuple[str, str], Values]:
    by_log: dict[tuple[str, str], Values] = {}
    for run, log, name, value in zip(*(offered[column] for column in ("run", "log", "id", "value")), strict=True):
        by_log.setdefault((run, log), {}).setdefault(name, []).append(None if _is_missing(value) else float(value))
    return by_log


def _marked_as_altered(site: Path) -> Iterator[Mismatch]:
    for run, log, count in altered_numbers(site, ALTERED):
        numbers = f"{count} numbers are" if count > 1 else "1 number is"
        yield Mismatch(place=f"{run}/{log}", reason=f"the log is not the one that {RUN_FILE} names, by its SHA-256; {numbers} from the changed log")


def _printed_words(log: tuple[str, str], count: int) -> str:
    numbers = f"{count} numbers stand" if count > 1 else "1 number stands"
    why = "only their values were checked, because privacy masks or withholds other text of this log"
    return f"{'/'.join(log)}: {numbers} on the lines that the site names; {why}"


def is_built(site: Path) -> bool:
    """Whether a site is a folder that ``tacholog report`` made, and not a published site. Only such a folder should have a list of its files."""
    return any((site / name).is_file() for name in (STAMP, MARKER))


def _changed(site: Path) -> tuple[list[Mismatch], list[str]]:
    if not is_built(site):
        notes = ["this site has no list of its files (a published one has none), so pages without numbers were not checked"]
        try:
            labels = published(site)
        except UnreadableInput as error:
            return [Mismatch(place=VERSIONS, reason=str(error))], notes
        if labels:
            notes.append(f"only the newest version was checked; pass {site / VERSIONS}/LABEL to check another: {', '.join(labels)}")
        return [], notes
    return [Mismatch(place=name, reason="added, removed or changed after the build") for name in changed_files(site, read_stamp(site))], []


def _read_again(site: Path, runs: list[str], work: Path) -> tuple[Dataset, dict[str, str], list[Mismatch]]:
    """Return the dataset, the original names of the runs, and the problems.

    In the dataset, the name of each run is a number. This number is the key of the original name.
    """
    names, missing = {}, []
    for number, run in enumerate(runs):
        terminal.status(f"unpacking run {number + 1} of {len(runs)}, {run}")
        folder = work / str(number)
        folder.mkdir()
        try:
            (folder / RUN_FILE).write_bytes(read_foreign(site, raw_name(run, RUN_FILE)))
            manifest = read_evidence_toml(folder / RUN_FILE, Manifest)
        except UnreadableInput as error:
            missing.append(Mismatch(place=raw_name(run, RUN_FILE), reason=str(error).removeprefix(f"{folder / RUN_FILE}: ")))
            continue
        names[str(number)] = run
        for entry in manifest.logs:
            reason = _unpack_log(site, log_document(LOGS, run, entry.file), folder / entry.file)
            # A log without results may be missing, because the site may withhold such a log. But a log that is there must be complete.
            if reason and (entry.results or (folder / entry.file).exists()):
                missing.append(Mismatch(place=f"{run}/{entry.file}", reason=reason))
    terminal.status("reading the logs again")
    return load([work]), names, missing


def _unpack_log(site: Path, document: str, target: Path) -> str | None:
    """Unpack the log of the page ``document`` to the file ``target``. Return a message if the log is missing or damaged, else ``None``."""
    page = f"{document}.html"
    if not is_there(site, page):
        return "the page of this log, which leads to its text, is not there"
    try:
        named = _RAW_LOG.search(read_foreign(site, page).decode(errors="replace"))
    except UnreadableInput as error:
        return f"its page: {error}"
    if named is None:
        return "its page has no link to its text"
    raw_site, raw, sha256 = _folder_of_raw_logs(site), raw_log_name(named[1]), hashlib.sha256()
    if not is_there(raw_site, raw):
        return f"{raw} is not there"
    try:
        with target.open("wb") as text:
            for piece in unpacked_pieces(raw_site, raw):
                sha256.update(piece)
                text.write(piece)
    except UnreadableInput as error:
        return f"{raw}: {error}"
    return None if sha256.hexdigest() == named[1] else f"the name of {raw} is not the SHA-256 of its text"


def _folder_of_raw_logs(site: Path) -> Path:
    """Return the folder that contains the raw logs of a site.

    For one version of a published site, this is the root of the published site, because all versions share the raw logs.
    """
    above = site.resolve().parent
    return above.parent if above.name == VERSIONS and (above.parent / RAW).is_dir() else site


def _mismatches(by_log: Mapping[tuple[str, str], Values], all_logged: Values) -> Iterator[Mismatch]:
    offered = {name: values for values_of_log in by_log.values() for name, values in values_of_log.items()}
    for name, values in offered.items():
        logged = all_logged.get(name)
        if logged is None:
            yield Mismatch(place=name, reason="the log has no such number", shown=_words(values))
        elif not _same(values, logged):
            yield Mismatch(place=name, reason="the log has another value", shown=_words(values), log=_words(logged))
    for name in all_logged.keys() - offered.keys():
        yield Mismatch(place=name, reason="the log has this number, and the site does not offer it", log=_words(all_logged[name]))


def _same(first: list[float | None], second: list[float | None]) -> bool:
    pairs = zip(sorted(first, key=_sorted), sorted(second, key=_sorted), strict=False)
    return len(first) == len(second) and all(a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-12)) for a, b in pairs)


def _sorted(value: float | None) -> tuple[bool, float]:
    return value is None, value or 0.0


def _words(values: list[float | None]) -> str:
    return ", ".join("not stated" if value is None else f"{value:.12g}" for value in values)


def _is_missing(value: object) -> bool:
    return not isinstance(value, int | float) or math.isnan(value)


class _PageNumber(NamedTuple):
    """A number on a page, with a link to its line in a log. ``exact`` is the value of its table cell if the cell contains only this number."""

    id: str
    text: str
    exact: float | None


def _linked_numbers_on(site: Path, path: Path, addresses: Mapping[str, str]) -> Iterator[_PageNumber]:
    parser = _LinksToLogLines()
    text = read_foreign(site, path.as_posix()).decode(errors="replace")
    for piece in pieces_of(text).values() if path.suffix == ".js" else (text,):
        parser.feed(piece)
    for cell in parser.cells:
        for href, words in cell.links:
            address, _, anchor = unquote(href).partition("#")
            log = addresses.get(_path_in_site(path, address))
            if log and _ANCHOR.fullmatch(anchor):
                yield _PageNumber(f"{log}#{anchor}", words, cell.value if len(cell.links) == 1 else None)


def _path_in_site(page: Path, address: str) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(*page.parts).parent / address).parts:
        if part == ".." and parts:
            parts.pop()
        elif part not in ("..", "."):
            parts.append(part)
    return "/".join(parts)


def _wrong(number: _PageNumber, path: Path, all_logged: Values) -> Mismatch | None:
    logged = [value for value in all_logged.get(number.id, []) if value is not None]
    position = f"{path.as_posix()}: {number.id}"
    texts = number_texts(number.text)
    if number.id in all_logged and not logged and not texts:
        # In the log, this number has no value. For example, it is a percentile of a single sample. The page is right to show words instead.
        return None
    if not logged:
        return Mismatch(place=position, reason="the log has no such number", shown=number.text)
    if texts and not any(reads(texts[0], value) for value in logged):
        return Mismatch(place=position, reason="the log has another value", shown=number.text, log=_words([*logged]))
    if number.exact is not None and not any(math.isclose(number.exact, value, rel_tol=1e-11) for value in logged):
        return Mismatch(place=position, reason="the log has another value than this cell", shown=f"{number.exact:.12g}", log=_words([*logged]))
    return None


class _Cell:
    """A cell of a table on a page, with the links of the cell to log lines. Text outside of all cells is also kept as a cell.

    ``value`` is the number of the cell that is used to sort the table; ``None`` if the cell has no such number.
    """

    def __init__(self, value: float | None) -> None:
        self.value = value
        self.links: list[tuple[str, str]] = []


class _LinksToLogLines(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.cells = [_Cell(None)]
        self._href: str | None = None
        self._words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "td":
            self.cells.append(_Cell(_float(attributes.get("data-v"))))
        elif tag == "a" and "#L" in (attributes.get("href") or ""):
            self._href, self._words = attributes["href"], []

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._href is not None:
            self.cells[-1].links.append((self._href, "".join(self._words)))
            self._href = None
        elif tag == "td":
            self.cells.append(_Cell(None))

    def handle_data(self, data: str) -> None:
        if self._href is not None:
            self._words.append(data)


def _float(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def as_json(receipt: Receipt) -> str:
    """Return the receipt as JSON."""
    return msgspec.json.format(msgspec.json.encode(receipt), indent=2).decode() + "\n"
