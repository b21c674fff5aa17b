"""Tables as HTML. Start with `tables` (the numbers of one series) and `plain` (tables of words); the other modules are named after what they show."""
