"""Checking a release against its original: for the owner, and for outsiders by a small program."""
