"""Distributions inside cells, fitted to what a release states."""
