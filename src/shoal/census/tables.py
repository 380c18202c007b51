"""The probabilities behind the synthetic census, one table a column, written by hand.

A table has one row per combination of what the column depends on (the *cell*) and one column per value; its
entries are weights, which :func:`shoal.census.generate.draw` normalises. The figures are plausible, not
estimated from any data.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from shoal.census.hierarchies import DIAGNOSIS, MARITAL_STATUS, OCCUPATION, REGION, SEX, leaves

Weights = dict[str, float]

INDUSTRY = [
    "agriculture", "manufacturing", "construction", "energy", "trade", "transport",
    "hospitality", "finance", "information", "education", "health", "public administration",
    "none",
]  # fmt: skip

# Weight of each single year of age from 18 to 95: broad in the middle, thinning out from 62.
YEARS = np.arange(18, 96)
AGE = np.where(YEARS < 30, 0.8 + (YEARS - 18) / 40, 1.2) * np.where(YEARS > 62, 0.94 ** (YEARS - 62), 1.0)

# Education by birth cohort (18-34, 35-49, 50-64, 65 and over), in the order of attainment.
_EDUCATION_BY_AGE = [
    [1, 2, 10, 26, 19, 8, 20, 12, 2],
    [1, 4, 12, 24, 23, 8, 15, 11, 2],
    [2, 8, 18, 24, 24, 7, 10, 6, 1],
    [5, 20, 25, 20, 18, 4, 5, 2.5, 0.5],
]
EDUCATION_AGES = [35, 50, 65]

# Marital status by age (18-24, 25-34, 35-49, 50-64, 65-79, 80 and over), in the order of the leaves.
_MARITAL_BY_AGE = [
    [3, 17, 0.3, 0.2, 0.05, 79],
    [33, 26, 2, 4, 0.2, 35],
    [56, 13, 4, 12, 0.8, 14],
    [60, 7, 4, 17, 4, 8],
    [61, 3, 2, 12, 17, 5],
    [38, 1, 1, 6, 49, 5],
]
MARITAL_AGES = [25, 35, 50, 65, 80]

# Occupation by education, for people of working age.
_SCHOOL: Weights = {
    "clerk": 8, "sales": 14, "hospitality": 10, "security": 5, "craft": 14, "machine operator": 13,
    "driver": 10, "farmer": 4, "labourer": 14, "cleaner": 10, "unemployed": 11, "homemaker": 5,
    "manager": 2, "nurse": 2,
}  # fmt: skip
_TRAINING: Weights = {
    "clerk": 18, "sales": 14, "nurse": 11, "craft": 18, "machine operator": 8, "driver": 5, "hospitality": 6,
    "security": 3, "farmer": 3, "labourer": 3, "cleaner": 1, "manager": 8, "engineer": 4, "teacher": 2,
    "unemployed": 5, "homemaker": 4,
}  # fmt: skip
_UNIVERSITY: Weights = {
    "manager": 20, "engineer": 17, "teacher": 18, "scientist": 5, "physician": 0.5, "clerk": 15, "sales": 8,
    "nurse": 6, "hospitality": 2, "craft": 2, "driver": 1, "unemployed": 4, "homemaker": 3,
}  # fmt: skip
_OCCUPATION_BY_EDUCATION = (
    [_SCHOOL] * 4 + [_TRAINING] * 2 + [_UNIVERSITY]
    + [_UNIVERSITY | {"physician": 9, "scientist": 12, "clerk": 7}]
    + [_UNIVERSITY | {"physician": 24, "scientist": 38, "clerk": 3, "sales": 2}]
)  # fmt: skip
_WOMEN: Weights = {
    "nurse": 3.5, "teacher": 2, "cleaner": 2.5, "homemaker": 4, "clerk": 1.8, "engineer": 0.35, "craft": 0.12,
    "driver": 0.2, "security": 0.25, "machine operator": 0.5, "labourer": 0.5, "manager": 0.7,
}  # fmt: skip
_OCCUPATION_BY_AGE: list[Weights] = [
    {"student": 60, "retired": 0, "manager": 0.1, "physician": 0.05, "scientist": 0.3},
    {"student": 0.5, "retired": 0.1},
    {"student": 0.05, "retired": 200, "labourer": 0.5, "driver": 0.6},
    {"student": 0.02, "retired": 2500, "unemployed": 0.05},
]
OCCUPATION_AGES = [25, 62, 70]

_INDUSTRY_BY_OCCUPATION: dict[str, Weights] = {
    "engineer": {"manufacturing": 30, "construction": 15, "energy": 12, "information": 35},
    "physician": {"health": 95}, "nurse": {"health": 95}, "teacher": {"education": 95},
    "scientist": {"education": 45, "health": 20, "energy": 8, "information": 15},
    "clerk": {"finance": 25, "public administration": 35, "trade": 15, "transport": 8},
    "sales": {"trade": 80, "finance": 10}, "hospitality": {"hospitality": 95},
    "security": {"public administration": 60, "transport": 15},
    "craft": {"construction": 50, "manufacturing": 35},
    "machine operator": {"manufacturing": 80, "energy": 10},
    "driver": {"transport": 85}, "farmer": {"agriculture": 97},
    "labourer": {"construction": 35, "agriculture": 20, "manufacturing": 25},
    "cleaner": {"hospitality": 30, "health": 25, "education": 15, "public administration": 15},
}  # fmt: skip

# Median yearly income by occupation.
INCOME: Weights = {
    "manager": 62_000, "engineer": 56_000, "physician": 88_000, "teacher": 44_000, "scientist": 52_000,
    "clerk": 33_000, "nurse": 36_000, "sales": 29_000, "hospitality": 23_000, "security": 28_000,
    "craft": 34_000, "machine operator": 31_000, "driver": 29_000, "farmer": 26_000, "labourer": 24_000,
    "cleaner": 19_000, "student": 7_500, "unemployed": 10_500, "homemaker": 6_500, "retired": 21_000,
}  # fmt: skip

# Diagnosis by age (18-34, 35-54, 55-74, 75 and over), before what depends on sex.
_DIAGNOSIS_BY_AGE: list[Weights] = [
    {"hypertension": 3, "diabetes": 2, "influenza": 14, "gastroenteritis": 12, "pneumonia": 2,
     "hepatitis": 0.8, "HIV": 0.8, "depression": 10, "anxiety": 12, "dependence": 5, "fracture": 9,
     "back pain": 9, "asthma": 9, "migraine": 8, "pregnancy": 9, "breast cancer": 0.3, "heart disease": 0.3,
     "kidney disease": 0.4},
    {"hypertension": 16, "heart disease": 4, "diabetes": 8, "stroke": 1, "influenza": 9, "gastroenteritis": 5,
     "pneumonia": 2, "hepatitis": 0.9, "HIV": 0.9, "depression": 10, "anxiety": 8, "dependence": 4,
     "fracture": 5, "back pain": 14, "arthritis": 4, "asthma": 5, "migraine": 6, "pregnancy": 1.5,
     "breast cancer": 2.5, "prostate cancer": 0.6, "lung cancer": 0.7, "bowel cancer": 0.8,
     "kidney disease": 1},
    {"hypertension": 25, "heart disease": 13, "diabetes": 14, "stroke": 4, "influenza": 5,
     "gastroenteritis": 2, "pneumonia": 4, "hepatitis": 0.6, "HIV": 0.3, "depression": 5, "anxiety": 3,
     "dependence": 2, "dementia": 2, "fracture": 5, "back pain": 10, "arthritis": 11, "asthma": 3,
     "migraine": 1.5, "breast cancer": 4, "prostate cancer": 5, "lung cancer": 3, "bowel cancer": 3,
     "kidney disease": 3},
    {"hypertension": 21, "heart disease": 18, "diabetes": 12, "stroke": 8, "influenza": 5,
     "gastroenteritis": 2, "pneumonia": 8, "depression": 3, "anxiety": 1.5, "dementia": 14, "fracture": 11,
     "back pain": 5, "arthritis": 11, "asthma": 1.5, "breast cancer": 2.5, "prostate cancer": 5,
     "lung cancer": 2.5, "bowel cancer": 3.5, "kidney disease": 5},
]  # fmt: skip
DIAGNOSIS_AGES = [35, 55, 75]
_DIAGNOSIS_BY_SEX: dict[str, Weights] = {
    "female": {"prostate cancer": 0, "migraine": 2, "depression": 1.4, "heart disease": 0.7},
    "male": {"pregnancy": 0, "breast cancer": 0.01, "dependence": 2, "lung cancer": 1.5, "HIV": 2},
    "other": {"pregnancy": 0.3, "prostate cancer": 0.3},
}

_REGION_WEIGHT = [7, 4, 2, 14, 6, 33, 21, 13]


def education_shares() -> np.ndarray:
    """Weights of education; the cell is cohort * 2 + whether the place is a city."""
    city = np.array([0.8, 0.8, 0.8, 0.9, 0.9, 1, 1.5, 1.8, 2.2])
    return np.array([np.array(row) * factor for row, factor in product(_EDUCATION_BY_AGE, (1.0, city))])


def marital_status() -> np.ndarray:
    """Weights of marital status; the cell is age band * 3 + sex. Men die earlier, so women are widowed."""
    values = leaves(MARITAL_STATUS)
    factors = {"female": {"widowed": 1.8}, "male": {"widowed": 0.4}}
    return np.array([
        np.array(row) * _vector(values, factors.get(sex, {}), 1.0)
        for row, sex in product(_MARITAL_BY_AGE, SEX)
    ])  # fmt: skip


def occupation_shares() -> np.ndarray:
    """Weights of occupation; the cell is (education * 3 + sex) * 4 + age band."""
    values = leaves(OCCUPATION)
    out_of_work = {"student": 1.0, "retired": 1.0}
    levels = [_vector(values, weights | out_of_work, 0.05) for weights in _OCCUPATION_BY_EDUCATION]
    sexes = [_vector(values, _WOMEN if sex == "female" else {}, 1.0) for sex in SEX]
    bands = [_vector(values, band, 1.0) for band in _OCCUPATION_BY_AGE]
    return np.array([level * sex * band for level, sex, band in product(levels, sexes, bands)])


def industry_shares() -> np.ndarray:
    """Weights of industry; the cell is the occupation. Those who do not work have none."""
    return np.array([
        _vector(INDUSTRY, {"none": 1}, 0.0) if value in OCCUPATION["not working"]
        else _vector(INDUSTRY, _INDUSTRY_BY_OCCUPATION.get(value, {}) | {"none": 0}, 1.0)
        for value in leaves(OCCUPATION)
    ])  # fmt: skip


def diagnosis_shares() -> np.ndarray:
    """Weights of diagnosis; the cell is age band * 3 + sex."""
    values = leaves(DIAGNOSIS)
    return np.array([
        _vector(values, row, 0.02) * _vector(values, _DIAGNOSIS_BY_SEX[sex], 1.0)
        for row, sex in product(_DIAGNOSIS_BY_AGE, SEX)
    ])  # fmt: skip


def places() -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Postcodes with their region, their weight, and whether they lie in a city.

    The first digit is the region, the second the area (area 1 is the region's city), the third the town.
    Weights fall off as one over the rank: some postcodes hold many people and others a handful.
    """
    codes, regions, weights, cities = [], [], [], []
    parts = product((1, 2, 4, 7, 8), (0, 3, 5, 9), (10, 45, 80))
    numbers = [area * 1000 + town * 100 + end for area, town, end in parts]
    share = 1.0 / np.arange(1, len(numbers) + 1)
    for region, total in zip(range(len(leaves(REGION))), _REGION_WEIGHT, strict=True):
        codes += [f"{region}{number:04d}" for number in numbers]
        regions += [region] * len(numbers)
        weights += list(total * share / share.sum())
        cities += [number < 2000 for number in numbers]
    return codes, np.array(regions), np.array(weights), np.array(cities, dtype=np.int64)


def _vector(values: list[str], weights: Weights, default: float) -> np.ndarray:
    """The weights of all values, ``default`` for those not listed."""
    vector = np.full(len(values), default)
    for value, weight in weights.items():
        vector[values.index(value)] = weight
    return vector
