"""Columns of objects that many rows share, such as lists of marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


def objects_of(column: pd.Series) -> tuple[NDArray[np.int64], list[Any]]:
    """Return the place of each row's object in a list of objects. To look into the object of each row takes several times as long.

    Two objects of the list may be equal.
    """
    import numpy as np
    import pandas as pd

    values = column.tolist()
    codes, identities = pd.factorize(np.fromiter(map(id, values), np.int64, len(values)))
    row_of = np.empty(len(identities), dtype=np.int64)
    row_of[codes] = np.arange(len(values))
    return codes, [values[row] for row in row_of.tolist()]
