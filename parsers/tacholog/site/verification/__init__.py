"""The verification of a site or of a folder of runs: every number is read again from the logs."""
