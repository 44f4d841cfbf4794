"""The figures of the papers' evaluations: what they measure, run, drawn and judged.

``python -m benchmarks.reproduce`` runs them; `benchmarks.reproduce.registry` lists them.
"""
