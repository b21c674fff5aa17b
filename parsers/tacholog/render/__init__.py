"""The view of data as HTML and plain text, for the command line, the site and the directives. It knows neither Sphinx nor files.

Start with `html`: all HTML is made by it, and text is escaped by default. Then `table`: everything with rows and columns is a `Table`, which is
written as HTML, Markdown, text or CSV. `tables/` and `figures/` show parts of a dataset, `home/` the home page, `diff/` a comparison, `answers`
the answers to questions. `templates` makes pages.
"""
