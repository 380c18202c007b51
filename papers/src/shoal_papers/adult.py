"""UCI Adult, from the user's own download, and hierarchies of our own for its attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from shoal.data.hierarchy import Hierarchy
from shoal.data.hierarchy_builders import equal_width, nested
from shoal.errors import InputError
from shoal.io.files import read_frame

FILE = "adult.data"
SHA256 = "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
ROWS, COMPLETE, SPLIT = 32_561, 30_162, (22_654, 7_508)
SOURCE = "the UCI Machine Learning Repository (archive.ics.uci.edu), data set 'Adult', licence CC BY 4.0"
COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary-class",
)  # fmt: skip
NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")

_TREES: dict[str, dict[str, Any]] = {
    "workclass": {"*": {
        "paid by an employer": {
            "private employer": ["Private"],
            "public employer": ["Federal-gov", "State-gov", "Local-gov"],
        },
        "own business": {"own company": ["Self-emp-inc"], "own account": ["Self-emp-not-inc"]},
        "unpaid": {"unpaid work": ["Without-pay"], "no work so far": ["Never-worked"]},
    }},
    "education": {"*": {
        "school": {
            "primary school": ["Preschool", "1st-4th", "5th-6th"],
            "lower secondary": ["7th-8th", "9th"],
            "upper secondary, not finished": ["10th", "11th", "12th"],
            "school finished": ["HS-grad"],
        },
        "after school": {
            "college, no degree": ["Some-college"],
            "associate degree": ["Assoc-voc", "Assoc-acdm"],
            "first degree": ["Bachelors"],
        },
        "graduate school": {"graduate degree": ["Masters", "Doctorate"], "professional degree": ["Prof-school"]},
    }},
    "marital-status": {"*": {
        "married": {
            "living together": ["Married-civ-spouse", "Married-AF-spouse"],
            "living apart": ["Married-spouse-absent", "Separated"],
        },
        "not married": {"never": ["Never-married"], "no longer": ["Divorced", "Widowed"]},
    }},
    "occupation": {"*": {
        "mostly at a desk": {
            "leading and expert work": ["Exec-managerial", "Prof-specialty"],
            "offices and shops": ["Adm-clerical", "Sales", "Tech-support"],
        },
        "mostly with the hands": {
            "trades and machines": ["Craft-repair", "Machine-op-inspct", "Transport-moving"],
            "labouring": ["Handlers-cleaners", "Farming-fishing"],
        },
        "mostly for people": {
            "services": ["Other-service", "Priv-house-serv"],
            "safety": ["Protective-serv", "Armed-Forces"],
        },
    }},
    "relationship": {"*": {
        "of a couple": ["Husband", "Wife"],
        "of a family": ["Own-child", "Other-relative"],
        "of neither": ["Not-in-family", "Unmarried"],
    }},
    "race": {"*": {
        "White or Black": ["White", "Black"],
        "another": ["Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"],
    }},
    "sex": {"*": ["Male", "Female"]},
    "native-country": {"*": {
        "the Americas": {
            "North America": ["United-States", "Canada", "Outlying-US(Guam-USVI-etc)"],
            "Mexico and Central America": ["Mexico", "Guatemala", "Honduras", "El-Salvador", "Nicaragua"],
            "Caribbean": ["Puerto-Rico", "Cuba", "Jamaica", "Haiti", "Dominican-Republic", "Trinadad&Tobago"],
            "South America": ["Columbia", "Ecuador", "Peru"],
        },
        "Europe": {
            "British Isles": ["England", "Scotland", "Ireland"],
            "Western Europe": ["France", "Germany", "Holand-Netherlands"],
            "Southern Europe": ["Italy", "Greece", "Portugal"],
            "Eastern Europe": ["Poland", "Hungary", "Yugoslavia"],
        },
        "Asia": {
            "East Asia": ["China", "Hong", "Taiwan", "Japan"],
            "South-East Asia": ["Philippines", "Vietnam", "Cambodia", "Laos", "Thailand"],
            "South and West Asia": ["India", "Iran"],
        },
        "not known which": {"South, of no known continent": ["South"]},
    }},
    "salary-class": {"*": ["<=50K", ">50K"]},
}  # fmt: skip


def find_adult(folder: Path | None) -> Path:
    """The file in a folder, in its subfolder ``adult``, or itself; an error says where to get it."""
    if folder is not None:
        for place in (folder, folder / FILE, folder / "adult" / FILE):
            if place.is_file():
                return place
    where = "no --data folder was given" if folder is None else f"'{folder}' does not hold it"
    raise InputError(f"This needs UCI Adult and {where}: download '{FILE}' from {SOURCE}, and give its folder.")


def read_adult(path: str | Path) -> pl.DataFrame:
    """Rows in the order of the file: numbers as integers, missing cells (``?``) null."""
    frame = read_frame(Path(path), columns=list(COLUMNS), separator=",", missing_markers=("?",))
    numbers = frame.select(pl.col(NUMERIC).cast(pl.Int64, strict=False))
    for name in NUMERIC:
        wrong = int((numbers[name].is_null() & frame[name].is_not_null()).sum())
        if wrong:
            raise InputError(f"'{path}' has {wrong} cells in '{name}' that are no whole numbers: download it anew.")
    return frame.with_columns(numbers)


def check_adult(frame: pl.DataFrame) -> None:
    """Refuse what cannot be UCI's training file: its rows, complete rows and their classes are known."""
    whole = frame.drop_nulls()
    classes = tuple(whole.filter(pl.col("salary-class") == name).height for name in ("<=50K", ">50K"))
    for what, found, right in (
        ("rows", frame.height, ROWS),
        ("complete rows", whole.height, COMPLETE),
        ("complete rows a class", classes, SPLIT),
    ):
        if found != right:
            raise InputError(f"This is not UCI Adult's training file: it has {found} {what}, not {right}.")


def adult_hierarchies(columns: Sequence[str]) -> Mapping[str, Hierarchy]:
    """Hierarchies of our own for some of the attributes; numbers other than age have none."""
    found = {}
    for name in columns:
        if name == "age":
            found[name] = equal_width(name, [str(age) for age in range(17, 91)], [5, 10, 20, 40], origin=15)
        elif name in _TREES:
            found[name] = nested(name, _TREES[name])
    return found
