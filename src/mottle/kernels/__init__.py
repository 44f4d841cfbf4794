"""Compiled inner loops that several methods share."""
