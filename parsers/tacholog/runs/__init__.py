"""Folders of evidence: manifests, hosts, what a manifest states, and what is wrong with a folder."""
