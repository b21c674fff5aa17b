"""A diff in words. `document` says all of it once, in sentences and tables; `text` and `page` write that as text, Markdown and HTML."""
