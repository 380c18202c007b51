"""Some changed files of every kind; ``scripts/fuzz`` tries ten thousand, and watches the memory."""

from __future__ import annotations

import random

import pytest

from shoal.vault import seal
from tests.conftest import many
from tests.fuzzing import KINDS, PASSPHRASE, RECIPE, mutate_text, run_batch

CASES = many(20, 100)


@pytest.mark.parametrize("kind", list(KINDS))
def test_no_fault_of_ours(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(seal, "MEMORY", seal.MEMORY)
    monkeypatch.setenv("SHOAL_PASSPHRASE", PASSPHRASE)
    codes, wrong = run_batch(kind, seed=1, first=0, cases=CASES)
    assert wrong == []
    assert sum(codes.values()) == CASES
    assert codes["2"] > 0


def test_changes_are_changes_and_repeat() -> None:
    found = [mutate_text(random.Random(seed), RECIPE) for seed in range(50)]
    assert found == [mutate_text(random.Random(seed), RECIPE) for seed in range(50)]
    assert sum(one != RECIPE.encode() for one in found) > 40
