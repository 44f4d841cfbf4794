"""The risk of a table before and after: uniques, individual and household risk, k-map, SUDA.

These are measures for the owner, by the names that users of sdcMicro, μ-ARGUS and ARX know. They
promise nothing: what a release promises stands on its certificate (`mottle.guarantees`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mottle.risk.special_uniques import SpecialUniques, special_uniques
from mottle.utils.lazy import lazy_attributes

if TYPE_CHECKING:
    from mottle.risk.individual import household_risk, individual_risk
    from mottle.risk.keys import Keys
    from mottle.risk.measure import measure_risk
    from mottle.risk.population import PopulationUniques, population_uniques
    from mottle.risk.report import RiskFigure, RiskReport, SinglingValue
else:  # a run states on its certificate what `mottle.risk.certified` measures, and no more
    _PLACES = {
        "Keys": "mottle.risk.keys:Keys",
        "PopulationUniques": "mottle.risk.population:PopulationUniques",
        "RiskFigure": "mottle.risk.report:RiskFigure",
        "RiskReport": "mottle.risk.report:RiskReport",
        "SinglingValue": "mottle.risk.report:SinglingValue",
        "household_risk": "mottle.risk.individual:household_risk",
        "individual_risk": "mottle.risk.individual:individual_risk",
        "measure_risk": "mottle.risk.measure:measure_risk",
        "population_uniques": "mottle.risk.population:population_uniques",
    }
    __getattr__, __dir__ = lazy_attributes(__name__, _PLACES)

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
