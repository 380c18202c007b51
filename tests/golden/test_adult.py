"""UCI Adult: the figures that Yang & Qiao 2010 and Loukides 2008 print about the table itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.data.table import Table
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.recipe.source import read
from shoal.registry import make
from tests.golden.build import ENGINE

COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
    "salary",
]  # fmt: skip
DROPPED = ["fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]

# Loukides 2008, Table 4.2. Ages count from 17 to 90 although only 72 of them occur.
DOMAINS = {
    "LU-42": ("age", 74), "LU-43": ("sex", 2), "LU-44": ("race", 5), "LU-45": ("salary", 2),
    "LU-46": ("native-country", 41), "LU-47": ("workclass", 7), "LU-48": ("marital-status", 7),
    "LU-49": ("occupation", 14),
}  # fmt: skip
COVERED = {*DOMAINS, "RA-34", "RA-37", "RA-38"}


@pytest.fixture(scope="module")
def table(adult: Path) -> Table:
    quasi = [name for name in COLUMNS if name not in (*DROPPED, "occupation")]
    return read(
        adult, columns=COLUMNS, quasi=quasi, sensitive=["occupation"], drop=DROPPED, missing_markers=["?"],
        missing="drop",
    )  # fmt: skip


def whole(table: Table, **model: object) -> float:
    made = make("model", model)
    judge = Judge([made], whole_reference(ENGINE.open(table), [made]))
    return judge.judge(judge.reference.stats)[0].worst


def test_ra_34_complete_rows(table: Table) -> None:
    assert (table.n, table.n_read, table.n_dropped) == (30162, 32561, 2399)


@pytest.mark.parametrize("name", DOMAINS)
def test_domain_size(name: str, table: Table) -> None:
    column, expected = DOMAINS[name]
    assert table.columns[column].domain_size == expected


def test_only_72_ages_occur(table: Table) -> None:
    assert table.columns["age"].card == 72


def test_ra_37_entropy_of_occupation(table: Table) -> None:
    """The paper says about ln 10; to six digits it is ln 10.5312."""
    assert whole(table, name="entropy-l", l=2) == pytest.approx(10.5312, abs=5e-5)


def test_ra_38_commonest_occupation(table: Table) -> None:
    assert whole(table, name="alpha-k-general", alpha=1, k=2) == pytest.approx(673 / 5027, abs=1e-12)
