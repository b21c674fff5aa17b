"""What `tacholog report` writes beside the pages of Sphinx: pages of logs, raw logs, downloads. Each is written only if its content changed."""
