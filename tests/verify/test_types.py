"""What the verifier is given and gives back, where nothing is said about a part."""

from __future__ import annotations

import pytest

from shoal.verify.report import Check, GateReport, Verdict
from tests.verify.cases import hospital_case


def verdict(holds: bool) -> Verdict:
    return Verdict(model={"name": "k", "k": 2}, on=None, holds=holds, by="rechecked", value=1, limit=2)


def test_what_is_left_out() -> None:
    """No class fails, no row is made up, and one row in twenty may be unique."""
    found = verdict(True)
    assert (found.classes, found.smallest) == (0, 0)
    assert GateReport(checks=(), verdicts=[found], classes={}).passed
    assert Check(name="coverage", passed=True, detail="").code is None
    case = hospital_case()
    assert (case.neutral_limit, case.counterfeits, case.acknowledged) == (0.05, 0, ())
    assert (case.uncoded, case.hierarchies, case.policies, case.grids) == ({}, {}, {}, {})


@pytest.mark.parametrize(
    "checks, verdicts, passed",
    [
        ((), (), True),
        ((True,), (True,), True),
        ((True, False), (True,), False),
        ((False, True), (), False),
        ((True,), (True, False), False),
        ((), (False, True), False),
    ],
)
def test_one_failure_is_enough(checks: tuple[bool, ...], verdicts: tuple[bool, ...], passed: bool) -> None:
    found = [Check(name="one", passed=one, detail="") for one in checks]
    assert GateReport(checks=found, verdicts=[verdict(one) for one in verdicts], classes={}).passed is passed
