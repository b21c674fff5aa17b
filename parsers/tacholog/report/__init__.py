"""The site: what the dataset says, as words, figures, tables and pages.

`facts` is the only module here that reads pandas frames; the others work on its typed rows. Nothing here knows Sphinx, but `build`, which runs it.
"""
