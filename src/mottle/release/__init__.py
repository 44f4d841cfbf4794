"""Releases: the published table, its columns, its certificate, and the owner's links."""
