"""How a text is cut into tokens, and how tokens that hold no name are recognised at once.

A text is cut once, at characters that no name can contain. Each token is then examined alone, with patterns that are anchored and limited in
length, so the work grows linearly with the text. Most tokens of a log differ only in their digits. `HarmlessTokens` remembers each shape (the
token with every digit written as 0) that was found harmless, and such tokens are not examined again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

# Quotes and brackets stand around names, a comma or a semicolon between them.
DELIMITERS = " \t\r\n\v\f\"'`<>()[]{},;|"
TOKEN = re.compile(rf"[^\s{re.escape(DELIMITERS.strip())}]+")
LONGEST_TOKEN = 512  # A longer token is not a word. It is shown if it holds digits and signs only, else masked.
PIECE = re.compile(r"[A-Za-z0-9]+")
SHAPE = str.maketrans({**dict.fromkeys("123456789", "0"), **dict.fromkeys(DELIMITERS, " ")})
_MOST_SHAPES = 50_000


class HarmlessTokens:
    """Recognises texts that need no closer look, because every token has a shape that was found harmless before."""

    def __init__(self, may_matter: Callable[[str], bool]) -> None:
        """``may_matter`` says whether a token of this shape may be a part of something that is replaced."""
        self._may_matter = may_matter
        self._harmless: set[str] = set()
        self._suspicious: set[str] = set()

    def knows(self, token: str) -> bool:
        """Whether a token was found harmless before."""
        return token.translate(SHAPE) in self._harmless

    def __call__(self, text: str) -> bool:
        """Whether nothing in the text can be replaced."""
        shapes = text.translate(SHAPE).split()
        if self._harmless.issuperset(shapes):
            return True
        unknown = set(shapes) - self._harmless
        for known in (self._harmless, self._suspicious):
            if len(known) > _MOST_SHAPES:
                known.clear()  # A log of noise has new words on each line. The memory for them is limited.
        fresh = unknown - self._suspicious
        suspicious = {shape for shape in fresh if self._may_matter(shape)}
        self._suspicious |= {shape for shape in suspicious if len(shape) <= LONGEST_TOKEN}
        self._harmless |= {shape for shape in fresh - suspicious if len(shape) <= LONGEST_TOKEN}
        return not suspicious and len(fresh) == len(unknown)


class WordFinder:
    """Finds given names in texts, as whole words and in any case. A text is read once, however many names there are."""

    def __init__(self, words: Iterable[str]) -> None:
        """``words`` are in lower case."""
        # By the letters and digits that each name begins with, the longest name first.
        self._by_first_piece: dict[str, list[str]] = {}
        for word in sorted(words, key=lambda word: (-len(word), word)):
            piece = PIECE.search(word)
            if piece and piece.start() == 0:
                self._by_first_piece.setdefault(piece[0], []).append(word)
        self.first_shapes = frozenset(piece.translate(SHAPE) for piece in self._by_first_piece)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield start and end of each name in the text."""
        if not self._by_first_piece:
            return
        lower, end = text.lower(), 0
        if len(lower) != len(text):  # a few capital letters become two characters in lower case
            lower = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
        for piece in PIECE.finditer(lower):
            if piece.start() < end:
                continue
            for word in self._by_first_piece.get(piece[0], ()):
                stop = piece.start() + len(word)
                if lower.startswith(word, piece.start()) and not lower[stop : stop + 1].isalnum():
                    yield piece.start(), stop
                    end = stop
                    break
