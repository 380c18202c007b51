"""A synthetic census: invented people for demonstrations, tests and benchmarks.

Nobody in it exists. Names are made of syllables, places are invented, and every figure is drawn from tables
written for this purpose, so that columns depend on each other roughly as they do in real life.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl

from shoal.io.census_hierarchies import DIAGNOSIS, EDUCATION, MARITAL_STATUS, OCCUPATION, REGION, SEX, leaves
from shoal.params import whole

# ----------------------------------------
# The probabilities behind the synthetic census, one table a column, written by hand.
#
# A table has one row per combination of what the column depends on (the *cell*) and one column per value; its
# entries are weights, which :func:`shoal.io.census.draw` normalises. The figures are plausible, not estimated from
# any data.


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


# ----------------------------------------
# Draw a synthetic census: any number of rows, the same rows for the same seed.


COLUMNS = (
    "person", "name", "birth_date", "age", "sex", "postcode", "region", "marital_status", "education",
    "occupation", "industry", "income", "diagnosis", "admitted", "visits",
)  # fmt: skip

# Age is counted on the census day, so that all rows of a person agree.
CENSUS_YEAR = 2025
FIRST_ADMISSION = np.datetime64("2022-01-01", "D")
YEARS_OF_ADMISSIONS = 3

ROWS_PER_PERSON = [0.85, 0.10, 0.035, 0.015]
SEX_SHARES = [0.508, 0.487, 0.005]
WINTER = ("influenza", "pneumonia")
LASTING = ("heart and metabolism", "mind", "cancer")

# Syllables of no language in particular, so that no name is anybody's.
_GIVEN = [
    "Bre Dov Fi Glo Jun Kel Mir Nov Pel Quo Tev Ulv Vex Wim Zor",
    "a dil eth ik mo nix oli run ska tis vu",
]
_FAMILY = [
    "Ab Brun Cor Dwel Fen Gim Hul Ik Lor Mav Nis Prum Ras Skel Tor",
    "ba de fli go ku le mi no pra stu vi",
    "bek dren fax gorn kel lund moss nik rop stal trum wick",
]


def generate(rows: int, seed: int = 1) -> pl.DataFrame:
    """Draw a census of invented people.

    About one person in seven has several rows, which differ in diagnosis, date of admission and visits only.
    Between 1 and 2 % of the cells of education, occupation and income are missing, income more often where
    it is high. Costs about a second per million rows.

    Parameters
    ----------
    rows
        Number of rows, at least 1.
    seed
        The same seed gives the same rows; the first rows of a longer census are others.

    Returns
    -------
    polars.DataFrame
        The columns of :data:`COLUMNS`.

    Examples
    --------
    >>> generate(1000).height
    1000
    """
    rows = whole("the census", "rows", rows, least=1)
    rng = np.random.Generator(np.random.PCG64(whole("the census", "seed", seed, least=0)))
    person = _persons(rng, rows)
    people = _people(rng, int(person.max()) + 1)
    events = _events(rng, people["age"].to_numpy()[person], people["sex_code"].to_numpy()[person])
    return people[person].hstack(events).select(COLUMNS)


def draw(rng: np.random.Generator, weights: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """Draw one value for each entry of ``cell``, with the weights of that row of ``weights``.

    One binary search in the concatenated cumulative shares, cell after cell: O(n log(cells * values)), no
    temporary of n * values entries.
    """
    shares = np.cumsum(weights, axis=1)
    shares /= shares[:, -1:]
    flat = (shares + np.arange(len(weights))[:, None]).ravel()
    code = np.searchsorted(flat, rng.random(len(cell)) + cell, side="right")
    # Adding the cell rounds, so that a draw close to 1 can land one entry too far.
    return np.clip(code - cell * weights.shape[1], 0, weights.shape[1] - 1)


def _persons(rng: np.random.Generator, rows: int) -> np.ndarray:
    """The person of each row, people numbered from 0 without gaps, rows in no order."""
    counts = rng.choice(len(ROWS_PER_PERSON), size=rows, p=ROWS_PER_PERSON) + 1
    return rng.permutation(np.repeat(np.arange(rows), counts)[:rows])


def _people(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """What stays the same on all rows of a person, and the code of sex for the draws that follow."""
    age, birth_date = _ages(rng, n)
    sex = draw(rng, np.array([SEX_SHARES]), np.zeros(n, dtype=np.int64))
    postcodes, regions, weights, cities = places()
    place = draw(rng, weights[None, :], np.zeros(n, dtype=np.int64))
    city = cities[place]
    education = draw(rng, education_shares(), _band(age, EDUCATION_AGES) * 2 + city)
    # Nobody has finished a degree before the age at which it can be finished.
    highest = leaves(EDUCATION).index("vocational") + _band(age, [20, 22, 24, 27])
    education = np.minimum(education, highest)
    marital = draw(rng, marital_status(), _band(age, MARITAL_AGES) * len(SEX) + sex)
    cell = (education * len(SEX) + sex) * 4 + _band(age, OCCUPATION_AGES)
    occupation = draw(rng, occupation_shares(), cell)
    industry = draw(rng, industry_shares(), occupation)
    income = _income(rng, occupation, education, age, sex, city)
    names = _names(rng, n)
    return pl.DataFrame(
        {
            "person": "P" + pl.Series(np.arange(1, n + 1)).cast(pl.String).str.zfill(8),
            "name": names,
            "birth_date": birth_date,
            "age": age,
            "sex": _text(SEX, sex),
            "sex_code": sex,
            "postcode": _text(postcodes, place),
            "region": _text(leaves(REGION), regions[place]),
            "marital_status": _text(leaves(MARITAL_STATUS), marital),
            "education": _text(leaves(EDUCATION), education, rng.random(n) < 0.012),
            "occupation": _text(leaves(OCCUPATION), occupation, rng.random(n) < 0.015),
            "industry": _text(INDUSTRY, industry),
            "income": pl.Series(income).set(pl.Series(rng.random(n) < np.where(income > 60_000, 0.04, 0.012)), None),
        }
    )


def _events(rng: np.random.Generator, age: np.ndarray, sex: np.ndarray) -> pl.DataFrame:
    """What differs between the rows of a person: diagnosis, date of admission, visits."""
    values = leaves(DIAGNOSIS)
    diagnosis = draw(rng, diagnosis_shares(), _band(age, DIAGNOSIS_AGES) * len(SEX) + sex)
    day = rng.integers(0, 365, len(age))
    winter = np.isin(diagnosis, [values.index(value) for value in WINTER])
    day[winter] = rng.normal(20, 35, int(winter.sum())).astype(np.int64) % 365
    year = rng.integers(0, YEARS_OF_ADMISSIONS, len(age))
    lasting = np.isin(diagnosis, [values.index(value) for group in LASTING for value in DIAGNOSIS[group]])
    # A Poisson draw around a Gamma draw: most people come once or twice, a few come very often.
    rate = (0.6 + age / 60 + 1.5 * lasting) * rng.gamma(1.5, 1 / 1.5, len(age))
    return pl.DataFrame(
        {
            "diagnosis": _text(values, diagnosis),
            "admitted": pl.Series(FIRST_ADMISSION + (year * 365 + day)),
            "visits": 1 + rng.poisson(rate),
        }
    )


def _ages(rng: np.random.Generator, n: int) -> tuple[np.ndarray, pl.Series]:
    """Full years on 1 January of the census year, and a birth date that agrees with them."""
    age = YEARS[draw(rng, AGE[None, :], np.zeros(n, dtype=np.int64))]
    year = (CENSUS_YEAR - 1 - age - 1970).astype("datetime64[Y]")
    start, end = year.astype("datetime64[D]"), (year + 1).astype("datetime64[D]")
    days = 1 + np.floor(rng.random(n) * (end - start).astype(np.int64)).astype(np.int64)
    return age, pl.Series(start + days)


def _income(
    rng: np.random.Generator,
    occupation: np.ndarray,
    education: np.ndarray,
    age: np.ndarray,
    sex: np.ndarray,
    city: np.ndarray,
) -> np.ndarray:
    """Yearly income in hundreds: a log-normal body with a Pareto tail of two in a hundred."""
    n = len(age)
    median = np.array([INCOME[value] for value in leaves(OCCUPATION)])[occupation]
    seniority = 0.75 + 0.3 * np.clip(age - 20, 0, 30) / 30
    factor = (0.85 + 0.04 * education) * seniority
    factor *= np.where(sex == SEX.index("female"), 0.92, 1.0) * np.where(city == 1, 1.1, 1.0)
    spread = np.exp(rng.normal(0.0, 0.32, n))
    tail = np.where(rng.random(n) < 0.02, 1.5 + rng.pareto(1.8, n), 1.0)
    return np.round(median * factor * spread * tail / 100).astype(np.int64) * 100


def _names(rng: np.random.Generator, n: int) -> pl.Series:
    """A given and a family name each, put together from syllables."""
    given, family = _combine(*_GIVEN), _combine(*_FAMILY)
    parts = pl.DataFrame(
        {
            "given": _text(given, rng.integers(0, len(given), n)),
            "family": _text(family, rng.integers(0, len(family), n)),
        }
    )
    return parts.select(pl.format("{} {}", "given", "family").alias("name")).to_series()


def _combine(*parts: str) -> list[str]:
    """Every word made of one syllable of each part."""
    return ["".join(syllables) for syllables in product(*(part.split() for part in parts))]


def _band(age: np.ndarray, starts: list[int]) -> np.ndarray:
    """The age band of each person; ``starts`` are the first ages of all bands but the first."""
    return np.digitize(age, starts)


def _text(labels: list[str], codes: np.ndarray, missing: np.ndarray | None = None) -> pl.Series:
    """The labels of the codes, null where ``missing``."""
    index = codes if missing is None else np.where(missing, len(labels), codes)
    return pl.Series([*labels, None], dtype=pl.String)[index]


# ----------------------------------------
# Two small files about invented people that the documentation works with: a hospital's export, and one of patients.


# Syllables with letters that other encodings write otherwise, so that no name is anybody's.
_BEGINNINGS = ("Brü", "Köh", "Schä", "Wöß", "Lan", "Grö", "Fal", "Hüb", "Ost", "Rie")
_ENDINGS = ("mar", "nau", "gert", "bold", "lings", "wick", "senz", "hart", "ßler", "dorn")
SURNAMES = [f"{first}{last}" for first in _BEGINNINGS for last in _ENDINGS]
FIRST_NAMES = [
    "Annika", "Jürn", "Björk", "Kätha", "Sören", "Heikje", "Uwin", "Renka", "Günth", "Ilsa", "Ömar", "Lenja",
]  # fmt: skip
NOTES = [
    "Patient klagt seit gestern über starke Schmerzen im rechten Knie",
    "Aufnahme über die Notaufnahme nach einem Sturz in der Wohnung",
    "Entlassung in gutem Allgemeinzustand nach Hause empfohlen",
    "Weiterbehandlung durch den Hausarzt innerhalb einer Woche",
]
# Code, age at which it is most frequent, how much more frequent it is among women, usual CRP, usual costs.
DISEASES = [
    ("I10", 68, 1.0, 4, 3_200), ("E11.9", 62, 0.9, 6, 4_100), ("J45.0", 35, 1.2, 5, 2_600),
    ("F32.1", 45, 1.8, 2, 7_900), ("K35.8", 28, 0.8, 70, 5_400), ("C50.9", 60, 9.0, 9, 14_800),
    ("M54.5", 52, 1.1, 3, 2_900), ("N18.3", 74, 0.9, 8, 9_700),
]  # fmt: skip
HOSPITAL_COLUMNS = (
    "Pat-Nr", "Nachname", "Vorname", "Geburtsdatum", "Geschlecht", "PLZ", "Aufnahme", "Diagnose", "CRP", "Kosten",
    "Versichertennr", "Bemerkung",
)  # fmt: skip
PATIENTS_COLUMNS = ("name", "age", "sex", "zip", "disease")


def hospital(people: int = 600, seed: int = 1) -> bytes:
    """A hospital's export as clinics have them: semicolons, latin-1, dd.mm.yyyy, decimal commas, points between
    thousands, several rows a patient, free text."""
    draw = random.Random(seed)
    lines = [";".join(HOSPITAL_COLUMNS)]
    for at in range(people):
        born = datetime.date(1930, 1, 1) + datetime.timedelta(days=draw.randrange(27_000))
        sex, place = draw.choice("mw"), f"0{draw.choice((1, 1, 1, 4, 4, 9))}{draw.randrange(100, 160)}"
        who = [f"{70_000 + at}", draw.choice(SURNAMES), draw.choice(FIRST_NAMES), f"{born:%d.%m.%Y}", sex, place]
        number = insurance(draw)
        for _ in range(draw.choice((1, 1, 2, 3))):
            came = datetime.date(2023, 1, 1) + datetime.timedelta(days=draw.randrange(730))
            code, _, _, crp, cost = _disease(draw, came.year - born.year, sex)
            measured = f"{crp * draw.uniform(0.3, 2.5):.1f}".replace(".", ",") if draw.random() < 0.7 else "k.A."
            paid = f"{cost * draw.uniform(0.4, 2):,.2f}".translate({44: 46, 46: 44})
            note = f"{draw.choice(NOTES)}, Fall {draw.randrange(10**6)}"
            lines.append(";".join([*who, f"{came:%d.%m.%Y}", code, measured, paid, number, note]))
    return ("\r\n".join(lines) + "\r\n").encode("latin-1")


def patients(people: int = 200, seed: int = 1) -> bytes:
    """A tidy file of patients, a row each."""
    draw = random.Random(seed)
    words = {"I10": "hypertension", "E11.9": "diabetes", "J45.0": "asthma", "F32.1": "depression"}
    known = [one for one in DISEASES if one[0] in words]
    lines = [",".join(PATIENTS_COLUMNS)]
    for _ in range(people):
        age, sex = draw.randrange(18, 90), draw.choice("fm")
        disease = words[_disease(draw, age, sex, known)[0]]
        name = f"{draw.choice(FIRST_NAMES)} {draw.choice(SURNAMES)}"
        place = draw.choice((1010, 1020, 1050, 1080, 2100, 2340)) + draw.randrange(10)
        lines.append(f"{name},{age},{sex},{place},{disease}")
    return ("\n".join(lines) + "\n").encode()


def insurance(draw: random.Random) -> str:
    """A German health insurance number with its check digit."""
    letter, digits = draw.choice("ABCDEFGHKLMNPRSTUVWXYZ"), f"{draw.randrange(10**8):08d}"
    figures = [int(one) for one in f"{ord(letter) - 64:02d}{digits}"]
    weighed = [figure * weight for figure, weight in zip(figures, (1, 2) * 5, strict=True)]
    return f"{letter}{digits}{sum(sum(map(int, str(one))) for one in weighed) % 10}"


_Disease = tuple[str, int, float, int, int]


def _disease(draw: random.Random, age: int, sex: str, known: Sequence[_Disease] = DISEASES) -> _Disease:
    """One that people of this age and sex have more often than others."""
    weights = [(more if sex in "wf" else 1) / (1 + ((age - usual) / 15) ** 2) for _, usual, more, _, _ in known]
    return draw.choices(known, weights)[0]
