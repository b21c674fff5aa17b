"""The lines that a format got. Each line waits until its class is known, so that no line disappears."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacholog.formats.kit.bulk import Bulk, Lines
from tacholog.formats.kit.lines import Line

if TYPE_CHECKING:
    # At run time, only the functions that use NumPy import it: most logs are read without it.
    import numpy as np
    from numpy.typing import NDArray

CLAIM_WINDOW_LINES = 4096
HELD_CHARACTERS = 1 << 23  # The limit for lines that wait until their class is known, and for lines that wait to be reported.
UNKNOWN_IN_A_ROW = 10_000  # Further unknown lines are reported as one event, so that a 2 GB file of noise does not fill the memory.
_NO_RUN = Lines(0, b"", Bulk(b""))


class WaitingLines:
    """The lines that a format got, but has not claimed.

    Attributes:
        reached: the number of the last line that the format got.
        late: lines that the format did not claim in time; they wait to be reported.
        stretch: three numbers about the late lines for which ``late`` has no space: the first line, the last line, and how many lines they are.
    """

    def __init__(self) -> None:
        self.reached = 0
        self.late: list[Line] = []
        self.stretch: tuple[int, int, int] | None = None
        self._late_characters = 0
        self._lines: dict[int, Line] = {}
        self._characters = 0
        self._run = _NO_RUN  # The latest lines that the format got together. `_claimed` has a flag for each of them.
        self._claimed = bytearray()

    def give(self, line: Line) -> None:
        """Note that the format gets a line."""
        if self._claimed:
            self._hold_unclaimed_lines()
        self._hold(line)
        self.reached = line.number

    def give_run(self, run: Lines) -> None:
        """Store many lines that the format gets together. The format may claim each of these lines later."""
        if self._claimed:
            self._hold_unclaimed_lines()
        self._run, self._claimed = run, bytearray(run.count)
        self.reached = run.number + run.count - 1

    def text(self, line: Line) -> str:
        """Return the text of a line as it is in the log.

        If the line was claimed before, this text is not stored any more, and the text that the format got is returned.
        """
        return self._lines.get(line.number, line).text

    def claim(self, number: int) -> Line | None:
        """Claim a line, and return it; ``None`` if the line was claimed before."""
        index = number - self._run.number
        if 0 <= index < len(self._claimed):
            claimed, self._claimed[index] = self._claimed[index], 1
            return None if claimed else self._run.line(index)
        line = self._lines.pop(number, None)
        self._characters -= len(line.text) if line else 0
        return line

    def claim_all(self, lines: Line | Lines) -> Sequence[int]:
        """Claim lines, and return the numbers of the lines that were not claimed before."""
        if isinstance(lines, Line):
            return (lines.number,) if self.claim(lines.number) else ()
        start = lines.number - self._run.number
        part = slice(start, start + lines.count)
        if start >= 0 and self._claimed[part] == bytes(lines.count):
            self._claimed[part] = b"\x01" * lines.count
            return range(lines.number, lines.number + lines.count)
        return [number for number in range(lines.number, lines.number + lines.count) if self.claim(number)]

    def claim_places(self, lines: Lines, indices: NDArray[np.int64]) -> bool:
        """Claim the lines with these indices, and return true. If one of the lines cannot be claimed, claim no line, and return false.

        The lines can be claimed if they are part of the latest `give_run`, and if none of them was claimed before.
        """
        import numpy as np

        claimed = np.frombuffer(self._claimed, dtype=np.uint8)
        start = lines.number - self._run.number
        if start < 0 or start + lines.count > len(claimed) or claimed[start + indices].any():
            return False
        claimed[start + indices] = 1
        return True

    def expire(self) -> None:
        """Move all waiting lines to the late lines, because the log has ended."""
        self._hold_unclaimed_lines()
        self._expire(0, 0)

    def forget_late(self) -> None:
        """Forget the late lines."""
        self.late, self.stretch, self._late_characters = [], None, 0

    def _hold_unclaimed_lines(self) -> None:
        run, claimed = self._run, self._claimed
        self._run, self._claimed = _NO_RUN, bytearray()
        index = claimed.find(0)
        while index >= 0:
            self._hold(run.line(index))
            index = claimed.find(0, index + 1)

    def _hold(self, line: Line) -> None:
        self._lines[line.number] = line
        self._characters += len(line.text)
        if len(self._lines) > CLAIM_WINDOW_LINES or self._characters > HELD_CHARACTERS:
            self._expire(CLAIM_WINDOW_LINES, HELD_CHARACTERS)

    def _expire(self, lines: int, characters: int) -> None:
        """Move the oldest waiting lines to the late lines until few enough wait.

        Args:
            lines: how many lines may wait.
            characters: how many characters these lines may have in total.
        """
        while len(self._lines) > lines or self._characters > characters:
            number = next(iter(self._lines))
            line = self.claim(number)
            if line and len(self.late) < UNKNOWN_IN_A_ROW and self._late_characters < HELD_CHARACTERS:
                self.late.append(line)
                self._late_characters += len(line.text)
            else:
                first, _, count = self.stretch or (number, number, 0)
                self.stretch = (first, number, count + 1)
