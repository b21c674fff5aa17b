"""Runs as tables: pandas frames with every number of every log, and with quality marks."""
