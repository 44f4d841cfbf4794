"""Benchmarks: a script per subject, and the package `benchmarks.reproduce` for the papers."""
