"""The shown part of a dataset, as plain data: selections, series, rankings."""
