"""What a site offers to programs: the newest results, badges, a feed, and how to cite it."""
