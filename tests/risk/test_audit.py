"""Auditing any file: every figure recomputed record by record, missing cells as values and as wildcards."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import EmptyTableError, InputError, SchemaError
from shoal.risk.audit import Audit, AuditFigures, audit

QUASI = ["q0", "q1"]
UNKNOWN = (None, "*")


@dataclass(frozen=True)
class File:
    """Rows of an audited file: quasi-identifiers, a disease, an amount, and who."""

    rows: Sequence[tuple[Any, ...]]
    people: bool

    def frame(self) -> pl.DataFrame:
        schema = {
            "q0": pl.String,
            "q1": pl.String,
            "disease": pl.String,
            "amount": pl.Int64,
            "who": pl.String,
        }
        return pl.DataFrame(self.rows, schema=schema, orient="row")

    def audit(self) -> Audit:
        frame = self.frame() if self.people else self.frame().drop("who")
        return audit(
            frame, quasi=QUASI, sensitive=["disease", "amount"], subject="who" if self.people else None
        )

    def counted(self, rows: Iterable[int]) -> int:
        """People, or rows, among the given rows."""
        return len({self.rows[row][4] for row in rows} if self.people else set(rows))


@st.composite
def files(draw: st.DrawFn) -> File:
    cells = st.sampled_from(["a", "b", "c", None])
    row = st.tuples(
        cells, cells, st.sampled_from(["flu", "cold", "gout", "*", None]),
        st.sampled_from([1, 2, 5, 9, None]), st.sampled_from(["ann", "bob", "cid"]),
    )  # fmt: skip
    return File(draw(st.lists(row, min_size=1, max_size=12)), draw(st.booleans()))


def matches(one: Sequence[Any], other: Sequence[Any], wildcard: bool) -> bool:
    if not wildcard:
        return tuple(one[:2]) == tuple(other[:2])
    return all(a == b or a is None or b is None for a, b in zip(one[:2], other[:2], strict=True))


def histogram(file: File, rows: Iterable[int], place: int) -> dict[Hashable, int]:
    found: dict[Hashable, set[Any]] = {}
    for row in rows:
        found.setdefault(file.rows[row][place], set()).add(file.rows[row][4] if file.people else row)
    return {value: len(holders) for value, holders in found.items()}


def shares(counts: dict[Hashable, int]) -> dict[Hashable, float]:
    total = sum(counts.values())
    return {value: count / total for value, count in counts.items()}


def without_unknown(counts: dict[Hashable, int]) -> dict[Hashable, int]:
    return {value: count for value, count in counts.items() if value not in UNKNOWN}


def entropy_l(counts: dict[Hashable, int]) -> float:
    return math.exp(-sum(p * math.log(p) for p in shares(counts).values()))


def recursive_c(counts: dict[Hashable, int]) -> float:
    ordered = sorted(counts.values(), reverse=True)
    return ordered[0] / sum(ordered[1:]) if len(ordered) > 1 else math.inf


def distance(counts: dict[Hashable, int], table: dict[Hashable, int], place: int) -> float:
    p, q = shares(counts), shares(table)
    if place == 2:
        return sum(abs(p.get(value, 0) - q[value]) for value in q) / 2
    values = sorted(table, key=lambda value: (value is None, value or 0))
    running = total = 0.0
    for value in values[:-1]:
        running += p.get(value, 0) - q[value]
        total += abs(running)
    return total / (len(values) - 1) if len(values) > 1 else 0.0


def naive(file: File, wildcard: bool) -> dict[str, Any]:
    everyone = range(len(file.rows))
    groups = {
        file.rows[row][:2]: [
            other for other in everyone if matches(file.rows[row], file.rows[other], wildcard)
        ]
        for row in everyone
    }
    sizes = {cells: file.counted(rows) for cells, rows in groups.items()}
    seen_by = {cells: sum(file.rows[row][:2] == cells for row in everyone) for cells in groups}
    found: dict[str, Any] = {
        "k": min(sizes.values()),
        "classes": len(groups),
        "unique_share": sum(seen_by[cells] for cells, size in sizes.items() if size == 1) / len(file.rows),
    }
    for name, place in (("disease", 2), ("amount", 3)):
        table = histogram(file, everyone, place)
        both = [(counts := histogram(file, rows, place), without_unknown(counts)) for rows in groups.values()]
        known_people = [
            file.counted(row for row in rows if file.rows[row][place] not in UNKNOWN)
            for rows in groups.values()
        ]
        answering = {
            cells: file.counted(
                row for row in everyone if file.rows[row][:2] == cells and file.rows[row][place] not in UNKNOWN
            )
            for cells in groups
        }
        # Where people are counted, a value that all of them have makes the class homogeneous.
        seen = [
            ({value: n}, {value: n}) if file.people and (value := next((v for v in k if k[v] == n), None)) else (f, k)
            for (f, k), n in zip(both, known_people, strict=True)
        ]
        judged = [(full, known) for full, known in seen if known]
        distributed = [(full, known) for full, known in both if known]
        alphas = [max(k.values()) / n for (_, k), n in zip(both, known_people, strict=True) if k]
        tables = [table, without_unknown(table)]
        found[name] = {
            "distinct_l": min((len(known) for _, known in judged), default=0),
            "entropy_l": min((min(map(entropy_l, pair)) for pair in judged), default=math.nan),
            "recursive_c": max((max(map(recursive_c, pair)) for pair in judged), default=math.nan),
            "t": max(
                (max(distance(c, t, place) for c, t in zip(pair, tables, strict=True)) for pair in distributed),
                default=math.nan,
            ),
            "distance": "equal" if place == 2 else "ordered",
            "alpha": max(alphas, default=math.nan),
            "homogeneous_share": sum(
                answering[cells] for cells, (_, known) in zip(groups, seen, strict=True) if len(known) == 1
            )
            / max(sum(answering.values()), 1),
        }
    return found


def assert_same(figures: AuditFigures, expected: dict[str, Any]) -> None:
    assert (figures.k, figures.classes) == (expected["k"], expected["classes"])
    assert figures.unique_share == pytest.approx(expected["unique_share"])
    for name, mine in figures.sensitive.items():
        for figure, value in expected[name].items():
            assert getattr(mine, figure) == pytest.approx(value, nan_ok=True, abs=1e-12), (name, figure)


@settings(max_examples=30)
@given(files())
def test_missing_as_a_value_of_its_own(file: File) -> None:
    found = file.audit()
    assert found.rows == len(file.rows)
    assert found.people == file.counted(range(len(file.rows)))
    assert_same(found.own_value, naive(file, wildcard=False))


@settings(max_examples=40)
@given(files())
def test_missing_as_a_wildcard(file: File) -> None:
    found = file.audit()
    if not any(cell is None for row in file.rows for cell in row[:2]):
        assert found.wildcard is None
        return
    assert found.wildcard is not None
    assert_same(found.wildcard, naive(file, wildcard=True))
    # Whoever matches a record exactly also matches it loosely.
    assert found.wildcard.k >= found.own_value.k


def test_a_missing_cell_hides_among_all_it_could_be() -> None:
    frame = pl.DataFrame({"age": ["20", "20", None, "30"], "disease": ["flu", "cold", "flu", "gout"]})
    found = audit(frame, quasi=["age"], sensitive=["disease"])
    assert (found.own_value.k, found.own_value.classes, found.own_value.unique_share) == (1, 3, 0.5)
    assert found.wildcard is not None
    # The 30-year-old could be the one whose age is missing, who could be anybody.
    assert (found.wildcard.k, found.wildcard.unique_share) == (2, 0.0)


def test_subjects_are_people() -> None:
    frame = pl.DataFrame({"age": ["20"] * 4, "s": list("abcd"), "who": ["ann", "ann", "ann", "bob"]})
    found = audit(frame, quasi=["age"], sensitive=["s"], subject="who")
    assert (found.rows, found.people, found.own_value.k) == (4, 2, 2)


def test_generalised_cells_of_any_tool_are_compared_as_they_stand() -> None:
    frame = pl.DataFrame({"zip": ["130**", "130**", "1485*"], "age": ["< 30", "< 30", "[30, 40)"]})
    assert audit(frame, quasi=["zip", "age"]).own_value.classes == 2
    # Numbers are compared as they stand too: 1 and 1.0 are different cells.
    assert audit(pl.DataFrame({"a": ["1", "1.0"]}), quasi=["a"]).own_value.classes == 2


def test_an_attribute_nobody_answered() -> None:
    frame = pl.DataFrame({"age": ["20", "20"], "s": ["*", "*"]})
    found = audit(frame, quasi=["age"], sensitive=["s"]).own_value.sensitive["s"]
    assert (found.distinct_l, found.homogeneous_share) == (0, 0.0)
    assert math.isnan(found.alpha)


def test_the_result_is_plain_data() -> None:
    frame = pl.DataFrame({"age": ["20", None], "s": ["flu", "cold"]})
    found = audit(frame, quasi=["age"], sensitive=["s"]).as_dict()
    assert json.loads(json.dumps(found))["wildcard"]["k"] == 2


def test_other_columns_need_no_role() -> None:
    frame = pl.DataFrame({"age": ["20", "20"], "name": ["ann", "bob"]})
    assert audit(frame, quasi=["age"]).own_value.k == 2


@pytest.mark.parametrize(
    "options,error,message",
    [
        ({"quasi": ["agee"]}, SchemaError, "There is no column 'agee' in the table. Did you mean 'age'?"),
        ({"quasi": ["age"], "sensitive": ["disease"]}, SchemaError, "There is no column 'disease'"),
        ({"quasi": ["age"], "sensitive": ["age"]}, SchemaError, "two roles"),
        ({"quasi": []}, SchemaError, "no quasi-identifier"),
        ({"quasi": ["age"], "subject": "who"}, InputError, "The subject column 'who' has 1 missing cells"),
    ],
)  # fmt: skip
def test_bad_input(options: dict[str, Any], error: type[Exception], message: str) -> None:
    frame = pl.DataFrame({"age": ["20", "30"], "who": ["ann", None]})
    with pytest.raises(error, match=message.replace("?", r"\?")):
        audit(frame, **options)


def test_an_empty_table() -> None:
    with pytest.raises(EmptyTableError):
        audit(pl.DataFrame({"age": []}, schema={"age": pl.String}), quasi=["age"])
