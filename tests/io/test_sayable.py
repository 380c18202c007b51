"""What a recipe declares may be said, however it is written."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.registry import make


@pytest.mark.parametrize("model", [shoal.Variance(v=25.0, on="s"), shoal.KE(k=2, e=25.0, on="s")])
def test_a_parameter_is_no_value_of_somebody(tmp_path: Path, model: object) -> None:
    """25 is the income of somebody suppressed, and the limit that the statement names."""
    frame = pl.DataFrame({"q": ["a"] * 3 + ["b"], "s": [0, 40, 70, 25]})
    table = shoal.read(frame, quasi=["q"], sensitive=["s"])
    method = make("algorithm", {"name": "none", "suppression_limit": 0.5})
    release = shoal.anonymize(table, algorithm=method, models=[shoal.KAnonymity(k=2), model], seed=1)
    release.write(tmp_path / "out")
    assert 25 not in release.frame["s"]
    assert shoal.verify_release(tmp_path / "out").passed
