"""Sizes that come from the input have limits, each with one sentence."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.errors import SchemaError
from shoal.table import column


def test_thousands_of_quasi_identifiers() -> None:
    frame = pl.DataFrame({f"q{place}": ["a", "b"] for place in range(4999)})
    with pytest.raises(SchemaError, match="4,999 quasi-identifiers and can have at most 256"):
        shoal.read(frame, quasi=frame.columns)


@pytest.mark.parametrize("algorithm", ["mondrian", "k-members"])
def test_sets_of_very_many_values(monkeypatch: pytest.MonkeyPatch, algorithm: str) -> None:
    monkeypatch.setattr(column, "SETS_LIMIT", 1000)
    frame = pl.DataFrame({"q": [f"v{place}" for place in range(400)]})
    table = shoal.read(frame, quasi=["q"])
    with pytest.raises(SchemaError, match="Column 'q' has 400 different values .* give it a hierarchy"):
        shoal.anonymize(table, algorithm=algorithm, models=[shoal.KAnonymity(k=2)])
    monkeypatch.setattr(column, "SETS_LIMIT", 1 << 30)
    assert shoal.anonymize(table, algorithm=algorithm, models=[shoal.KAnonymity(k=2)]).frame.height == 400
