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
_WORDS = (2, 4, 8)  # The words of a machine that hold the characters of a number, in bytes.
_LONG = _WORDS[-1]
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
    found = np.empty(bounds.shape[1::-1]).T  # Whoever reads them reads them by columns too.
    dots = 0
    before = np.concatenate([[0], bounds[:-1, -1, 1]])  # where the number before ends
    for column in range(bounds.shape[1]):
        starts, ends = np.ascontiguousarray(bounds[:, column, 0]), np.ascontiguousarray(bounds[:, column, 1])
        _, dot, fraction = text[starts[0] : ends[0]].partition(b".")
        lengths, places = ends - starts, len(fraction)
        longest, shortest = int(lengths.max()), int(lengths.min())
        if longest - len(dot) > _MOST_DIGITS or shortest - len(dot) < max(1, places):
            return None
        if dot:
            if not (characters[ends - (places + 1)] == _DOT).all():
                return None
            dots += rows
        found[:, column] = _whole(text, ends, lengths, longest, places if dot else None, int((ends - before).min()))
        if dot:
            found[:, column] /= 10.0**places
        before = ends
    return found if np.count_nonzero(characters == _DOT) == dots else None  # Else a number has a second dot, or one where the first row has none.


def _whole(text: bytes, ends: Integers, lengths: Integers, longest: int, places: int | None, blank: int) -> Integers:
    """Return the whole numbers that end before these places of a text, of at most 15 digits. A dot within them is passed over.

    Args:
        text: the text.
        ends: behind the last character of each number.
        lengths: how many characters each number has.
        longest: the largest of these.
        places: how many digits stand behind the dot; ``None`` if there is none.
        blank: so many characters before the end of each number hold nothing but this number and blanks.
    """
    import numpy as np

    found: Integers
    if longest <= _LONG:
        size = next(size for size in _WORDS if longest <= size)
        return _in_words(text, ends, None if blank >= size else lengths, size, places)
    if places is None:
        low, high = np.minimum(lengths, _LONG), np.maximum(lengths - _LONG, 0)
        found = _in_words(text, ends, low, _LONG) + _in_words(text, ends - _LONG, high, _LONG) * 10**_LONG
        return found
    whole = lengths - (places + 1)
    fraction = _whole(text, ends, np.full(len(ends), places), places, None, places)
    found = _whole(text, ends - (places + 1), whole, int(whole.max()), None, 0) * 10**places + fraction
    return found


def _in_words(text: bytes, ends: Integers, lengths: Integers | None, size: int, places: int | None = None) -> Integers:
    """Return the whole numbers of which the characters fit into words of this size. ``None`` for lengths: only blanks stand before them.

    Steps inside of each word add neighbours up: pairs, fours, all eight. Source: Lemire, "Quickly parsing eight digits" (2018).
    """
    import numpy as np

    kind: Any = np.dtype(f"<u{size}")

    def constant(value: int) -> Any:  # noqa: ANN401 - an integer of that kind
        return kind.type(value >> 8 * (_LONG - size))

    beginning = np.ndarray((len(text) - size + 1,), dtype=kind, buffer=text, strides=(1,))  # the word that begins at each character
    word: Any = beginning[ends - size]
    if lengths is not None:
        before = (8 * (size - lengths)).astype(kind)  # Bits of other characters. The first character is in the lowest bits.
        word >>= before
        word <<= before
    word &= constant(0x0F0F0F0F_0F0F0F0F)  # Nothing is left of a blank.
    if places is not None:  # The digits before the dot take its place.
        behind = kind.type((1 << 8 * size) - (1 << 8 * (size - places)))
        word = (word & behind) | ((word << kind.type(8)) & ~behind)
    for bits, factor, mask in ((8, 10, 0x00FF00FF_00FF00FF), (16, 100, 0x0000FFFF_0000FFFF), (32, 10_000, 0x00000000_FFFFFFFF)):
        if bits < 8 * size:
            word = (word * kind.type(factor) + (word >> kind.type(bits))) & constant(mask)
    found: Integers = word.astype(np.int64)
    return found
