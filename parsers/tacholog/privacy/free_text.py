"""Free text, written by people: only numbers and words that are known to be public are shown.

The public words are those of Tacholog's own texts (``public_words.txt``), numbers and measures. All other words are masked.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path

from tacholog.privacy.settings import HOST_PSEUDONYM

MASK = "[…]"
WORDS_FILE = Path(__file__).with_name("public_words.txt")
_LONGEST_GAP = 3  # if two masked words have at most this many characters between them, one mark replaces both
_PSEUDONYM = re.compile(r"(?:host|session|participant)-[0-9a-f]{6}(?!\w)|(?:user|address|path|secret|hidden)-\d{1,9}(?!\w)")
# A time as tools print it: "Mon Nov 23 01:37:44", "Sat, 21 Nov 2026 01:53:10 GMT". "Jan" alone may be the name of a person.
_WEEKDAY, _MONTH = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)", "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_MOMENT = re.compile(rf"\b{_WEEKDAY}(?: {_MONTH} {{1,2}}\d{{1,2}}|, \d{{1,2}} {_MONTH} \d{{4}}) \d{{2}}:\d\d:\d\d(?: GMT)?\b")
_WORD = re.compile(rf"{_PSEUDONYM.pattern}|{_MOMENT.pattern}|\w+")  # all signs between words are shown
_UNIT = r"[a-z]{1,2}|[\u00b5\u03bc]s|bit|byte|kib|mib|gib|khz|mhz|ghz|kbit|mbit|gbit|kbps|mbps|gbps"
_MEASURE = re.compile(rf"0x0{{0,8}}[0-9a-f]{{1,4}}|[\d_]++(?:{_UNIT})?|(?:[pvl]|pub|sub)\d{{1,6}}|x+|[\u00b5\u03bc]s", re.IGNORECASE)


@functools.cache
def public_words() -> frozenset[str]:
    """Return the words that free text may show, in lower case."""
    return frozenset(WORDS_FILE.read_text(encoding="utf-8").split())


@functools.lru_cache(1 << 15)
def is_public(text: str) -> bool:
    """Whether every word of a text is known to be public: a number, a measure, a word of our own texts, or several such words joined by signs."""
    return all(
        _MEASURE.fullmatch(part) or part.lower() in public_words()
        for word in _WORD.findall(text)
        for part in ([word] if _MEASURE.fullmatch(word) or word.lower() in public_words() else word.split("_"))
        if part and not HOST_PSEUDONYM.match(part)
    )


def masked(text: str, hides: Callable[[str], bool]) -> str:
    """Return free text in which a mark replaces the words that are not public. If such words are adjacent, one mark replaces all of them.

    ``hides`` is called with each word that is not public. It returns whether this word is replaced.
    """
    out: list[str] = []
    position = 0
    for match in _WORD.finditer(text):
        between, word = text[position : match.start()], match[0]
        position = match.end()
        if is_public(word) or _PSEUDONYM.fullmatch(word) or _MOMENT.fullmatch(word) or not hides(word):
            out += [between, word]
        elif out and out[-1] == MASK and len(between) <= _LONGEST_GAP:
            continue
        else:
            out += [between, MASK]
    return "".join([*out, text[position:]])
