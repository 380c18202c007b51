"""Columns that tell people apart: identifiers that repeat, published identifiers, and columns that fix others.

Tables are generated with a truth that is known by construction; nothing of the source decides what is expected.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from shoal.verify.assigned_values import is_assigned
from shoal.verify.dependence import Dependence
from shoal.verify.person_columns import PersonColumns, PersonRoles
from shoal.verify.values import Coded
from tests.conftest import many

QUASI = ["age", "sex", "zip"]


def looked(frame: pl.DataFrame, batches: int = 1, **roles: object) -> PersonColumns:
    """The columns of a table, seen in so many batches."""
    found = PersonColumns(PersonRoles(**{"quasi": QUASI, **roles}))  # type: ignore[arg-type]
    size = -(-frame.height // batches)
    for start in range(0, frame.height, size):
        part = frame[start : start + size]
        found.see(Coded(part), part["who"] if roles.get("people") else None)
    return found


def codes(frame: pl.DataFrame, batches: int = 1, **roles: object) -> list[str | None]:
    return [check.code for check in looked(frame, batches, **roles).checks(()) if not check.passed]


def people(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """One row a person, with quasi-identifiers that are independent."""
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "zip": rng.integers(1000, 1000 + int(rng.integers(5, 60)), n).astype(str),
            "disease": rng.choice(["flu", "cold", "asthma", "hiv"], n),
        }
    )


def visits(rng: np.random.Generator) -> pl.DataFrame:
    """Several rows a person, in any order; a person may grow older, and the disease differs from visit to visit."""
    n = int(rng.integers(20, 60))
    rows = np.repeat(np.arange(n), rng.integers(2, 7, n))
    frame = people(rng, n)[rows].with_columns(disease=pl.Series(rng.choice(["flu", "cold", "hiv"], len(rows))))
    if rng.random() < 0.5:
        frame = frame.with_columns(age=pl.col("age") + pl.Series(rng.integers(0, 3, len(rows))))
    frame = frame.with_columns(person=pl.Series(_numbers(rng, n)).gather(rows), who=pl.Series(rows))
    return frame[rng.permutation(frame.height)]


def _numbers(rng: np.random.Generator, n: int) -> list[str]:
    """Numbers of people in one of the forms that there are."""
    forms: list[Callable[[int], str]] = [
        lambda one: str(one + 1),
        lambda one: f"P{100_000 + one}",
        lambda one: f"{one + 1:06d}",
        lambda one: str(uuid.UUID(int=int(rng.integers(1, 1 << 62)) << 64 | one)),
        lambda one: f"Name{one} Family{one}",
    ]
    form = forms[int(rng.integers(len(forms)))]
    return [form(int(one)) for one in rng.permutation(n)]


def letters(number: int) -> str:
    """A number in letters, as names have."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def measured(rng: np.random.Generator, n: int) -> dict[str, pl.Series]:
    """Columns that are measured: nobody is known by them, however few people share a value."""
    days = rng.integers(0, 4000, n)
    return {
        "income": pl.Series(np.round(np.exp(rng.normal(10.3, 0.7, n))).astype(int)),
        "cost": pl.Series(np.round(rng.gamma(1.2, 3000, n), 2)),
        "lab": pl.Series(np.round(rng.normal(5.1, 1.3, n), 3)),
        "minutes": pl.Series(rng.exponential(400, n).astype(int)),
        "score": pl.Series(rng.normal(500, 100, n).astype(int)),
        "visited": pl.Series([f"{2010 + day // 365}-{1 + day % 12:02d}-{1 + day % 28:02d}" for day in days.tolist()]),
        "pressure": pl.Series(
            [f"{a}/{b}" for a, b in zip(rng.integers(90, 180, n), rng.integers(50, 110, n), strict=True)]
        ),
        "dose": pl.Series([f"{one:.2f} mg" for one in rng.gamma(2, 10, n)]),
    }


@pytest.mark.parametrize("seed", range(many(6, 170)))
@pytest.mark.parametrize("role", ["hidden", "dropped"])
def test_people_with_several_rows_are_found(seed: int, role: str) -> None:
    frame = visits(np.random.default_rng(seed))
    assert codes(frame, **{role: ["person"]}, published=["disease"]) == ["W-ROWS"]
    detail = looked(frame, **{role: ["person"]}).checks(())[0].detail
    most = max(frame["person"].to_list().count(one) for one in set(frame["person"].to_list()))
    assert f"up to {most} rows a person" in detail
    assert codes(frame, **{role: ["person"]}, people=True) == []


