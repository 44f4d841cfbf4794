"""All figures, in the order of the papers."""

from __future__ import annotations

from benchmarks.reproduce import nh10
from benchmarks.reproduce.figure import Figure

FIGURES: list[Figure] = [
    figure for paper in (nh10,) for figure in (*paper.FIGURES, *paper.EXPERIMENTS)
]
