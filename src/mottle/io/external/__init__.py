"""Releases that other tools wrote."""
