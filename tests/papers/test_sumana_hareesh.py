"""The survey's worked examples hold, and its figures come out of small samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal_papers.base import Context
from shoal_papers.data import Data
from shoal_papers.sumana_hareesh.paper import PAPER


def test_every_worked_example_is_recomputed() -> None:
    outcome = PAPER.item("examples").carry_out(Context(parameters={}, seeds=(1,), quick=True, data=Data()))
    assert [claim.text for claim in outcome.claims if claim.kind == "hard" and claim.verdict != "holds"] == []
    assert outcome.table is not None
    assert set(outcome.table["id"]) == {f"SV-{number:02d}" for number in range(1, 19)}


@pytest.mark.parametrize("name, changed", [("1", {"k": [2, 5], "quasi": 3}), ("2", {"quasi": [2, 4], "k": 3})])
def test_figures_hold_what_must_hold(adult: Path, name: str, changed: dict[str, object]) -> None:
    item = PAPER.item(name)
    given = item.settings(True) | {"rows": 120, "alpha": [0.4, 0.5]} | changed
    outcome = item.carry_out(Context(parameters=given, seeds=(1, 2), quick=True, data=Data(adult.parent)))
    assert [claim.verdict for claim in outcome.claims if claim.kind == "hard"] == ["holds", "holds"]
    assert outcome.runs is not None
    assert outcome.runs.height == 2 * 2 * 4 * 2
    # Four rises and three orders of the other alpha, and of the best release for k or more.
    assert len(outcome.readings) == (14 if name == "1" else 7)
    # Complete (alpha, k)-anonymity is what the document is for.
    assert outcome.plots[0].studied == ("complete",)
