"""What luck may do to the share that a simulation finds: the fewer the reports, the more. Seeds are fixed: no verdict changes by itself."""

from __future__ import annotations

from scipy.stats import binom

_LUCK = 0.01


def at_most(share: float, reports: int) -> float:
    """Return the share that is exceeded in one simulation of a hundred if ``share`` is the true one."""
    return float(binom.ppf(1 - _LUCK, reports, share) / reports)


def at_least(share: float, reports: int) -> float:
    """Return the share that is missed in one simulation of a hundred if ``share`` is the true one."""
    return float(binom.ppf(_LUCK, reports, share) / reports)