@pytest.mark.parametrize("seed", range(many(12, 500)))
def test_rows_of_different_people_are_none_of_one_person(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = people(rng, int(rng.integers(60, 400)))
    n = frame.height
    frame = frame.with_columns(
        surname=pl.Series(rng.choice([f"Family {letters(one)}" for one in range(n // 3)], n)),
        region=pl.col("zip").str.slice(0, 3), constant=pl.lit("x"), empty=pl.lit(None, dtype=pl.String),
        born=2020 - pl.col("age"), group=pl.col("sex") + (pl.col("age") // 30).cast(pl.String),
        **measured(rng, n),
    )  # fmt: skip
    dropped = [name for name in frame.columns if name not in (*QUASI, "surname", "disease")]
    assert codes(frame, hidden=["surname", "empty"], dropped=dropped, published=["disease"]) == []


@pytest.mark.parametrize("seed", range(many(12, 500)))
def test_a_declared_number_that_repeats_is_refused_whatever_its_rows_have(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 60))
    rows = np.repeat(np.arange(n), rng.integers(1, 7, n))
    # All quasi-identifiers are those of a visit, which differ from row to row.
    frame = people(rng, len(rows)).with_columns(
        number=pl.Series([f"{'P' * (seed % 2)}{10_000 + 97 * one}" for one in rows.tolist()]),
        name=pl.Series([f"Person {letters(one)}" for one in rows.tolist()]), row=pl.Series(np.arange(len(rows))),
        born=pl.Series([f"19{50 + one % 50}-01-{1 + one % 28:02d}" for one in rows.tolist()]),
    )  # fmt: skip
    repeats = ["W-ROWS"] if len(rows) > n else []
    assert codes(frame, hidden=["number"]) == repeats
    assert codes(frame, hidden=["name"], tokens=["name"]) == repeats
    assert codes(frame.with_columns(pl.col("number").cast(pl.Categorical)), hidden=["number"]) == repeats
    assert codes(frame, hidden=["row", "name", "born"], dropped=["number"]) == []


def _digits(rng: np.random.Generator, *lengths: int) -> list[str]:
    return [str(rng.integers(10 ** (length - 1), 10**length)) for length in lengths]


IDENTIFIERS: dict[str, Callable[[np.random.Generator], str]] = {
    "name": lambda rng: f"{letters(rng.integers(10**6))} {letters(rng.integers(10**6))}",
    "letters": lambda rng: letters(rng.integers(10**9)),
    "mail": lambda rng: f"{letters(rng.integers(10**6))}@example.org",
    "health service": lambda rng: " ".join(_digits(rng, 3, 3, 4)),
    "social security": lambda rng: "{} {} C {}".format(*_digits(rng, 2, 6, 3)),
    "telephone": lambda rng: "+49 (170) {}".format(*_digits(rng, 7)),
    "bank account": lambda rng: "DE{} {} {} {}".format(*_digits(rng, 2, 4, 4, 4)),
    "code of letters and a year": lambda rng: "PAT{}".format(*_digits(rng, 4)),
    "days as numbers": lambda rng: f"19{rng.integers(30, 99)}{rng.integers(1, 13):02d}{rng.integers(1, 29):02d}",
    "days": lambda rng: f"19{rng.integers(30, 99)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}",
}


@pytest.mark.parametrize("seed", range(many(2, 50)))
@pytest.mark.parametrize("form", IDENTIFIERS)
def test_a_declared_identifier_of_any_form_that_repeats_is_refused(form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # The age is a patient's own; ward and month are those of a visit, so that two of three differ from row to row.
    rows = np.repeat(np.arange(20), 5)
    found = [IDENTIFIERS[form](rng) for _ in range(20)]
    frame = pl.DataFrame(
        {
            "person": pl.Series(found).gather(rows),
            "age": rng.permutation(np.arange(20, 60))[rows],
            "ward": rng.choice(list("ABCDEF"), 100),
            "month": rng.integers(1, 13, 100),
        }
    )
    assert codes(frame, quasi=["age", "ward", "month"], hidden=["person"]) == ["W-ROWS"]


@pytest.mark.parametrize("seed", range(many(2, 40)))
@pytest.mark.parametrize("n", [50, 2000, many(20_000, 100_000)])
def test_namesakes_and_people_of_one_birthday_are_different_people(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(0, 95, n), rng.choice(["f", "m"], n)
    commoner = 1 / np.arange(1, 3001) ** 0.9
    last = rng.choice(3000, n, p=commoner / commoner.sum())
    # A first name goes with the sex, and is in fashion for some years.
    first = rng.choice(60, n, p=(1 / np.arange(1, 61)) / (1 / np.arange(1, 61)).sum())
    first += 60 * np.clip((age + rng.normal(0, 15, n)) // 5, 0, 25).astype(int)
    names = [f"{one}{letters(given)}" for one, given in zip(sex, first, strict=True)]
    days = pl.Series(-(age * 365.25 + rng.integers(0, 365, n))).cast(pl.Int32)
    frame = pl.DataFrame(
        {
            "first": names,
            "last": [letters(one) for one in last],
            "full": [f"{given} {letters(one)}" for given, one in zip(names, last, strict=True)],
            "street": [f"{letters(one)} Street {1 + one % 90}" for one in rng.integers(0, n, n)],
            "contacts": [f"{one}@example.org;{one}@post.org" for one in rng.choice(["ab", "cd", "ef"], n)],
            "initials": rng.choice([f"{one} {two}" for one in "ABCDEFGHIJKLM" for two in "NOPQRSTUVWXYZ"], n),
            "born": (days + 18_262).cast(pl.Date),
            "age": age,
            "sex": sex,
            "ward": rng.choice(list("ABCDEFGHIJKL"), n),
            "ages": [f"{5 * one}-{5 * one + 4}" for one in (age // 5).tolist()],
        }
    )
    hidden = ["first", "last", "full", "street", "contacts", "initials", "born"]
    for quasi in (["age", "sex"], ["age", "sex", "ward"], ["ages", "sex"], ["ages", "ward"]):
        assert codes(frame, quasi=quasi, hidden=hidden) == []


@pytest.mark.parametrize("role", ["hidden", "tokens"])
@pytest.mark.parametrize("batches", [1, 3])
def test_one_person_among_very_many_is_found_and_counted(role: str, batches: int) -> None:
    rng = np.random.default_rng(1)
    who = np.concatenate([np.arange(30_000), np.repeat(70_000, 999)])
    numbers = [f"P{one:06d}" for one in (who * 7 + int(rng.integers(1000))).tolist()]
    frame = pl.DataFrame({"number": numbers, "age": np.where(who == 70_000, 99, 20 + who % 60)})
    roles = {"hidden": ["number"], role: ["number"]}
    found = looked(frame, batches, quasi=["age"], **roles)
    assert "up to 999 rows a person" in found.checks(())[0].detail
    assert codes(frame.unique("number"), batches, quasi=["age"], **roles) == []


def test_a_number_of_several_subjects_is_found() -> None:
    frame = visits(np.random.default_rng(1)).drop("who").with_row_index("who")
    for role in ("hidden", "dropped"):
        found = looked(frame, people=True, **{role: ["person"]}).checks(())[0]
        assert found.code == "W-ROWS"
        assert "belongs to several subjects" in found.detail
    different = frame.unique("person", maintain_order=True)
    assert codes(different, people=True, hidden=["person"]) == []
    rng = np.random.default_rng(2)
    households = people(rng, 300).with_columns(
        pl.Series("household", np.repeat(np.arange(100), 3)), pl.Series("who", np.arange(300))
    )
    assert codes(households, people=True, hidden=["household"], dropped=["household"]) == []


@pytest.mark.parametrize("seed", range(many(12, 500)))
def test_published_numbers_of_people_are_found_and_measurements_are_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = people(rng, int(rng.integers(60, 600)))
    frame = frame.with_columns(person=pl.Series(_numbers(rng, frame.height)), **measured(rng, frame.height))
    published = [name for name in frame.columns if name not in QUASI]
    assert codes(frame, published=published) == ["W-IDENTIFIES:person"]


@pytest.mark.parametrize("seed", range(many(6, 500)))
def test_a_number_of_a_person_in_several_rows_is_found_where_it_is_published(seed: int) -> None:
    frame = visits(np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    # Whoever is there repeatedly is known by a number that fixes sex and postcode, which others share.
    frame = frame.with_columns(**measured(rng, frame.height))
    published = [name for name in frame.columns if name not in (*QUASI, "who")]
    found = codes(frame, published=published)
    assert set(found) <= {"W-IDENTIFIES:person"}
    if frame["person"].n_unique() >= 40:
        assert found == ["W-IDENTIFIES:person"]


@pytest.mark.parametrize("seed", range(many(3, 60)))
def test_hospitals_are_no_people(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, many_hospitals = 2000, int(rng.integers(25, 60))
    of, hospitals = rng.integers(0, many_hospitals, n), np.arange(many_hospitals)
    frame = people(rng, n).with_columns(
        hospital=pl.Series([f"H{1000 + one}" for one in of]),
        zip=pl.Series((1000 + of).astype(str)),
        region=pl.Series(rng.permutation(hospitals % 8)[of].astype(str)),
        kind=pl.Series(rng.permutation(hospitals % 4)[of].astype(str)),
        owner=pl.Series(rng.permutation(hospitals % 3)[of].astype(str)),
    )
    for quasi in (["age", "sex"], ["age", "sex", "zip", "region"], ["age", "sex", "region", "kind", "owner"]):
        published = [name for name in ("region", "kind", "owner", "disease") if name not in quasi]
        assert codes(frame, quasi=quasi, published=["hospital", *published]) == []
        assert codes(frame, quasi=quasi, dropped=["hospital"], published=published) == []


@pytest.mark.parametrize("seed", range(many(4, 60)))
@pytest.mark.parametrize("role", ["dropped", "published"])
def test_a_panel_of_nearly_as_many_people_as_combinations_is_found(role: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # 60 ages, two sexes and eight postcodes are 960 combinations, of which people share some and leave others.
    n = int(rng.integers(780, 960))
    frame = people(rng, n).with_columns(
        age=pl.Series(rng.integers(20, 80, n)), zip=pl.Series(rng.integers(1000, 1008, n).astype(str)),
        pid=pl.Series(1 + rng.permutation(n)),
    )[np.repeat(np.arange(n), 6)]  # fmt: skip
    expected = "W-ROWS" if role == "dropped" else "W-IDENTIFIES:pid"
    assert codes(frame, **{role: ["pid"]}) == [expected]


@pytest.mark.parametrize("seed", range(many(3, 60)))
def test_a_number_beside_one_column_of_a_person_is_found_where_it_is_published(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Of 400 people, numbers that lie eleven apart look measured in about every second table.
    n = int(rng.integers(600, 900))
    rows = np.repeat(np.arange(n), 6)
    married, numbers = rng.integers(0, 2, len(rows)), rng.permutation(n)[rows]
    frame = pl.DataFrame(
        {
            "code": [f"P{100_000 + one}" for one in numbers],
            "number": 13 + 11 * numbers + rng.integers(0, 2, n)[rows],
            "padded": [f"{one:05d}" for one in numbers],
            "age": rng.integers(20, 80, n)[rows],
            "origin": rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1])[rows],
            "married": married,
            "year": np.tile(np.arange(1980, 1986), n),
            **measured(rng, len(rows)),
        }
    )
    published = ["code", "number", "padded", *measured(rng, 60)]
    expected = [f"W-IDENTIFIES:{name}" for name in ("code", "number", "padded")]
    for quasi in (["age"], ["origin", "married", "year"], ["age", "year"]):
        assert codes(frame, quasi=quasi, published=published) == expected
    assert codes(frame.with_columns(sex=pl.Series(rng.choice(["f", "m"], n)[rows])), dropped=["code"],
                 quasi=["age", "sex", "year"]) == ["W-ROWS"]  # fmt: skip


def test_numbers_of_combinations_are_of_no_people() -> None:
    ages, sexes, zips = np.divmod(np.arange(960), 16)[0], np.arange(960) % 2, np.arange(960) // 2 % 8
    rng = np.random.default_rng(1)
    numbers = 1 + rng.permutation(960)
    frame = pl.DataFrame({"age": ages, "sex": sexes, "zip": zips, "stratum": numbers})[rng.integers(0, 960, 6000)]
    assert codes(frame, dropped=["stratum"]) == []


@pytest.mark.parametrize("role", ["dropped", "published"])
def test_a_panel_whose_people_share_few_combinations_is_found(role: str) -> None:
    rng = np.random.default_rng(1)
    rows = np.repeat(np.arange(1200), 6)
    frame = people(rng, 1200).with_columns(
        pid=pl.Series(1 + rng.permutation(1200)), zip=pl.Series(rng.integers(1000, 1008, 1200).astype(str))
    )[rows]
    frame = frame.with_columns(age=pl.col("age") + pl.Series(np.tile(2 * np.arange(6), 1200)))
    expected = "W-ROWS" if role == "dropped" else "W-IDENTIFIES:pid"
    assert codes(frame, **{role: ["pid"]}) == [expected]


@pytest.mark.parametrize("seed", range(many(4, 60)))
def test_first_names_are_of_different_people(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = people(rng, 1000)
    # A name goes with the sex, and is commoner in some years of birth than in others.
    fashion = np.clip((frame["age"].to_numpy() + rng.normal(0, 18, 1000) - 18) // 4, 0, 20).astype(int)
    names = [
        f"{sex} {letters(8 * year + one)}"
        for sex, year, one in zip(frame["sex"], fashion, rng.integers(0, 8, 1000), strict=True)
    ]
    assert codes(frame.with_columns(first=pl.Series(names)), hidden=["first"]) == []


@pytest.mark.parametrize("seed", range(many(8, 500)))
def test_a_column_that_fixes_a_quasi_identifier_is_told_from_independent_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = people(rng, int(rng.integers(60, 500)))
    n = frame.height
    frame = frame.with_columns(
        birth_year=2020 - pl.col("age") - pl.Series(rng.integers(0, 2, n)), area=pl.lit("A") + pl.col("zip"),
        shuffled=pl.col("age").shuffle(seed), other=pl.Series(rng.integers(0, 70, n)), **measured(rng, n),
    )  # fmt: skip
    days = rng.integers(0, 336, n).tolist()
    born = [
        f"{year}-{day // 28 + 1:02d}-{day % 28 + 1:02d}"
        for year, day in zip(frame["birth_year"].to_list(), days, strict=True)
    ]
    frame = frame.with_columns(born=pl.Series(born))
    published = [name for name in frame.columns if name not in QUASI]
    fixed = looked(frame, published=published).fixed
    assert set(fixed) == {("birth_year", "age"), ("area", "zip"), ("born", "age")}


@pytest.mark.parametrize("seed", range(many(8, 60)))
def test_a_coarser_level_of_a_quasi_identifier_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, states = int(rng.integers(300, 900)), int(rng.integers(3, 9))
    place = rng.integers(0, 40 * states, n)
    frame = pl.DataFrame({"sex": rng.choice(["f", "m"], n), "zip": [f"Z{one:04}" for one in place]}).with_columns(
        state=pl.Series(place % states).cast(pl.String) + "th", ward=pl.Series(rng.integers(0, states, n)),
        disease=pl.Series(rng.choice(["flu", "gout", "cold"], n)),
    )  # fmt: skip
    roles = PersonRoles(quasi=["sex", "zip"], published=["state", "ward", "disease"])
    found = PersonColumns(roles)
    found.see(Coded(frame))
    assert found.fixed == [("state", "zip")]


@pytest.mark.parametrize("seed", range(many(4, 40)))
def test_where_batches_end_makes_no_difference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = visits(rng).with_columns(born=2020 - pl.col("age"))
    roles = {"hidden": ["person"], "published": ["disease", "born"]}
    whole, parts = looked(frame, **roles), looked(frame, batches=int(rng.integers(2, 9)), **roles)
    assert whole.checks(()) == parts.checks(())
    assert whole.fixed == parts.fixed


def test_memory_is_bounded_and_values_are_followed_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.verify.dependence.VALUES", 50)
    monkeypatch.setattr("shoal.verify.dependence.ROWS", 64)
    found = Dependence(["person"], ["age"])
    rows = np.arange(3000) % 1000
    for part in np.array_split(rows, 7):
        found.see(Coded(pl.DataFrame({"person": part, "age": part % 60})))
    values = found.values("person")
    assert values.count <= 100
    assert values.most == 3
    assert values.count / values.share == pytest.approx(1000, rel=0.5)
    assert values.open(["age"]) == []


def test_what_is_missing_does_not_repeat() -> None:
    frame = people(np.random.default_rng(1), 100).with_columns(name=pl.lit(None, dtype=pl.String))
    assert codes(frame, hidden=["name"]) == []


@pytest.mark.parametrize(
    ("cells", "assigned"),
    [
        ([f"{one:05d}" for one in range(100, 200)], True),
        ([f"{one:03d}-{7 * one % 97:02d}-{1000 + one}" for one in range(100)], True),
        ([str(1800 + one) for one in range(150)], False),
        ([f"2020{1 + one // 28:02d}{1 + one % 28:02d}" for one in range(300)], False),
        ([f"80{1 + one // 28:02d}{1 + one % 28:02d}" for one in range(300)], False),
        ([f"{100_101 + one}" for one in range(300)], True),
        ([f"{1 + one % 28}-{['Aug', 'Sep', 'Oct'][one // 28]}-09" for one in range(80)], False),
        ([f"{1960 + one // 2} {['Jan', 'Jul'][one % 2]}" for one in range(80)], False),
        ([f"{one % 24}:{one % 60:02d}" for one in range(120)], False),
        ([f"{one * 37 % 1013}.{one % 7}" for one in range(100)], False),
        ([str(one * one) for one in range(100)], False),
        (["a", "b", "c"], False),
        # Telephones, cards, and numbers that begin with a birthday: long, and not spread over all of their length.
        ([f"30{1_234_567 + 9_973 * one % 8_000_000}" for one in range(300)], True),
        ([f"0{['30', '6221', '89'][one % 3]}{123_456 + 997 * one}" for one in range(300)], True),
        ([f"{50 + one % 40}{1 + one % 12:02d}{1 + one % 28:02d}{7919 * one % 10**5:05d}" for one in range(300)], True),
        ([f"{1950 + one % 40}0{1 + one % 9}{1 + one % 28:02d}{7919 * one % 10_000:04d}" for one in range(300)], True),
        ([f"4{(7_919_191_919 * one) % 10**15:015d}" for one in range(300)], True),
        ([f"{1_600_000_000 + 86_413 * one**3 % 10**8}" for one in range(300)], False),
        ([f"{1_600_000_000_000 + 86_413_013 * one**3 % 10**11}" for one in range(300)], False),
        ([f"2019{1 + one % 12:02d}{1 + one % 28:02d}{one**3 % 24:02d}{one * 7 % 60:02d}" for one in range(300)], False),
        ([f"{1_000_000 * (100 + 7 * one**3 % 8_999)}" for one in range(300)], False),
        ([f"{400_101 + 37 * one}-{3000 + one}" for one in range(300)], True),
        ([f"19{400_101 + 37 * one}-{3000 + one}" for one in range(300)], True),
        ([f"2019/{one}" for one in range(300)], True),
        ([f"2019-{one:05d}" for one in range(300)], True),
        ([f"{one}/2019" for one in range(300)], True),
        ([f"030-{1_234_567 + 97 * one}" for one in range(300)], True),
        ([f"030/{1_234_567 + 97 * one}" for one in range(300)], True),
        ([f"2019-03-{1 + one % 28:02d}-{one:04d}" for one in range(300)], True),
        ([f"{1 + one % 28:02d}.03.2019-{one:04d}" for one in range(300)], True),
        ([f"PAT{1000 + 29 * one}" for one in range(300)], True),
        ([f"{90 + one % 90}/{50 + one % 61}" for one in range(300)], False),
        ([f"{90 + one % 90} / {50 + one % 61}" for one in range(300)], False),
        ([f"{900 + 31 * one % 700}/{500 + 17 * one % 490}" for one in range(300)], False),
        ([f"{one % 97}.{one % 10}-{one % 89}.{one % 7}" for one in range(300)], False),
        ([f"{1900 + one % 80}-{1920 + one % 90}" for one in range(300)], False),
        ([f"2019-03-{1 + one % 28:02d}T{one % 24:02d}:{one % 60:02d}:00.{one:03d}Z" for one in range(300)], False),
        ([f"{1 + one % 12}/{1 + one % 28}/2019 {1 + one % 12}:{one % 60:02d} PM" for one in range(300)], False),
        ([f"{one % 24:02d}:{one % 60:02d}:{one * 7 % 60:02d}" for one in range(300)], False),
    ],
)  # fmt: skip
def test_forms(cells: list[str], assigned: bool) -> None:
    assert is_assigned(pl.Series(cells)) is assigned
