"""Adult from a made-up file, our hierarchies for it, and stand-ins that a seed repeats."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl
import pytest

from shoal.errors import InputError, ParameterError
from shoal.recipe.source import read
from shoal_papers.adult import COLUMNS, ROWS, SHA256, adult_hierarchies, check_adult, find_adult, read_adult
from shoal_papers.data import Data, file_hash
from shoal_papers.standins import CENSUS_COLUMNS, census_standin, synthetic_a, synthetic_b, synthetic_mcphd

ROW = "39, State-gov, 77516, Bachelors, 13, Divorced, Adm-clerical, Not-in-family, White, Male, 0, 0, 40, Cuba, <=50K"
TREES = [
    "age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country",
    "salary-class",
]  # fmt: skip


def made_up(folder: Path, rows: list[str]) -> Path:
    path = folder / "adult.data"
    path.write_text("\n".join(rows) + "\n\n", encoding="utf-8")
    return path


def test_rows_are_typed_and_question_marks_missing(tmp_path: Path) -> None:
    path = made_up(tmp_path, [ROW, ROW.replace("State-gov", "?").replace("39", "41")])
    frame = read_adult(path)
    assert frame.columns == list(COLUMNS)
    assert frame["age"].to_list() == [39, 41]
    assert frame["workclass"].to_list() == ["State-gov", None]
    assert frame["salary-class"].to_list() == ["<=50K", "<=50K"]
    assert find_adult(tmp_path) == find_adult(path) == path


def test_what_is_not_uci_adult_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"it has 1 rows, not {ROWS}"):
        check_adult(read_adult(made_up(tmp_path, [ROW])))
    with pytest.raises(InputError, match="1 cells in 'age' that are no whole numbers"):
        read_adult(made_up(tmp_path, [ROW.replace("39", "old")]))
    with pytest.raises(InputError):
        read_adult(made_up(tmp_path, [ROW + ", more"]))
    with pytest.raises(InputError, match=r"no --data folder was given: download 'adult.data' from .*archive.ics.uci"):
        Data().adult()
    with pytest.raises(InputError, match="does not hold it"):
        Data(tmp_path / "nowhere").fingerprint(["adult"])


def test_the_real_file(adult: Path) -> None:
    data = Data(adult.parent)
    frame = data.adult()
    assert file_hash(adult) == SHA256 == data.used["adult"]["sha256"]
    assert (frame.height, data.adult(complete=False).height) == (30162, 32561)
    # Every value is in our hierarchies.
    table = read(frame.select(TREES), quasi=TREES, hierarchies=adult_hierarchies(TREES))
    assert [column.hierarchy is not None for column in table.quasi] == [True] * len(TREES)
    stand = census_standin(frame, n=3000, seed=1)
    assert stand.frame.columns == list(CENSUS_COLUMNS)
    assert stand.frame["income"].value_counts()["count"].unique().to_list() == [60]
    read(stand.frame, quasi=CENSUS_COLUMNS[:-1], sensitive=["income"], hierarchies=stand.hierarchies)


def test_normal_integers() -> None:
    one = synthetic_a(n=20_000, sigma=2.5, seed=3)
    assert one.frame.columns == ["q1", "q2", "q3", "q4", "q5", "q6", "s1", "s2"]
    values = one.frame.to_numpy()
    assert (values.min() >= 0) & (values.max() <= 19)
    assert values.mean() == pytest.approx(9.5, abs=0.02)
    assert values.std() == pytest.approx(2.5, abs=0.05)
    tree = synthetic_b(n=100, seed=1).hierarchies["s1"]
    assert tree.labels[1] == ("[0,4]", "[5,9]", "[10,15]", "[16,17]", "[18,19]")
    assert tree.labels[2] == ("[0,9]", "[10,15]", "[16,19]")


def test_categories_in_place_of_certificates() -> None:
    one = synthetic_mcphd(n=4000, seed=1, attributes=14)
    assert one.frame.width == 14
    for name, tree in one.hierarchies.items():
        assert tree.height == int(name[-1])
        assert set(one.frame[name].unique()) <= set(tree.labels[0])
    counts = one.frame["a01_6"].value_counts(sort=True)["count"]
    assert counts[0] > 10 * counts[-1]


@pytest.mark.parametrize("name", ["synthetic-a", "synthetic-b", "synthetic-mcphd"])
def test_a_seed_repeats_a_stand_in_and_its_hash_is_kept(name: str) -> None:
    data = Data()
    first, again, other = (data.standin(name, n=300, seed=seed).frame for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    assert len(data.used) == 2
    digest = hashlib.sha256(first.write_csv().encode()).hexdigest()
    assert digest in {used["sha256"] for used in data.used.values()}
    with pytest.raises(ParameterError, match="one of synthetic-mcphd"):
        data.standin("synthetic-c")


def test_a_census_is_your_own_file_or_is_called_a_stand_in(tmp_path: Path) -> None:
    generated = Data().census(seed=1, n=2000)
    assert generated.name == "census-standin, generated"
    assert generated.frame.equals(census_standin(n=2000, seed=1).frame)
    read(generated.frame, quasi=CENSUS_COLUMNS[:-1], sensitive=["income"], hierarchies=generated.hierarchies)
    assert Data().fingerprint(["census"]) == {"census": "generated"}

    rows = pl.DataFrame({name: [1, 2, 30] for name in CENSUS_COLUMNS})
    rows.write_csv(tmp_path / "census.csv")
    own = Data(tmp_path)
    assert own.census(seed=1).frame.equals(rows)
    assert own.fingerprint(["census"]) == {"census": file_hash(tmp_path / "census.csv")}
    rows.drop("income").write_csv(tmp_path / "census.csv")
    with pytest.raises(InputError, match="no column 'income'"):
        own.census(seed=1)
