"""The differentially private reference of the benchmarks; see `mottle.utility.privbayes`."""

from mottle.utility.privbayes import epsilon_of, privbayes

__all__ = ["epsilon_of", "privbayes"]
