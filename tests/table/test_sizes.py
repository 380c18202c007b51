"""Sizes that come from the input have limits, each with one sentence."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.data import column
from shoal.errors import SchemaError
from shoal.registry import make


def test_thousands_of_quasi_identifiers() -> None:
    frame = pl.DataFrame({f"q{place}": ["a", "b"] for place in range(999)})
    with pytest.raises(SchemaError, match="999 quasi-identifiers and can have at most 256"):
        shoal.read(frame, quasi=frame.columns)


VALUES = 200


def many_values() -> shoal.Table:
    return shoal.read(pl.DataFrame({"q": [f"v{place}" for place in range(VALUES)]}), quasi=["q"])


@pytest.mark.parametrize("algorithm", ["mondrian", "optimal", "set-partition"])
def test_sets_take_room_for_the_values_that_are_in_them(monkeypatch: pytest.MonkeyPatch, algorithm: str) -> None:
    monkeypatch.setattr(column, "SETS_LIMIT", 1000)
    release = shoal.anonymize(many_values(), algorithm=algorithm, models=[shoal.KAnonymity(k=2)])
    assert release.frame.height == VALUES


LOSS = {"name": "toc", "utility_weight": 1.0, "protection_weight": 0.0}


@pytest.mark.parametrize(
    "spec", [{"name": "k-members"}, {"name": "bottom-up"}, LOSS, {"name": "mondrian", "polish": "lm"}], ids=str
)
def test_sets_of_very_many_values(monkeypatch: pytest.MonkeyPatch, spec: dict[str, object]) -> None:
    monkeypatch.setattr(column, "SETS_LIMIT", 1000)
    table, algorithm = many_values(), make("algorithm", spec)
    with pytest.raises(SchemaError, match="Column 'q' has 200 different values .* give it a hierarchy"):
        shoal.anonymize(table, algorithm=algorithm, models=[shoal.KAnonymity(k=2)])
    monkeypatch.setattr(column, "SETS_LIMIT", 1 << 30)
    assert shoal.anonymize(table, algorithm=algorithm, models=[shoal.KAnonymity(k=2)]).frame.height == VALUES
