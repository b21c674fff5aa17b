"""Replace the names in the texts of one run.

There are two levels of protection:

- Free text (`Redactor.free`): only numbers and the words of ``public_words.txt`` are shown.
- Public text (`Redactor.text`), such as a field of the schema or a result line: names that were found anywhere in the data, addresses, folders and
  secrets are replaced, although such text should not contain any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from tacholog.privacy.find_names import ADDRESS_IN_NAME, IPV4, MAC, NameSpan, find_names, identifies, split_path
from tacholog.privacy.free_text import is_public, masked
from tacholog.privacy.known_names import KnownNames
from tacholog.privacy.settings import HOST_PSEUDONYM, Kind, host_pseudonym
from tacholog.privacy.tokens import HarmlessTokens, WordFinder, folded, plain

_VERSION_BEFORE = re.compile(r"(?:\bv|version|release|\bver)\W{0,3}$", re.IGNORECASE)
_LOOK_BACK = 12  # a word such as "version" is searched for in this many characters before an address


class Redactor:
    """Replaces names in the texts of one run. All names must be collected before a redactor is created."""

    def __init__(self, names: KnownNames, machine: str | None = None) -> None:
        """``machine`` is the pseudonym of the machine on which the run was made."""
        self.privacy = names.privacy
        self._names, self.machine = names, machine
        self._numbers: dict[str, dict[str, int]] = {}
        self._hidden = {folded(plain(word)) for word in self.privacy.hide}
        self._find_hidden = WordFinder(self._hidden)
        self._screening = names.screening()

    @property
    def numbers(self) -> dict[str, dict[str, int]]:
        """The number that each name of this run has, by the kind of name. Redacted texts show the kind and the number in place of the name."""
        return self._numbers

    def continue_from(self, numbers: dict[str, dict[str, int]]) -> None:
        """Use the numbers that earlier texts of this run gave to their names. New names get the next numbers."""
        self._numbers = numbers

    def variant(self, text: str) -> int:
        """Return a number for a text that is masked. The same text has the same number in all runs.

        The number is not a hash: with a hash, a reader could guess the text and check the guess.
        """
        return self._names.variants.setdefault(text, len(self._names.variants) + 1)

    def distinct(self, text: str, original: str) -> str:
        """Return the text that replaces an original.

        If this text already replaces another original, in any run, a number is appended to it.
        """
        originals = self._names.originals.setdefault(text, [])
        if original not in originals:
            originals.append(original)
        index = originals.index(original)
        return f"{text} ({index + 1})" if index else text

    def is_harmless(self, text: str) -> bool:
        """Whether redaction never changes this text: in every run, the method `text` returns the text unchanged."""
        return self._screening.harmless(text) and plain(text) == text

    def redacted_as_seen(self, text: str, redact: Callable[[str], str]) -> str:
        """Redact a text without its invisible characters. If nothing is replaced, the text stays unchanged.

        Invisible characters can hide a name in two ways: inside the name, or between the name and an adjacent word.
        """
        visible = plain(text)
        if visible == text:
            return redact(text)
        redacted = redact(plain(self._without_known_names(text)))
        # The title of a terminal's window is inside a control sequence. It is not in `visible`, so no name was searched for in it.
        return text if redacted == visible and "\x1b]" not in text else redacted

    def text(self, text: str) -> str:
        """Return public text without names."""
        return text if self.is_harmless(text) else self.redacted_as_seen(text, self._text)

    def version(self, text: str) -> str:
        """Redact a public text that may begin with a version.

        Four numbers at its start are a version, and not an address. The rest is redacted as in `text`.
        """
        four = IPV4.match(text)
        return f"{four[0]}{self.text(text[four.end() :])}" if four and self._without_known_names(four[0]) == four[0] else self.text(text)

    def _text(self, text: str) -> str:
        out, position = [], 0
        for span in _without_overlaps([*self._to_replace(text), *self._hidden_words(text)]):
            out += [self._without_known_names(text[position : span.start]), self._replacement(span, text)]
            position = span.end
        return "".join([*out, self._without_known_names(text[position:])])

    def is_harmless_free(self, text: str) -> bool:
        """Whether `free` returns this text unchanged in every run."""
        return self.is_harmless(text) if self.privacy.free_text == "show" else self.harmless_by(is_public)(text) and plain(text) == text

    def free(self, text: str) -> str:
        """Return free text with only its numbers and public words, and without names."""
        return text if self.is_harmless_free(text) else self.redacted_as_seen(text, self._free)

    def _free(self, text: str) -> str:
        without_names = self.text(text)
        return without_names if self.privacy.free_text == "show" else masked(without_names, self._names.hides)

    def harmless_by(self, rule: Callable[[str], bool]) -> HarmlessTokens:
        """Return a recogniser for texts that may be shown unchanged: each token is public according to ``rule``, and no token is a name."""
        return self._screening.harmless_by(rule)

    def identifier(self, text: str) -> str:
        """Redact the name of a run, a log or a key. Only known names and addresses in it are replaced, so that links to it stay valid."""
        return self.redacted_as_seen(text, self._identifier)

    def _identifier(self, text: str) -> str:
        redacted = self._without_known_names(text)
        if self.privacy.hides("address"):
            for pattern in (MAC, ADDRESS_IN_NAME, IPV4):
                redacted = pattern.sub(lambda match: self._address(match[0], ""), redacted)
        return redacted

    def name(self, text: str, kind: Kind | Literal["session", "participant"]) -> str:
        """Return the pseudonym of a text that consists only of a name."""
        if kind in ("session", "participant"):
            return text if not self.privacy.hides("host") or self.free(text) == text else host_pseudonym(text, kind)
        return self._replaced(text, kind)  # type: ignore[arg-type]

    def _to_replace(self, text: str) -> Iterator[NameSpan]:
        for span in find_names(text, self._names.harmless):
            if self.privacy.hides(span.kind) and self._names.hides(text[span.start : span.end]):
                yield span

    def _hidden_words(self, text: str) -> Iterator[NameSpan]:
        return (NameSpan(start, end, "secret") for start, end in self._find_hidden.spans(text))

    def _replacement(self, span: NameSpan, text: str) -> str:
        original = text[span.start : span.end]
        if folded(original) in self._hidden:
            return self._numbered("hidden", folded(original))
        if span.kind == "address":
            return self._address(original, text[max(0, span.start - _LOOK_BACK) : span.start])
        return self._replaced(original, span.kind)

    def _replaced(self, original: str, kind: Kind) -> str:
        if not self.privacy.hides(kind) or not self._names.hides(original):
            return original
        if kind == "host":
            return self._host(original)
        if kind == "user":
            return self._numbered("user", folded(original))
        if kind == "path":
            return self._path(original)
        return self._address(original, "") if kind == "address" and identifies(original) else self._numbered(kind, original)

    def _host(self, word: str) -> str:
        if HOST_PSEUDONYM.match(word):
            return word
        pseudonym = self._known_pseudonym(word)
        return pseudonym if pseudonym is not None else host_pseudonym(word)

    def _known_pseudonym(self, word: str) -> str | None:
        lower = folded(word)
        if lower in self._hidden:
            return self._numbered("hidden", lower)
        if self.machine is not None and lower in self._names.own_names.get(self.machine, ()):
            return self.machine
        pseudonym = self._names.hosts.get(lower) if self._names.hides(word) else None
        if pseudonym is not None:
            return pseudonym
        return self._numbered("user", lower) if lower in self._names.users else None

    def _without_known_names(self, text: str) -> str:
        out, position = [], 0
        for start, end in self._screening.find_known.spans(text):
            pseudonym = self._known_pseudonym(text[start:end])
            if pseudonym is not None:
                out += [text[position:start], pseudonym]
                position = end
        return "".join([*out, text[position:]]) if out else text

    def _address(self, text: str, before: str) -> str:
        if not self._names.hides(text) or not identifies(text) or _VERSION_BEFORE.search(before):
            return text
        return self._numbered("address", text.lower())

    def _path(self, text: str) -> str:
        """Replace the folder by a number. The name of the file is shown if it consists of public words."""
        folder, last = split_path(text)
        if not self._names.hides(folder.rstrip("/\\")):
            return text
        file_name = last if last and all(map(is_public, re.split(r"[.\-+@~%]+", last))) else ""
        return f"{self._numbered('path', folder)}/{file_name}" if file_name or not last else self._numbered("path", text)

    def _numbered(self, kind: str, original: str) -> str:
        numbers = self._numbers.setdefault(kind, {})
        return f"{kind}-{numbers.setdefault(original, len(numbers) + 1)}"


def _without_overlaps(names: Iterable[NameSpan]) -> Iterator[NameSpan]:
    """If names overlap, yield only the first name. If names start at the same position, yield only the longest name."""
    end = 0
    for name in sorted(names, key=lambda name: (name.start, -name.end)):
        if name.start >= end:
            yield name
            end = name.end
