"""Figures: `figures` and `run_curves` choose the points, `axes` the ticks. `svg` draws a figure, and `plots` puts it on a page."""
