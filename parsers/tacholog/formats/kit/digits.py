"""The numbers in a text as floats, a column of them at a time.

A number of up to 15 digits is a whole number below 2**53, divided by a power of ten that a float holds exactly. One division rounds once, so it
gives the float that is nearest to what is written, as reading the number alone would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

_BLANK, _DOT = b" ."
_LONG, _SHORT = 8, 4  # The words of a machine that hold the digits of a number, in bytes.
_MOST_DIGITS = 15
_WORTH_COLUMNS = 500  # Rows. To begin with columns takes longer than to read fewer rows number by number.
_MARGIN = b" " * 2 * _LONG  # So that a word can end at any number.


def numbers_of(text: bytes, rows: int, least_rows: int = _WORTH_COLUMNS) -> NDArray[np.float64]:
    """Return the numbers in a text of digits, dots and blanks, with as many in each row.

    At least ``least_rows`` rows are read column by column; the numbers do not depend on it.

    Raises:
        ValueError: they cannot be put into so many rows of one length.
    """
    import numpy as np

    found = _by_columns(_MARGIN + text + b" ", rows) if rows >= least_rows else None
    # It takes two to three times as long for many numbers, and reads any.
    return np.fromstring(text.decode("ascii"), dtype=np.float64, sep=" ").reshape(rows, -1) if found is None else found


def _by_columns(text: bytes, rows: int) -> NDArray[np.float64] | None:
    """Return the numbers; ``None`` if those of a column differ in the places behind the dot, or one of them has too many digits."""
    import numpy as np

    characters = np.frombuffer(text, dtype=np.uint8)
    inside = characters != _BLANK
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    if not rows or not len(edges) or len(edges) % (2 * rows):
        return None
    bounds = edges.reshape(rows, -1, 2)
    found = np.empty(bounds.shape[:2])
    dots = 0
    for column in range(bounds.shape[1]):
        starts, ends = np.ascontiguousarray(bounds[:, column, 0]), np.ascontiguousarray(bounds[:, column, 1])
        _, dot, fraction = text[starts[0] : ends[0]].partition(b".")
        places, digits = len(fraction), ends - starts - len(dot)
        if int(digits.max()) > _MOST_DIGITS or int(digits.min()) < max(1, places):
            return None
        if not dot:
            found[:, column] = _whole(text, ends, digits)
            continue
        at = ends - (places + 1)
        if not (characters[at] == _DOT).all():
            return None
        dots += rows
        found[:, column] = (_whole(text, at, digits - places) * 10**places + _whole(text, ends, places)) / 10.0**places
    return found if np.count_nonzero(characters == _DOT) == dots else None  # Else a number has a second dot, or one where the first row has none.


def _whole(text: bytes, ends: Integers, digits: Integers | int) -> Integers:
    """Return the whole numbers that end before these places of a text and have so many digits, at most 15."""
    import numpy as np

    longest = int(np.max(digits))
    if longest <= _LONG:
        return _in_words(text, ends, digits, _SHORT if longest <= _SHORT else _LONG)
    low, high = np.minimum(digits, _LONG), np.maximum(np.subtract(digits, _LONG), 0)
    found: Integers = _in_words(text, ends, low, _LONG) + _in_words(text, ends - _LONG, high, _LONG) * 10**_LONG
    return found


def _in_words(text: bytes, ends: Integers, digits: Integers | int, size: int) -> Integers:
    """Return the whole numbers whose digits fit into words of this size. Steps inside of each word add neighbours up: pairs, fours, all eight.

    Source: Lemire, "Quickly parsing eight digits" (2018).
    """
    import numpy as np

    kind: Any = np.dtype(f"<u{size}")

    def constant(value: int) -> Any:  # noqa: ANN401 - an integer of that kind
        return kind.type(value >> 8 * (_LONG - size))

    beginning = np.ndarray((len(text) - size + 1,), dtype=kind, buffer=text, strides=(1,))  # the word that begins at each character
    before = (8 * (size - np.asarray(digits))).astype(kind)  # Bits of other characters. The first character is in the lowest bits.
    word: Any = (beginning[ends - size] >> before << before) & constant(0x0F0F0F0F_0F0F0F0F)
    for bits, factor, mask in ((8, 10, 0x00FF00FF_00FF00FF), (16, 100, 0x0000FFFF_0000FFFF), (32, 10_000, 0x00000000_FFFFFFFF)):
        if bits < 8 * size:
            word = (word * kind.type(factor) + (word >> kind.type(bits))) & constant(mask)
    found: Integers = word.astype(np.int64)
    return found
