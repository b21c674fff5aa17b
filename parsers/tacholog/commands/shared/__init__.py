"""Code that several commands share: the output of results, plans, progress and problems, and the checks of paths."""
