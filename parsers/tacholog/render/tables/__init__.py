"""Tables of a dataset. Start with `results`, which makes the tables of numbers. Tables of words are made by `tacholog.render.table`."""
