"""An answer about one release tells of others under the same codes: what few people have there is not told either."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shoal.vault.leaks import NOTHING, Known
from shoal.vault.protocol.decision import Budget, Policy
from shoal.vault.protocol.recount import Counter
from shoal.vault.protocol.statements import Released
from tests.vault.test_protocol import AGES, ILLS, ask, small  # noqa: F401

FREE = Policy(waiting=1, budget=1, together=1)
CODED = {"age": "grading", "disease": "mapping"}


def relative(ages: dict[int, int], ills: dict[str, int], **more: object) -> Budget:
    """A release with so many rows of each age and each disease."""
    rows = max(sum(ages.values()), sum(ills.values()))
    columns = {}
    for name, secret, counts in (("age", AGES, ages), ("disease", ILLS, ills)):
        cells = np.repeat(list(counts), list(counts.values()))
        columns[name] = secret.encode(pl.Series(cells)).extend_constant(None, rows - len(cells))
    tally = Counter(Released.of(pl.DataFrame(columns), CODED)).tally()
    given = {"policy": FREE, "mine": NOTHING, "everyone": NOTHING, "where": " of another release", **more}
    return Budget(tally=tally, **given)  # type: ignore[arg-type]


RULE = "IF age < 1.9 THEN disease = illness_3"  # age < 42 and flu


@pytest.mark.parametrize(
    ("ages", "ills", "column"),
    [
        ({20: 50, 60: 50}, {"Flu": 1, "Gout": 99}, "disease"),
        ({20: 3, 60: 97}, {"Flu": 50, "Gout": 50}, "age"),
        ({20: 97, 60: 3}, {"Flu": 50, "Gout": 50}, "age"),
    ],
)
def test_a_code_of_few_people_elsewhere_is_not_told(
    small: Counter, ages: dict[int, int], ills: dict[str, int], column: str  # noqa: F811
) -> None:
    assert ask(small, RULE, FREE).state == "answered"
    found = ask(small, RULE, FREE, beside=[relative(ages, ills)])
    why = f"names a code of column '{column}' that fewer than 10 rows of another release have, or lie beyond"
    assert [one.why for one in found.refused] == [why]
    # By that release's own minimum, and only of codes that stand for the same there.
    assert ask(small, RULE, FREE, beside=[relative(ages, ills, policy=replace(FREE, minimum=1))]).accepted
    assert ask(small, RULE, FREE, beside=[relative(ages, ills, shared=lambda known: NOTHING)]).accepted
    # Whoever knows it already is told nothing.
    known = ask(small, RULE, FREE).gained
    assert ask(small, RULE, FREE, beside=[relative(ages, ills, mine=known, everyone=known)]).accepted


def test_a_code_of_nobody_elsewhere_is_told(small: Counter) -> None:  # noqa: F811
    nobody = relative({60: 50, 70: 50}, {"Gout": 100})
    assert ask(small, RULE, FREE, beside=[nobody]).state == "answered"


def test_thresholds_do_not_close_in_on_people_elsewhere(small: Counter) -> None:  # noqa: F811
    (before,) = AGES.encode(pl.Series([30]))
    told = Known.of([("age", before)])
    for between, state in ((3, "refused"), (0, "answered"), (10, "answered")):
        other = relative({20: 50, 35: between, 60: 50}, {"Flu": 50, "Gout": 50}, everyone=told)
        found = ask(small, RULE, FREE, everyone=told, beside=[other])
        assert found.state == state
        if state == "refused":
            few = "fewer than 10 rows of another release from another one"
            assert found.refused[0].why == f"has a threshold of column 'age' {few}"
