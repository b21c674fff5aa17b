"""Limits for simulated shares, which differ from the true share by chance. They differ more if there are few reports. All seeds are fixed."""

from __future__ import annotations

from scipy.stats import binom

_LUCK = 0.01


def at_most(share: float, reports: int) -> float:
    """Return an upper limit for the share that a simulation finds. One in a hundred simulations exceeds the limit if the true share is ``share``."""
    return float(binom.ppf(1 - _LUCK, reports, share) / reports)


def at_least(share: float, reports: int) -> float:
    """Return a lower limit for the share that a simulation finds. One in a hundred simulations is below the limit if the true share is ``share``."""
    return float(binom.ppf(_LUCK, reports, share) / reports)
