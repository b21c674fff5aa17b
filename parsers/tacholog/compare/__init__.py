"""The rules of what may be compared, the changes between two sets of runs, and their statistical evidence."""
