"""What a log format is made of: lines, printed numbers, intervals, distributions. Authors of formats import nothing else."""
