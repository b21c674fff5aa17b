"""Numbers that are read from many lines together equal the numbers that are read from each line separately."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import tries

from tacholog.formats.kit.bulk import numbers_of

# These strategies make numbers of up to 15 digits, with or without a dot. Lines that are read in bulk contain only such numbers and blanks, because
# the kit has replaced all other characters by blanks.
WHOLE = st.from_regex(r"[0-9]{1,15}", fullmatch=True)
WITH_A_DOT = st.tuples(WHOLE, st.integers(0, 15)).map(lambda pair: f"{pair[0][: pair[1]]}.{pair[0][pair[1] :]}")


def fixed(digits: str, decimals: int) -> str:
    digits = digits.rjust(decimals + 1, "0")
    return f"{digits[: len(digits) - decimals]}.{digits[len(digits) - decimals :]}"


@st.composite
def rows_of_words(draw: st.DrawFn) -> list[list[str]]:
    """Draw rows of numbers that are written as texts. Most columns have a fixed number of decimals, as in the output of tools."""
    decimals = draw(st.lists(st.sampled_from([None, 0, 1, 2, 3, 6, 14, -1]), min_size=1, max_size=5))

    def word(count: int | None) -> str:
        if count is None:
            return draw(WHOLE)
        return draw(WITH_A_DOT | WHOLE) if count < 0 else fixed(draw(st.from_regex(r"[0-9]{1,14}", fullmatch=True)), count)

    return [[word(count) for count in decimals] for _ in range(draw(st.integers(1, 6)))]


@settings(deadline=None, max_examples=tries(100, 500))
@given(rows_of_words(), st.integers(1, 9))
def test_each_number_is_read_as_the_nearest_float(rows: list[list[str]], gap: int) -> None:
    text = "".join(" " * gap + (" " * gap).join(row) + "  " for row in rows)

    assert numbers_of(text.encode(), len(rows), least_rows=1).tolist() == [[float(word) for word in row] for row in rows]


@pytest.mark.parametrize(
    ("text", "rows", "numbers"),
    [
        ("16 0.3 ", 1, [[16.0, 0.3]]),
        ("  1.005  12.500 ", 2, [[1.005], [12.5]]),
        ("123456789012345 9 ", 1, [[123456789012345.0, 9.0]]),
        ("12345678.9012345 ", 1, [[12345678.9012345]]),
        ("5. .5 ", 1, [[5.0, 0.5]]),
        ("1.5 2.25 ", 2, [[1.5], [2.25]]),
        ("1.5 22 ", 2, [[1.5], [22.0]]),
        ("22 1.5 ", 2, [[22.0], [1.5]]),
        ("12345678901234567890 ", 1, [[12345678901234567890.0]]),
        ("0.000000000000001 ", 1, [[1e-15]]),
        ("00000000 000000001 ", 1, [[0.0, 1.0]]),
        ("12345 9 1 9 ", 2, [[12345.0, 9.0], [1.0, 9.0]]),  # Only one blank separates the two rows, and "1" is short.
        ("9 12.25 9 1.50 ", 2, [[9.0, 12.25], [9.0, 1.5]]),
        ("       12 1234.567 1.250        3 1.500 22.125 ", 2, [[12.0, 1234.567, 1.25], [3.0, 1.5, 22.125]]),
    ],
)
def test_numbers_of_any_form_are_read(text: str, rows: int, numbers: list[list[float]]) -> None:
    assert numbers_of(text.encode(), rows, least_rows=1).tolist() == numbers
    assert numbers_of(text.encode(), rows).tolist() == numbers


def test_text_whose_numbers_do_not_fill_all_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot reshape"):
        numbers_of(b"1 2 3 ", 2)
