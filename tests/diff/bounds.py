"""How far a simulated share may differ from the true share by chance: farther if there are fewer reports. Seeds are fixed, so results do not vary."""

from __future__ import annotations

from scipy.stats import binom

_LUCK = 0.01


def at_most(share: float, reports: int) -> float:
    """Return the share that one in a hundred simulations exceeds if the true share is ``share``."""
    return float(binom.ppf(1 - _LUCK, reports, share) / reports)


def at_least(share: float, reports: int) -> float:
    """Return the share that one in a hundred simulations does not reach if the true share is ``share``."""
    return float(binom.ppf(_LUCK, reports, share) / reports)
