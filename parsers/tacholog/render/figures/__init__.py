"""Figures: `figures` and `run_curves` choose the points, and `axes` the ticks. `svg` draws a figure, and `plots` adds it to a page."""
