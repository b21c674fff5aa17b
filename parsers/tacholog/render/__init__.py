"""Data as HTML and plain text, for the command line, the site and the directives. This package uses neither Sphinx nor files.

Start with `html`, which makes all HTML and escapes text by default. Then read `table`: everything with rows and columns is a `Table`, which is
written as HTML, Markdown, text or CSV. `tables/` and `figures/` show parts of a dataset, `home/` shows the home page, `diff/` a comparison, and
`answers` the answers to questions. `templates` fills the templates of pages.
"""
