"""Figures: `figures` decides what is drawn and `axes` where the ticks are; `svg` and `spec` (for Plotly) draw it; `plots` puts both on a page."""
