"""What changed between two sets of runs, and how sure we are."""
