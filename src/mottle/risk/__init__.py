"""The risk of a table before and after: uniques, individual and household risk, k-map, SUDA.

These are measures for the owner, by the names that users of sdcMicro, μ-ARGUS and ARX know. They
promise nothing: what a release promises stands on its certificate (`mottle.guarantees`).
"""

from __future__ import annotations

from mottle.risk.individual import household_risk, individual_risk
from mottle.risk.keys import Keys
from mottle.risk.measure import measure_risk
from mottle.risk.population import PopulationUniques, population_uniques
from mottle.risk.report import RiskFigure, RiskReport, SinglingValue
from mottle.risk.special_uniques import SpecialUniques, special_uniques

__all__ = [
    "Keys",
    "PopulationUniques",
    "RiskFigure",
    "RiskReport",
    "SinglingValue",
    "SpecialUniques",
    "household_risk",
    "individual_risk",
    "measure_risk",
    "population_uniques",
    "special_uniques",
]
