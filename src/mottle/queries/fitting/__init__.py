"""Distributions inside cells, fitted to the information in a release."""
