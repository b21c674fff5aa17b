"""A diff in words. `document` holds all sentences and tables; `text` and `page` write them as text, Markdown and HTML."""
