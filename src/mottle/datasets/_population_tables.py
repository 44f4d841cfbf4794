"""The labels and shares from which the population is drawn: invented, merely plausible figures.

A table "by age" gives one row of relative shares at some ages; ages in between are interpolated.
Shares need not add up to anything: they are normalized before use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

AGES = 100  # ages 0 to 99
WORKING_AGE = 16  # younger people have neither work nor income

# fmt: off
PEOPLE_BY_AGE: dict[int, float] = {
    0: 95, 10: 105, 20: 112, 30: 132, 40: 128, 50: 142, 58: 146,
    65: 118, 75: 84, 80: 62, 85: 38, 90: 16, 95: 5, 99: 1,
}
# fmt: on
FEMALE_BY_AGE: dict[int, float] = {0: 0.487, 30: 0.49, 60: 0.506, 75: 0.54, 85: 0.62, 99: 0.78}

SEX = ("female", "male")

# ---------------------------------------------------------------------------------- education

# The highest level attended or completed, from the lowest to the highest.
EDUCATION = (
    "no schooling",
    "primary school",
    "lower secondary school",
    "upper secondary school",
    "vocational training",
    "bachelor's degree",
    "master's degree",
    "doctorate",
)
EDUCATION_BY_AGE: dict[int, tuple[float, ...]] = {
    5: (100, 0, 0, 0, 0, 0, 0, 0),
    6: (4, 96, 0, 0, 0, 0, 0, 0),
    10: (1, 99, 0, 0, 0, 0, 0, 0),
    12: (1, 30, 69, 0, 0, 0, 0, 0),
    14: (1, 4, 95, 0, 0, 0, 0, 0),
    15: (1, 3, 90, 6, 0, 0, 0, 0),
    16: (1, 3, 30, 58, 8, 0, 0, 0),
    17: (1, 3, 20, 60, 16, 0, 0, 0),
    18: (1, 3, 16, 55, 20, 5, 0, 0),
    21: (1, 3, 11, 34, 23, 28, 0, 0),
    22: (1, 3, 10, 30, 24, 29, 3, 0),
    26: (1, 3, 9, 24, 27, 21, 15, 0),
    27: (1, 3, 9, 23, 28, 20, 15, 1),
    35: (1, 3, 9, 22, 28, 19, 15.5, 2.5),
    50: (1, 4, 13, 25, 30, 14, 11, 2),
    65: (2, 8, 20, 25, 27, 10, 7, 1),
    80: (4, 20, 28, 22, 18, 5, 3, 0.5),
    99: (8, 32, 28, 18, 10, 3, 1, 0.3),
}
# A tilt multiplies the share of each level by exp(tilt × level): above 0 means more education.
WOMENS_EDUCATION_TILT: dict[int, float] = {15: 0.03, 25: 0.05, 45: 0.0, 65: -0.08, 90: -0.15}

# ------------------------------------------------------------------------------------- origin


class Region(NamedTuple):
    """A part of a continent, and how many people living in the home country come from it."""

    label: str
    continent: str
    education_tilt: float
    countries: Mapping[str, float]  # country -> relative share among those from abroad


HOME = "Netherlands"
HOME_BY_AGE: dict[int, float] = {0: 0.9, 15: 0.86, 25: 0.75, 40: 0.73, 60: 0.8, 80: 0.88, 99: 0.92}

REGIONS = (
    Region("Western Europe", "Europe", 0.0, {HOME: 0, "Germany": 9, "Belgium": 6, "France": 3}),
    Region("Northern Europe", "Europe", 0.05, {"United Kingdom": 5, "Sweden": 1, "Denmark": 0.7}),
    Region("Southern Europe", "Europe", -0.03, {"Italy": 4, "Spain": 4, "Portugal": 2.5}),
    Region(
        "Eastern Europe", "Europe", -0.02, {"Poland": 14, "Romania": 6, "Bulgaria": 4, "Ukraine": 5}
    ),
    Region("Western Asia", "Asia", -0.05, {"Turkey": 13, "Syria": 8, "Iraq": 4, "Iran": 3}),
    Region("South Asia", "Asia", 0.06, {"India": 6, "Pakistan": 2, "Sri Lanka": 0.8}),
    Region("East Asia", "Asia", 0.08, {"China": 5, "Japan": 0.8, "South Korea": 0.6}),
    Region("Southeast Asia", "Asia", 0.0, {"Indonesia": 9, "Vietnam": 1.5, "Philippines": 1.4}),
    Region("North Africa", "Africa", -0.06, {"Morocco": 11, "Egypt": 2, "Tunisia": 0.8}),
    Region(
        "Sub-Saharan Africa", "Africa", -0.05, {"Somalia": 2.5, "Ghana": 1.8, "South Africa": 1.6}
    ),
    Region("North America", "Americas", 0.08, {"United States": 3, "Canada": 0.9, "Mexico": 0.5}),
    Region("South America", "Americas", -0.02, {"Suriname": 12, "Brazil": 3, "Colombia": 1.5}),
    Region("Australia and Pacific", "Oceania", 0.05, {"Australia": 1.2, "New Zealand": 0.4}),
)
COUNTRIES = tuple(country for region in REGIONS for country in region.countries)

# ----------------------------------------------------------------------------- marital status

MARITAL_STATUS = ("never married", "married", "separated", "divorced", "widowed")
WOMENS_MARITAL_STATUS_BY_AGE: dict[int, tuple[float, ...]] = {
    17: (100, 0, 0, 0, 0),
    18: (98.5, 1.5, 0, 0, 0),
    20: (95, 5, 0, 0, 0),
    25: (76, 22, 1, 1, 0),
    30: (52, 43, 2, 3, 0.1),
    40: (27, 57, 3, 12, 1),
    50: (18, 58, 3, 18, 3),
    60: (11, 58, 2, 20, 9),
    70: (7, 52, 1, 16, 24),
    80: (6, 31, 0.5, 9, 53),
    90: (6, 11, 0.2, 5, 78),
    99: (6, 4, 0.1, 3, 87),
}
MENS_MARITAL_STATUS_BY_AGE: dict[int, tuple[float, ...]] = {
    17: (100, 0, 0, 0, 0),
    18: (99.5, 0.5, 0, 0, 0),
    20: (98, 2, 0, 0, 0),
    25: (85, 14, 0.5, 0.5, 0),
    30: (62, 35, 1.5, 1.5, 0.05),
    40: (34, 53, 3, 9.6, 0.4),
    50: (24, 58, 3, 14, 1),
    60: (15, 64, 2, 16, 3),
    70: (8, 70, 1, 13, 8),
    80: (5, 68, 0.5, 7, 19),
    90: (5, 48, 0.3, 4, 43),
    99: (5, 30, 0.2, 3, 62),
}

# ----------------------------------------------------------------------------------- workclass


class Workclass(NamedTuple):
    """A relation to work: who is in it, and what it pays to those without an occupation."""

    label: str
    women: float  # multiplies the share by age
    men: float
    by_education: tuple[float, ...]  # multiplies the share by age, one factor per level
    allowance: int  # median yearly income; 0 where the occupation decides
    income_missing: float  # the share of people whose income is not known


EVEN = (1.0,) * len(EDUCATION)
WORKCLASSES = (
    Workclass("child", 1, 1, EVEN, 0, 0.005),
    Workclass("student", 1.05, 0.95, (0.1, 0.2, 0.7, 1, 0.8, 1.4, 1.3, 1), 6_000, 0.012),
    Workclass("private employee", 0.95, 1.05, EVEN, 0, 0.013),
    Workclass("public employee", 1.3, 0.75, (0.2, 0.3, 0.5, 0.8, 0.9, 1.4, 1.7, 2.5), 0, 0.008),
    Workclass("self-employed", 0.7, 1.3, (0.7, 0.8, 0.8, 0.9, 1.1, 1.1, 1.3, 1.2), 0, 0.06),
    Workclass("homemaker", 1.8, 0.15, (2.5, 2, 1.4, 1, 0.9, 0.7, 0.6, 0.4), 2_500, 0.015),
    Workclass("unemployed", 0.9, 1.1, (2.5, 2.2, 1.7, 1.1, 0.9, 0.7, 0.6, 0.5), 12_000, 0.02),
    Workclass("retired", 1, 1, (1, 1, 1, 1, 1, 1, 0.9, 0.7), 21_000, 0.013),
)
WORKCLASS_BY_AGE: dict[int, tuple[float, ...]] = {
    15: (100, 0, 0, 0, 0, 0, 0, 0),
    WORKING_AGE: (0, 88, 8, 0.5, 0.2, 0.3, 3, 0),
    18: (0, 70, 20, 3, 0.5, 0.5, 6, 0),
    21: (0, 42, 38, 7, 2, 1.5, 9.5, 0),
    25: (0, 15, 58, 12, 4, 3, 8, 0),
    30: (0, 4, 62, 15, 7, 5, 7, 0),
    35: (0, 1, 62, 17, 9, 5, 6, 0),
    45: (0, 0.3, 58, 19, 12, 5, 5.5, 0.2),
    55: (0, 0, 54, 20, 13, 6, 5, 2),
    60: (0, 0, 44, 17, 13, 7, 4, 15),
    64: (0, 0, 22, 9, 10, 6, 2, 51),
    66: (0, 0, 6, 2, 6, 3, 0, 83),
    70: (0, 0, 2, 0.5, 3, 1.5, 0, 93),
    75: (0, 0, 0.5, 0, 1, 0.5, 0, 98),
    80: (0, 0, 0, 0, 0, 0, 0, 100),
}

# ---------------------------------------------------------------------------------- occupation


class Occupation(NamedTuple):
    """A kind of work: who does it, for whom, and what it pays."""

    label: str
    from_age: int  # one of CAREER_AGES
    lowest: int  # level of education needed
    typical: float  # level of education most often found
    spread: float  # of the levels around the typical one
    female: float  # share of women, were all else equal
    private: float  # how many, relative to the others, work in each workclass
    public: float
    own: float
    pay: int  # median yearly income in mid-career


CAREER_AGES = (0, 16, 18, 21, 25)
NOT_IN_WORK = "not in work"
OCCUPATIONS = (
    Occupation("cleaner", 16, 0, 1.0, 1.5, 0.75, 5, 2, 1.5, 21_000),
    Occupation("farm worker", 16, 0, 1.5, 1.5, 0.3, 2, 0.2, 3, 22_000),
    Occupation("cook or waiter", 16, 0, 2.0, 1.5, 0.5, 5, 0.5, 3, 22_000),
    Occupation("warehouse worker", 16, 0, 2.0, 1.3, 0.2, 7, 0.5, 0.2, 26_000),
    Occupation("driver", 18, 0, 2.3, 1.3, 0.08, 5, 2, 3, 29_000),
    Occupation("builder", 16, 0, 3.0, 1.3, 0.05, 6, 1, 6, 31_000),
    Occupation("factory worker", 16, 1, 2.7, 1.3, 0.25, 8, 0.2, 0, 30_000),
    Occupation("shop assistant", 16, 1, 2.7, 1.3, 0.68, 9, 0, 2, 24_000),
    Occupation("care worker", 18, 1, 3.2, 1.2, 0.82, 5, 5, 0.5, 26_000),
    Occupation("mechanic", 18, 2, 3.8, 1.0, 0.05, 7, 1.5, 5, 34_000),
    Occupation("office clerk", 18, 2, 3.7, 1.2, 0.7, 9, 7, 0.5, 32_000),
    Occupation("police or fire officer", 21, 3, 4.2, 0.9, 0.25, 0, 5, 0, 40_000),
    Occupation("sales representative", 18, 3, 4.3, 1.2, 0.4, 6, 0, 4, 42_000),
    Occupation("nurse", 21, 4, 4.6, 0.8, 0.86, 4, 5, 0.3, 37_000),
    Occupation("software developer", 18, 3, 5.2, 1.0, 0.2, 6, 1, 3, 56_000),
    Occupation("teacher", 21, 5, 5.5, 0.8, 0.68, 1.5, 10, 0.7, 43_000),
    Occupation("engineer", 21, 4, 5.6, 0.9, 0.18, 6, 2, 3, 58_000),
    Occupation("manager", 25, 3, 5.5, 1.2, 0.35, 6, 3, 5, 72_000),
    Occupation("lawyer", 25, 6, 6.2, 0.7, 0.48, 2, 2, 4, 80_000),
    Occupation("physician", 25, 6, 6.4, 0.6, 0.5, 2, 4, 5, 95_000),
    Occupation("scientist", 25, 6, 7.0, 0.7, 0.42, 1.5, 4, 0.2, 56_000),
)

# -------------------------------------------------------------------------------------- income

# Added to the logarithm of the median income of the occupation or workclass.
# fmt: off
LOG_INCOME_BY_AGE: dict[int, float] = {
    16: -0.7, 20: -0.4, 25: -0.2, 35: 0.05, 50: 0.2, 60: 0.15, 67: 0.0, 99: -0.15,
}
# fmt: on
LOG_INCOME_PER_LEVEL = 0.06  # of education above or below the middle one
MIDDLE_LEVEL = EDUCATION.index("upper secondary school")
LOG_INCOME_OF_WOMEN = -0.13
LOG_INCOME_SPREAD = 0.35
LOG_INCOME_SPREAD_OF_SELF_EMPLOYED = 0.65
HIGHEST_INCOME = 2_000_000

# ----------------------------------------------------------------------------------- diagnosis


class Diagnosis(NamedTuple):
    """The main diagnosis of a person, and who has it."""

    label: str
    women: float  # multiplies the rate by age
    men: float
    by_age: Mapping[int, float]  # people in a thousand


HEALTHY = "none"
FEWEST_HEALTHY = 60.0  # in a thousand, at any age
DIAGNOSES = (
    Diagnosis("asthma", 1, 1, {0: 10, 6: 75, 15: 60, 30: 35, 60: 25, 99: 15}),
    Diagnosis("hay fever", 1, 1, {0: 10, 8: 60, 20: 75, 40: 50, 70: 20, 99: 10}),
    Diagnosis("eczema", 1.1, 0.9, {0: 90, 5: 60, 15: 30, 40: 20, 99: 10}),
    Diagnosis("ear infection", 1, 1, {0: 90, 4: 80, 10: 20, 18: 5, 99: 2}),
    Diagnosis("broken bone", 0.9, 1.1, {0: 5, 10: 30, 20: 20, 50: 15, 70: 25, 99: 50}),
    Diagnosis("migraine", 1.5, 0.5, {8: 3, 15: 25, 35: 50, 55: 30, 75: 8, 99: 2}),
    Diagnosis("anxiety disorder", 1.3, 0.7, {10: 5, 18: 45, 35: 50, 60: 30, 99: 10}),
    Diagnosis("depression", 1.3, 0.7, {11: 3, 18: 35, 40: 50, 60: 42, 80: 28, 99: 20}),
    Diagnosis("alcohol dependence", 0.45, 1.55, {16: 0, 20: 8, 45: 25, 65: 15, 90: 2}),
    Diagnosis("back pain", 1, 1, {14: 5, 25: 40, 45: 75, 65: 65, 99: 30}),
    Diagnosis("pregnancy complication", 1, 0, {15: 0, 16: 6, 25: 35, 32: 35, 45: 3, 46: 0}),
    Diagnosis("thyroid disorder", 1.6, 0.4, {15: 3, 30: 20, 60: 35, 99: 20}),
    Diagnosis("multiple sclerosis", 1.4, 0.6, {17: 0, 35: 3, 60: 3, 99: 1}),
    Diagnosis("HIV infection", 0.5, 1.5, {17: 0, 18: 1, 35: 5.5, 55: 5, 70: 2, 90: 0.3}),
    Diagnosis("high blood pressure", 1, 1, {25: 3, 40: 40, 60: 120, 75: 140, 99: 100}),
    Diagnosis("type 2 diabetes", 0.9, 1.1, {25: 2, 45: 30, 65: 75, 80: 80, 99: 50}),
    Diagnosis("coronary heart disease", 0.65, 1.35, {35: 1, 55: 35, 75: 90, 99: 90}),
    Diagnosis("stroke", 0.9, 1.1, {40: 2, 60: 15, 80: 50, 99: 60}),
    Diagnosis("chronic lung disease", 0.9, 1.1, {35: 2, 60: 35, 80: 50, 99: 30}),
    Diagnosis("osteoarthritis", 1.25, 0.75, {35: 5, 60: 65, 80: 90, 99: 70}),
    Diagnosis("dementia", 1.1, 0.9, {59: 0, 65: 6, 75: 35, 85: 130, 99: 260}),
    Diagnosis("prostate disease", 0, 1, {39: 0, 50: 25, 70: 100, 99: 90}),
    Diagnosis("breast cancer", 1, 0.01, {24: 0, 45: 15, 65: 28, 99: 22}),
    Diagnosis("bowel cancer", 0.9, 1.1, {35: 0.5, 60: 8, 80: 20, 99: 18}),
)
