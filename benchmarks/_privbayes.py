"""The differentially private reference of the benchmarks; see `mottle.evaluation.privbayes`."""

from mottle.evaluation.privbayes import epsilon_of, privbayes

__all__ = ["epsilon_of", "privbayes"]
