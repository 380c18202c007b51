"""The same seed gives the cells that it gave when they were recorded.

Those of the census are looked at in ``tests/test_published.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.catalogue import names
from shoal.vault import seal
from tests.conftest import THOROUGH
from tests.recorded import RECORD_ANEW, made_again, recorded

RECORDED = recorded()
DRAWN = [case for case in RECORDED if not case.startswith("census ")]
# The first of every algorithm, or all.
CASES = DRAWN if THOROUGH else list({case.split()[-1]: case for case in reversed(DRAWN)}.values())


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deriving keys is made cheap for no longer than a test."""
    monkeypatch.setattr(seal, "MEMORY", seal.MEMORY)


@pytest.mark.parametrize("case", CASES)
def test_the_same_seed_gives_the_same_release(tmp_path: Path, case: str) -> None:
    now = made_again(case, tmp_path)
    assert now is not None
    assert now.split()[0] == RECORDED[case].split()[0], RECORD_ANEW


def test_every_algorithm_is_recorded() -> None:
    assert {case.split()[-1] for case in RECORDED} == {case.split()[-1] for case in CASES} == set(names("algorithm"))
