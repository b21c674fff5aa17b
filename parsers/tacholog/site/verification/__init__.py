"""Verifying a site or a folder of runs: every number is read again out of the logs."""
