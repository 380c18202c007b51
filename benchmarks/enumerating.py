"""How far somebody gets who asks a server nothing but true rules that each tell one more code. No yardstick.

On 6,000 records of the demonstration's census, ages graded and diagnoses mapped. The attacker has the release, searches
it for the most telling rule about every code that is not known yet, and hands these in one by one, commonest code
first, until the server answers no more. ``python -m benchmarks.enumerating``
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np
import polars as pl

import shoal
from shoal.io.census import generate
from shoal.vault.leaks import NOTHING, Known, gain, leak
from shoal.vault.protocol.decision import REFUSED, WAITING, Policy, examine
from shoal.vault.protocol.recount import Counter
from shoal.vault.protocol.statements import Released
from shoal.vault.protocol.submission import Submission

ROWS = 6000
OTHERS = ("sex", "marital_status")


def main() -> None:
    frame = generate(ROWS, 1).select(*OTHERS, "age", "diagnosis").drop_nulls()
    table = shoal.read(frame, quasi=list(OTHERS), sensitive=["age", "diagnosis"], name="census")
    made = shoal.anonymize(table, algorithm="table-transform", seed=1, acknowledge=["W-PP-REV"])
    counter = Counter(Released.of(made.frame, {one.column: one.kind for one in made.secrets}))
    unlimited = replace(Policy(), questions=10**6)
    for column in ("diagnosis", "age"):
        without = gain(next(one for one in made.secrets if one.column == column), counter.released, NOTHING,
                       np.random.default_rng(1)).without  # fmt: skip
        for name, policy, approved in (
            ("answered at once", Policy(), False), ("with the custodian's word", Policy(), True),
            ("and any number of questions", unlimited, True),
        ):  # fmt: skip
            asked, known = _enumerate(column, counter, policy, approved=approved)
            found = leak(column, known, counter)
            print(f"{column}, {name}: {asked} questions, {found.told} of {found.codes} codes told and {found.implied} "
                  f"that follow, {found.read:.0%} of the records read ({found.guessed:.0%} with a guess, matching "
                  f"alone {without:.0%}), share {found.share:.0%}")  # fmt: skip


def _enumerate(column: str, counter: Counter, policy: Policy, *, approved: bool) -> tuple[int, Known]:
    known, asked = NOTHING, 0
    codes, counts = counter.codes(column)
    for place in np.argsort(-counts):
        for text in _rules(column, codes[place], counter):
            if codes[place] in known.in_column(column) or asked >= policy.questions:
                break
            asked += 1
            found = examine(Submission(text=text), counter, policy, mine=known, everyone=known)
            if found.state != REFUSED and (approved or found.state != WAITING):
                known |= found.gained
    return asked, known


def _rules(column: str, code: float | str, counter: Counter) -> Iterator[str]:
    """True rules that tell one code, the most telling first."""
    frame = counter.released.frame
    if isinstance(code, str):
        tests = [(f"{column} = {code}", pl.col(column) == code)]
    else:
        tests = [(f"{column} {sign} {float(code)!r}", getattr(pl.col(column), name)(code))
                 for sign, name in (("<", "lt"), ("<=", "le"), ("=", "eq"))]  # fmt: skip
    found = []
    for text, test in tests:
        for other, value in chain.from_iterable(((one, each) for each in frame[one].unique()) for one in OTHERS):
            rows, meets = frame.filter(test), pl.col(other) == value
            if not rows.height:
                continue
            share = rows.filter(meets).height / rows.height
            base = frame.filter(meets).height / frame.height
            distance = abs(share - base) / np.sqrt(base * (1 - base) / rows.height)
            found.append((distance, f"IF {text} THEN {other} = {value} (confidence = {share:.4f})"))
    yield from (text for distance, text in sorted(found, reverse=True) if distance > 2.5)


if __name__ == "__main__":
    main()
