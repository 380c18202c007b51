"""Draw a synthetic census: any number of rows, the same rows for the same seed."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl

from shoal.census import tables
from shoal.census.hierarchies import DIAGNOSIS, EDUCATION, MARITAL_STATUS, OCCUPATION, REGION, SEX, leaves
from shoal.params import whole

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
    postcodes, regions, weights, cities = tables.places()
    place = draw(rng, weights[None, :], np.zeros(n, dtype=np.int64))
    city = cities[place]
    education = draw(rng, tables.education_shares(), _band(age, tables.EDUCATION_AGES) * 2 + city)
    # Nobody has finished a degree before the age at which it can be finished.
    highest = leaves(EDUCATION).index("vocational") + _band(age, [20, 22, 24, 27])
    education = np.minimum(education, highest)
    marital = draw(rng, tables.marital_status(), _band(age, tables.MARITAL_AGES) * len(SEX) + sex)
    cell = (education * len(SEX) + sex) * 4 + _band(age, tables.OCCUPATION_AGES)
    occupation = draw(rng, tables.occupation_shares(), cell)
    industry = draw(rng, tables.industry_shares(), occupation)
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
            "industry": _text(tables.INDUSTRY, industry),
            "income": _masked(income, rng.random(n) < np.where(income > 60_000, 0.04, 0.012)),
        }
    )


def _events(rng: np.random.Generator, age: np.ndarray, sex: np.ndarray) -> pl.DataFrame:
    """What differs between the rows of a person: diagnosis, date of admission, visits."""
    values = leaves(DIAGNOSIS)
    diagnosis = draw(rng, tables.diagnosis_shares(), _band(age, tables.DIAGNOSIS_AGES) * len(SEX) + sex)
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
    age = tables.YEARS[draw(rng, tables.AGE[None, :], np.zeros(n, dtype=np.int64))]
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
    median = np.array([tables.INCOME[value] for value in leaves(OCCUPATION)])[occupation]
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


def _masked(values: np.ndarray, missing: np.ndarray) -> pl.Series:
    return pl.Series(values).set(pl.Series(missing), None)
