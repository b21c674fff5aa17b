"""The stated reason why rows do not compare is true: a value of one side is searched in all rows of the other side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.render.diff.summary import apart_words
from tacholog.store.frames import Dataset

Side = Callable[..., Dataset]
GOODPUT = {"metric": "goodput", "statistic": "mean", "unit": "bit_per_s", "test": "throughput", "basis": None, "definition": "d"}
LOSS = {"metric": "loss", "statistic": "total", "unit": "ratio", "test": "throughput", "basis": None, "definition": "d"}
NO_RATE = (
    # If a transport lost all messages, or if its receiver printed nothing, only the loss is known.
    pytest.param(LOSS, np.array([[1.0, 1.0]]), id="loss"),
    # This side has only a number that is shown and not tested.
    pytest.param(GOODPUT | {"statistic": "max"}, np.array([[5e6, 6e6]]), id="untested"),
)


@pytest.mark.parametrize(("other", "values"), NO_RATE)
@pytest.mark.parametrize("turned", [False, True])
def test_transport_that_the_other_side_has_with_other_numbers_is_not_said_to_be_missing_there(
    side: Side, other: dict[str, object], values: np.ndarray, *, turned: bool
) -> None:
    poor = side(values, transport="UDP", **other)
    rich = side(np.array([[1.1e6, 1.2e6]]), transport="UDP", **GOODPUT)

    words = apart_words(compare(*((rich, poor) if turned else (poor, rich)), Policy()))

    assert words.startswith("1 row does not compare: 1 ")
    assert "transport" not in words
    assert "size" not in words


def test_transport_that_only_one_side_has_is_said_to_be_missing_on_the_other(side: Side) -> None:
    poor, rich = side(np.array([[1.0, 1.0]]), transport="TCP", **LOSS), side(np.array([[1.1e6, 1.2e6]]), transport="UDP", **GOODPUT)

    assert apart_words(compare(poor, rich, Policy())) == "1 row does not compare: 1 with a transport that only new has"
