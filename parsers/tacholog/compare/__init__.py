"""What may be compared, what changed between two sets of runs, and how certain the change is."""
