"""The bins of latency distributions. They are packed when a log is read, because nearly all of them are only stored and copied."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from tacholog.errors import TachologError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# A command that reads no log and shows no table does without NumPy and pandas, which take long to import. So functions import them.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WIDTH = 3
_WORD_BYTES = 8


class NoDistribution(TachologError):
    """The bytes are no packed distribution."""


class PackedDistribution(msgspec.Struct, frozen=True, weakref=True):
    """The bins of a latency distribution, in ascending order. NumPy makes an array of shape (n, 3) of them: lower end, upper end (both in ns), count.

    A run of perftest has thousands of bins: 53 kB as numbers, of which packed 3 kB are left.

    Attributes:
        packed: the bins as bytes, as `packed_bins` returns them; the same for the same bins.
    """

    packed: bytes = b""

    def array(self) -> NDArray[np.int64]:
        """Return the bins as an array of shape (n, 3).

        Raises:
            NoDistribution: the bytes are none.
        """
        import numpy as np

        if not self.packed:
            return np.zeros((0, _WIDTH), dtype=np.int64)
        try:
            content = np.frombuffer(zstd.decompress(self.packed), dtype=np.uint8)
        except zstd.ZstdError as error:
            raise NoDistribution(f"a packed distribution is damaged: {error}") from error
        if len(content) % (_WIDTH * _WORD_BYTES):
            raise NoDistribution("a bin of a packed distribution does not have three numbers")
        steps, widths, counts = content.reshape(_WORD_BYTES, -1).T.copy().view(np.int64).reshape(_WIDTH, -1)
        lower = np.cumsum(steps)
        return np.stack((lower, lower + widths, counts), axis=1)

    def tolist(self) -> list[list[int]]:
        """Return the bins as lists of three numbers."""
        bins: list[list[int]] = self.array().tolist()
        return bins

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        """Yield the bins."""
        return zip(*self.array().T.tolist(), strict=True)

    def __len__(self) -> int:
        """How many bins there are."""
        return len(self.array())

    def __repr__(self) -> str:
        """Say how many bins there are. Their bytes would fill the screen of whoever looks at a table."""
        try:
            return f"<Distribution of {len(self)} bins>"
        except NoDistribution:  # A table with a damaged one can be looked at.
            return "<Distribution, damaged>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: ANN401 - as NumPy's protocol has it
        """Return the bins as an array."""
        import numpy as np

        return np.array(self.array(), dtype=dtype, copy=copy)


def packed_bins(bins: NDArray[np.int64]) -> bytes:
    """Return bins, an array of shape (n, 3), as bytes: the steps from each bin to the next, the widths and the counts.

    These are small numbers. The lowest bytes of all numbers come first, then the next ones, and so on. Most of the others are 0.
    """
    import numpy as np

    if not len(bins):
        return b""
    lower, upper, count = bins.T
    words = np.empty((_WIDTH, len(bins)), dtype=np.int64)  # `np.diff` and `np.concatenate` took longer than to compress it all.
    words[0, 0] = lower[0]
    np.subtract(lower[1:], lower[:-1], out=words[0, 1:])
    np.subtract(upper, lower, out=words[1])
    words[2] = count
    # Each by a compressor of its own: the digest of a run holds these bytes, which so depend on nothing but the bins.
    return zstd.compress(words.view(np.uint8).reshape(-1, _WORD_BYTES).T.tobytes(), 1)
