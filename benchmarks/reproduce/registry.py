"""All figures, in the order of the papers."""

from __future__ import annotations

from benchmarks.reproduce import fast07, het, nh10, set12
from benchmarks.reproduce.figure import Figure

FIGURES: list[Figure] = [
    figure
    for paper in (fast07, nh10, het, set12)
    for figure in (*paper.FIGURES, *paper.EXPERIMENTS)
]
