"""Figures: what is drawn, as SVG and as a Plotly spec."""
