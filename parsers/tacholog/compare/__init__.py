"""What may be compared, what changed between two sets of runs, and how sure that is."""
