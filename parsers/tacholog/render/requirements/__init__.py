"""Requirements and their verdicts as text, Markdown, JUnit XML, badges, and a table for a page."""
