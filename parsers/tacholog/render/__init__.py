"""What is shown, as HTML and words. Used by the command line, the site and the directives. Knows neither Sphinx nor files."""
