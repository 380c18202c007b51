"""Values are published as they were collected, and read back from the manifest."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.recoding.cell_text import Set, Value, parse
from shoal.release.entry import verify_release

VALUES = ["<=50K", ">50K", "[15,19]", "a|b", "2*3", "*a", "x}", "\\d", "{e"]


@pytest.mark.parametrize("k", [4, 8])
def test_values_stay_as_they_are(tmp_path: Path, k: int) -> None:
    frame = pl.DataFrame({"q": VALUES * 4, "s": ["a", "b"] * 18})
    table = shoal.read(frame, quasi=["q"], sensitive=["s"])
    release = shoal.anonymize(
        table, algorithm="mondrian", models=[shoal.KAnonymity(k=k)], seed=1, acknowledge=["W-UNMODELLED:s"]
    )
    release.write(tmp_path / "out")
    assert release.manifest["columns"][0]["several"] == "{|}"
    cells = [parse(cell, "set", "categorical") for cell in release.frame["q"].unique().to_list()]
    found = [value for cell in cells for value in (cell.values if isinstance(cell, Set) else [cell.text])]  # type: ignore[union-attr]
    assert sorted(found) == sorted(VALUES)
    assert all(isinstance(cell, Value if k == 4 else Set) for cell in cells)
    if k == 4:
        plain = [value for value in VALUES if value not in ("\\d", "{e")]
        assert set(plain) < set(release.frame["q"].to_list())
    assert verify_release(tmp_path / "out").passed
