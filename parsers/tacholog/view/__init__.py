"""The part of a dataset that a page shows, as plain data: selections, series, rankings."""
