"""How data is shown: HTML and plain text. Used by the command line, the site and the directives. Knows neither Sphinx nor files.

Start with `html`, which all of it is made of: text is escaped by default, and with `table`: whatever has rows and columns is a `Table`, which is
written as HTML, Markdown, text or CSV. `tables/` and `figures/` show parts of a dataset, `diff/` a comparison.
`templates` makes pages. `marks`, `hover`, `inline` and `targets` are details of tables and figures.
"""
