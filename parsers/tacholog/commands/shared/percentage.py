"""Percentages as options: 5% or 5, which becomes 0.05."""

from __future__ import annotations

import math

import click


class Percentage(click.ParamType[float]):
    """A percentage above zero."""

    name = "percent"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the percentage as a share."""
        try:
            share = float(str(value).strip().removesuffix("%")) / 100
        except ValueError:
            share = math.nan
        if not 0 < share < math.inf:
            self.fail(f"{value!r} is not a percentage above zero, such as 5%", param, ctx)
        return share
