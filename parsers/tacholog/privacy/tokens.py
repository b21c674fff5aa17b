"""Split a text into tokens, and recognise tokens without names quickly.

A text is split once, at characters that no name can contain. Each token is then examined alone, with patterns that are anchored and limited in
length, so the work grows linearly with the text. Most tokens of a log differ only in their digits. `HarmlessTokens` remembers the shape (the token
with every digit written as 0) of each harmless token, and does not examine tokens of that shape again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from tacholog.visible import ACCENTS, UNSEEN

# Quotes and brackets enclose names; commas and semicolons separate them.
DELIMITERS = " \t\r\n\v\f\"'`<>()[]{},;|"
TOKEN = re.compile(rf"[^\s{re.escape(DELIMITERS.strip())}]+")
LONGEST_TOKEN = 512  # a longer token is no word; it is masked, unless it has only digits and signs
PIECE = re.compile(r"[^\W_]+")
SHAPE = str.maketrans({**dict.fromkeys("123456789", "0"), **dict.fromkeys(DELIMITERS, " ")})
_MOST_SHAPES = 50_000
# For a byte that is not valid UTF-8, Python uses a special character. It is replaced by the character that the byte has in Latin-1, mostly a letter.
_RAW_BYTES = {0xDC00 + byte: byte for byte in range(0x80, 0x100)}

# Characters that look like ASCII characters: letterlike symbols, letters in circles, full-width and mathematical letters. Superscript digits are not
# included, because they change a number.
_LOOK_ALIKES = {
    code: form
    for first, last in ((0x2100, 0x214F), (0x24B6, 0x24E9), (0xFF01, 0xFF5E), (0x1D400, 0x1D7FF))
    for code in range(first, last + 1)
    if len(form := unicodedata.normalize("NFKC", chr(code))) == 1 and form.isascii()
}
_ONE_FORM: dict[int, int | str] = {**_RAW_BYTES, **_LOOK_ALIKES}
_LOOKS = re.compile(f"[{re.escape(''.join(map(chr, _LOOK_ALIKES)))}]")


def plain(text: str) -> str:
    """Return a text in the form in which names are searched for: without control sequences and invisible characters, and with normal letters.

    Characters that look like ASCII become ASCII. An accent is removed if it cannot be combined with its letter. Invalid bytes become characters.
    """
    if text.isascii() and text.isprintable():
        return text
    return ACCENTS.sub("", unicodedata.normalize("NFC", UNSEEN.sub("", text.translate(_ONE_FORM))))


def has_look_alikes(text: str) -> bool:
    """Return whether `plain` would replace a look-alike character or remove an accent."""
    return not text.isascii() and bool(_LOOKS.search(text) or ACCENTS.search(unicodedata.normalize("NFC", text)))


def folded(text: str) -> str:
    """Return a text of the same length without upper case and accents, for comparisons."""
    return text.lower() if text.isascii() else "".join(map(_folded, text))


@lru_cache(1 << 12)
def _folded(char: str) -> str:
    """Return a letter in lower case and without accents; the same case if the lower case has two characters, to keep the length of the text."""
    parts = unicodedata.normalize("NFD", char)
    letter = parts[0] if len(parts) == 1 or ACCENTS.fullmatch(parts, 1) else char
    return next((form for form in (letter.casefold(), letter.lower()) if len(form) == 1), letter)


class HarmlessTokens:
    """Recognises harmless texts quickly: every token of such a text has a shape that is known to be harmless."""

    def __init__(self, may_matter: Callable[[str], bool]) -> None:
        """``may_matter`` is called with the shape of a token. It returns whether a text with such a token may have to be replaced."""
        self._may_matter = may_matter
        self._harmless: set[str] = set()
        self._suspicious: set[str] = set()

    def knows(self, token: str) -> bool:
        """Whether a token is known to be harmless."""
        return token.translate(SHAPE) in self._harmless

    def __call__(self, text: str) -> bool:
        """Whether the text contains nothing that must be replaced."""
        shapes = text.translate(SHAPE).split()
        if self._harmless.issuperset(shapes):
            return True
        unknown = set(shapes) - self._harmless
        for memory in (self._harmless, self._suspicious):
            if len(memory) > _MOST_SHAPES:
                memory.clear()  # A log of random text has new words in each line, so the number of stored shapes is limited.
        fresh = unknown - self._suspicious
        suspicious = {shape for shape in fresh if self._may_matter(shape)}
        self._suspicious |= {shape for shape in suspicious if len(shape) <= LONGEST_TOKEN}
        self._harmless |= {shape for shape in fresh - suspicious if len(shape) <= LONGEST_TOKEN}
        return not suspicious and len(fresh) == len(unknown)


class WordFinder:
    """Finds given names in texts, as whole words in upper or lower case. A text is searched once, for all names together."""

    def __init__(self, words: Iterable[str]) -> None:
        """Take the names that are to be found. Each name must contain a letter or a digit, and must be in the form that `folded` returns."""
        # The key is the first group of letters and digits in a name. The value lists the names with this first group, the longest name first. Each
        # name has the number of characters, such as hyphens, that stand before the group.
        self._by_first_piece: dict[str, list[tuple[str, int]]] = {}
        for word in sorted(words, key=lambda word: (-len(word), word)):
            if piece := PIECE.search(word):
                self._by_first_piece.setdefault(piece[0], []).append((word, piece.start()))
        self.first_shapes = frozenset(piece.translate(SHAPE) for piece in self._by_first_piece)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of each name in the text."""
        if not self._by_first_piece:
            return
        lower, end = folded(text), 0
        for piece in PIECE.finditer(lower):
            if piece.start() < end:
                continue
            for word, signs in self._by_first_piece.get(piece[0], ()):
                start = piece.start() - signs
                stop = start + len(word)
                is_whole = not (word[-1].isalnum() and lower[stop : stop + 1].isalnum())
                if start >= end and is_whole and lower.startswith(word, start):
                    yield start, stop
                    end = stop
                    break
