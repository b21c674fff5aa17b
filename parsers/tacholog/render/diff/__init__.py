"""A comparison in words. `document` contains all sentences and tables; `text` and `page` write them as text, Markdown and HTML."""
