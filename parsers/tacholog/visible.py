"""Make hidden characters visible wherever text from outside is shown (pages, terminals).

Logs and manifests are written by strangers. A control character in a name can ring the bell or move the cursor of a terminal, a direction mark can
reverse a line, and an invisible letter can make two names look the same.
"""

from __future__ import annotations

import re
import unicodedata

# Control characters except tab and line ends (C0, DEL, C1), soft hyphen, line separators, invisible and direction marks, noncharacters.
INVISIBLE = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff"
)
# What terminals are told, and what nobody sees: within a name, it must not hide the name from who looks for it.
UNSEEN = re.compile(
    rf"\x1b\[[0-?]{{0,100}}[ -/]{{0,20}}[@-~]|\x1b\][^\x07\x1b]{{0,1000}}(?:\x07|\x1b\\)?|[{INVISIBLE}]",
)
ACCENTS = re.compile(r"[\u0300-\u036f]+")  # as characters of their own
_HIDDEN = rf"{INVISIBLE}\r\ud800-\udfff"
HIDDEN = re.compile(f"[{_HIDDEN}]")
HIDDEN_IN_LINE = re.compile(f"[\n{_HIDDEN}]")
_PICTURES = 0x2400  # Unicode has a picture for each C0 control character, in the same order


def is_blank(text: str) -> bool:
    """Return whether nothing of a text can be seen: it is blank, or only tells a terminal something."""
    return not ACCENTS.sub("", UNSEEN.sub("", text)).strip()


def one_form(text: str) -> str:
    """Return a name with each letter in one form (NFC): names that look the same are the same. macOS takes an accent apart from its letter."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def sign(char: str) -> str:
    """Return the symbol for a hidden character: its picture, or its number."""
    code = ord(char)
    return chr(_PICTURES + code) if code < ord(" ") else f"\\u{{{code:x}}}"


def drawn(text: str) -> str:
    """Return ``text`` with hidden characters made visible. Line ends and tabs stay."""
    return HIDDEN.sub(lambda match: sign(match[0]), text)


def drawn_in_line(text: str) -> str:
    """Return ``text`` as one line, with hidden characters and line ends made visible."""
    return HIDDEN_IN_LINE.sub(lambda match: sign(match[0]), text)


# What a spreadsheet would take for a formula. It does not for one sign alone, such as that of a bound, nor for a negative number.
_FORMULA = re.compile(r"(?=[=+\-@\t\r].)(?!-[\d.]+\Z)", re.DOTALL)


def no_formula(text: str) -> str:
    """Return a text for a file that spreadsheets open, as CSV: an apostrophe stands before what they would take for a formula, and run.

    The scripts of the pages have the same rule: `tachologCsv` in ``tacholog.js``.
    """
    return f"'{text}" if _FORMULA.match(text) else text
