"""The bins of latency distributions. They are compressed when a log is read, because most distributions are only stored and copied."""

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

# NumPy and pandas take long to import, and many commands do not need them. So each function that needs them imports them.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WIDTH = 3
_WORD_BYTES = 8


class NoDistribution(TachologError):
    """The bytes are not a packed distribution."""


class PackedDistribution(msgspec.Struct, frozen=True, weakref=True):
    """The bins of a latency distribution, in ascending order. As an array they have the shape (n, 3): lower end and upper end in ns, and count.

    A run of perftest has thousands of bins: 53 kB as numbers, 3 kB compressed.

    Attributes:
        packed: the bins as bytes, as `packed_bins` returns them. Equal bins have equal bytes.
    """

    packed: bytes = b""

    def array(self) -> NDArray[np.int64]:
        """Return the bins as an array of shape (n, 3).

        Raises:
            NoDistribution: the bytes are not a packed distribution.
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
        return zip(*self.array().T.tolist(), strict=True)

    def __len__(self) -> int:
        return len(self.array())

    def __repr__(self) -> str:
        """Return the number of bins. If a table is printed, the bytes of the bins would fill the screen."""
        try:
            return f"<Distribution of {len(self)} bins>"
        except NoDistribution:  # A table can be printed even if a distribution is damaged.
            return "<Distribution, damaged>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: ANN401 - as NumPy's protocol has it
        import numpy as np

        return np.array(self.array(), dtype=dtype, copy=copy)


def packed_bins(bins: NDArray[np.int64]) -> bytes:
    """Return the bins of a distribution as bytes.

    ``bins`` is an array of shape (n, 3). The bytes contain the distances between consecutive bins, their widths and their counts.

    First come the lowest bytes of all numbers, then the next higher bytes, and so on. Most numbers are small, so most of the higher bytes are 0.
    """
    import numpy as np

    if not len(bins):
        return b""
    lower, upper, count = bins.T
    words = np.empty((_WIDTH, len(bins)), dtype=np.int64)  # `np.diff` and `np.concatenate` take longer than the compression.
    words[0, 0] = lower[0]
    np.subtract(lower[1:], lower[:-1], out=words[0, 1:])
    np.subtract(upper, lower, out=words[1])
    words[2] = count
    # Each distribution is compressed separately. The digest of a run covers these bytes, so they must depend only on the bins.
    return zstd.compress(words.view(np.uint8).reshape(-1, _WORD_BYTES).T.tobytes(), 1)
