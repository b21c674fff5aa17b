"""A diff as text, Markdown and HTML."""
