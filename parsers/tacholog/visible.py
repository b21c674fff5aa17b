"""Make hidden characters visible wherever external text is shown (pages, terminals).

Logs and manifests are written by strangers. A control character in a name can ring the bell or move the cursor of a terminal.
A direction mark can reverse a line. An invisible letter can make two names look the same.
"""

from __future__ import annotations

import re
import unicodedata

# Control characters except tab and line ends (C0, DEL, C1), soft hyphen, line separators, invisible and direction marks, noncharacters.
INVISIBLE = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff"
)
# Control sequences of terminals, and invisible characters. Inside a name, they must not prevent a search from finding the name.
UNSEEN = re.compile(
    rf"\x1b\[[0-?]{{0,100}}[ -/]{{0,20}}[@-~]|\x1b\][^\x07\x1b]{{0,1000}}(?:\x07|\x1b\\)?|[{INVISIBLE}]",
)
ACCENTS = re.compile(r"[\u0300-\u036f]+")  # combining characters: each follows the letter that it changes
_HIDDEN = rf"{INVISIBLE}\r\ud800-\udfff"
HIDDEN = re.compile(f"[{_HIDDEN}]")
HIDDEN_IN_LINE = re.compile(f"[\n{_HIDDEN}]")
_PICTURES = 0x2400  # Unicode has a picture for each C0 control character, in the same order


def is_blank(text: str) -> bool:
    """Return whether a text is invisible: it is blank, or contains only accents and control sequences of terminals."""
    return not ACCENTS.sub("", UNSEEN.sub("", text)).strip()


def one_form(text: str) -> str:
    """Return a name in Unicode's NFC form, so that names that look the same are equal. macOS writes an accent as a separate character."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def sign(char: str) -> str:
    """Return the symbol for a hidden character: its picture, or its number."""
    code = ord(char)
    return chr(_PICTURES + code) if code < ord(" ") else f"\\u{{{code:x}}}"


def drawn(text: str) -> str:
    """Return ``text`` with hidden characters made visible. Line ends and tabs are not changed."""
    return HIDDEN.sub(lambda match: sign(match[0]), text)


def drawn_in_line(text: str) -> str:
    """Return ``text`` as one line, with hidden characters and line ends made visible."""
    return HIDDEN_IN_LINE.sub(lambda match: sign(match[0]), text)


# Text that a spreadsheet would interpret as a formula. A negative number or a single sign, such as the sign of a bound, is not a formula.
_FORMULA = re.compile(r"(?=[=+\-@\t\r].)(?!-[\d.]+\Z)", re.DOTALL)


def no_formula(text: str) -> str:
    """Return a text for a CSV file: an apostrophe is put before a text that a spreadsheet would execute as a formula.

    The scripts of the pages follow the same rule: `tachologCsv` in ``tacholog.js``.
    """
    return f"'{text}" if _FORMULA.match(text) else text
