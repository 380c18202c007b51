"""The worked examples of Loukides' Chapters 1 to 4: printed tables made anew, priced, and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm
from shoal.algorithms.cluster.toc import TOC
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.none import NoAlgorithm
from shoal.data.hierarchy import Hierarchy
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.engines.memory import MemoryRows
from shoal.recipe.source import read
from shoal.recoding.cells import IntervalCells
from shoal.recoding.outcome import recoding_kinds
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import Grouping
from shoal.registry import load
from shoal.risk.audit import audit
from shoal.utility.count_queries import answer
from shoal.utility.protection import s_diversities
from shoal.utility.queries import GivenQueries
from shoal.utility.reading import read_release
from shoal_papers.base import Claim, Context, Item, Outcome
from shoal_papers.claims import equals, info
from shoal_papers.loukides.toc_common import group_ids
from shoal_papers.runs import release, worked_examples
from shoal_papers.standins import synthetic_a

NUMBERS = [10, 15, 12, 13, 20, 30, 30, 25]
CODES = [f"NW{number}" for number in NUMBERS]
SALARY = [10, 10, 10, 10, 20, 40, 40, 30]
AGE = [30, 32, 37, 40, 45, 46, 57, 60]
T11 = pl.DataFrame({"postcode": ["[10,12]"] * 4 + ["[28,30]"] * 4, "salary": [10, 10, 10, 10, 37, 40, 39, 38]})
T21 = pl.DataFrame({"postcode": CODES, "salary": SALARY})
T24 = pl.DataFrame({
    "age": [15, 30, 30, 15, 40, 80, 80, 40], "postcode": NUMBERS, "salary": SALARY, "mortgage": list("YNYNYNNY"),
})  # fmt: skip
T31 = pl.DataFrame({"age": AGE, "postcode": NUMBERS, "salary": SALARY})
T38 = pl.DataFrame({
    "age": [10, 15, 15, 20, 20, 25, 25, 30], "height": [170, 175] * 4, "postcode": [30, 32] * 4,
    "salary": [20, 20, 65, 65] * 2,
})  # fmt: skip
_PLACES = {"NW[10-15]": range(10, 16), "NW[16-19]": range(16, 20), "NW[20-30]": range(20, 31)}
TREE = [[f"NW{number}", district, "*"] for district, numbers in _PLACES.items() for number in numbers]
# Classes of the printed tables, as rows of the originals.
C23, C26, C27 = [[0, 1, 2, 3], [4, 5, 6, 7]], [[0, 3], [1, 2], [4, 5, 6, 7]], [[0, 2], [1, 3], [4, 7], [5, 6]]
C33, C39, C310 = [[0, 1, 4, 5], [2, 3, 6, 7]], [[0, 1], [2, 3], [4, 5], [6, 7]], [[0, 2], [1, 3], [4, 6], [5, 7]]
# Table 2.7 prints wider ages than its classes have.
CELLS27 = {"age": [(15, 30), (15, 30), (40, 80), (40, 80)], "postcode": [(10, 12), (13, 15), (20, 25), (30, 30)]}
FIVE = ["NW10", "NW12", "NW16", "NW20", "NW21"]
Found = Iterator[tuple[str, Claim]]


def _grouped(table: Table, groups: Sequence[Sequence[int]]) -> Released:
    """Records in the printed classes, each generalised to its extent."""
    ids = np.empty(table.n, dtype=np.int32)
    for group, rows in enumerate(groups):
        ids[list(rows)] = group
    return apply_recoding(MemoryRows(table), Grouping(ids=ids, groups=len(groups)))


def _postcodes(frame: pl.DataFrame = T21, quasi: Sequence[str] = ("postcode",)) -> Table:
    return read(frame, quasi=list(quasi), sensitive=["salary"], hierarchies={"postcode": TREE})


def _ages(groups: Sequence[Sequence[int]], *, tree: bool, salary: Sequence[int] = SALARY) -> Released:
    """Tables 3.2 and 3.3, with postcodes as nodes or as numbers."""
    frame = T31.with_columns(postcode=pl.Series(CODES) if tree else pl.Series(NUMBERS), salary=pl.Series(salary))
    quasi = ["age", "postcode"]
    return _grouped(_postcodes(frame, quasi) if tree else read(frame, quasi=quasi, sensitive=["salary"]), groups)


def _heights() -> Table:
    return read(T38, quasi=["age", "height", "postcode"], sensitive=["salary"])


def _printed_27(table: Table) -> Released:
    cells = {}
    for name, ends in CELLS27.items():
        column = table.columns[name]
        assert column.numbers is not None
        low, high = np.searchsorted(column.numbers, np.array(ends).T).astype(np.int32)
        cells[name] = IntervalCells.of(column, low, high)
    return replace(_grouped(table, C27), cells=cells)


def _price(made: Released, name: str, beside: str | None = None, **parameters: Any) -> float:
    found = load("measure", name)(**parameters).score(made.price_stats())
    value = found.value if beside is None else found.also[beside]
    return float("nan") if value is None else float(value)


def _groups(table: Table, algorithm: Algorithm) -> list[list[int]]:
    """Groups that a method makes, with rows in the order of the table, as in the examples."""
    made = release(table, algorithm, seed=1, keys=Keys.from_seed(1, identity=True), order="kept")
    ids = group_ids(made)
    return sorted(np.flatnonzero(ids == group).tolist() for group in range(int(ids.max()) + 1))


def _same(text: str, ours: float, expected: float) -> Claim:
    return equals(text, ours, expected, tolerance=1e-12)


def _chapter_2() -> Found:
    wide = T11.with_columns(postcode=pl.lit("[10,30]"))
    yield "LU-01", equals("Table 1.4 is 4-anonymous", audit(T11, quasi=["postcode"]).own_value.k, 4)
    seen = audit(wide, quasi=["postcode"], sensitive=["salary"]).own_value.sensitive["salary"]
    yield "LU-02", equals("Table 1.5 is one class with 5 different salaries", seen.distinct_l, 5)
    table = _postcodes()
    top, low = (
        release(table, NoAlgorithm(levels={"postcode": level}), seed=1).released for level in (2, 1)
    )  # Tables 2.2 and 2.3
    yield "LU-03", equals("DM of Table 2.2", _price(top, "dm"), 64.0)
    yield "LU-03", info("DM of Table 2.2, said to be that of Table 2.3", _price(top, "dm"), 32)
    yield "LU-04", equals("DM of Table 2.3", _price(low, "dm"), 32.0)
    yield "LU-05", equals("C_AVG of Table 2.2", _price(top, "c-avg", k=4), 2.0)
    yield "LU-05", info("C_AVG of Table 2.2, said to be that of Table 2.3", _price(top, "c-avg", k=4), 1)
    yield "LU-06", equals("C_AVG of Table 2.3", _price(low, "c-avg", k=4), 1.0)
    yield "LU-07", equals("GENC of Table 2.3", _price(low, "genc"), 4.0)
    yield "LU-08", equals("GENC of Table 2.2", _price(top, "genc"), 8.0)
    yield "LU-09", equals("NW[10-15] stands for one of 6", int(low.cells["postcode"].covered()[0]), 6)
    loans = read(T24, quasi=["age", "postcode"], sensitive=["salary", "mortgage"])
    six, seven = _grouped(loans, C26), _printed_27(loans)
    yield "LU-10", _same("CM of Table 2.6", _price(six, "cm", target="mortgage"), 1 / 2)
    yield "LU-11", _same("CM of Table 2.7", _price(seven, "cm", target="mortgage"), 0.0)
    yield "LU-12", _same("AM of Table 2.6", _price(six, "am", "normalised"), 65 / 396)
    yield "LU-13", _same("AM of Table 2.7", _price(seven, "am", "normalised"), 383 / 5544)
    yield "LU-13", info("AM of Table 2.7", _price(seven, "am", "normalised"), 0.252)
    yield "LU-14", _same("UM of Table 2.6", _price(six, "um"), 46 / 195)
    yield "LU-15", _same("UM of Table 2.7", _price(seven, "um"), 557 / 2080)
    yield "LU-16", _same("Mean NCP of Table 2.6", _price(six, "ncp", "normalised"), 329 / 1040)
    yield "LU-17", _same("Mean NCP of Table 2.7", _price(seven, "ncp", "normalised"), 557 / 2080)
    numbers = read(T31.select("postcode", "salary"), quasi=["postcode"], sensitive=["salary"])
    reading = read_release(release(numbers, Mondrian(k=4, cut="widest"), seed=1))
    asked = answer(reading, GivenQueries(lines=["postcode = 10"]).make(reading))
    yield "LU-18", _same("Postcodes NW10 expected from Table 2.3", float(asked.estimate[0]), 2 / 3)


def _chapter_3() -> Found:
    two, three, lifted = _ages(C23, tree=True), _ages(C33, tree=False), _ages(C33, tree=True)
    age, code = two.cells["age"].spread(), two.cells["postcode"].spread()
    yield "LU-19", equals("An age in [30-40] is one of 11", int(two.cells["age"].covered()[0]), 11)
    for name, text, ours, expected in (
        ("LU-20", "Q-diversity of age, first group of Table 3.2", age[0], 1 / 3),
        ("LU-21", "Q-diversity of postcode, first group", code[0], 1 / 4),
        ("LU-22", "Q-diversity of age, second group", age[1], 1 / 2),
        ("LU-23", "Q-diversity of postcode, second group", code[1], 1 / 2),
        ("LU-24", "UM of Table 3.2", _price(two, "um"), 95 / 240),
        ("LU-25", "DM of Table 3.2", _price(two, "dm"), 32),
        ("LU-26", "DM of Table 3.3", _price(three, "dm"), 32),
        ("LU-27", "C_AVG of Table 3.3", _price(three, "c-avg", k=4), 1),
        ("LU-28", "UM of Table 3.3, postcodes as numbers", _price(three, "um"), 4 / 5),
        ("LU-29", "UM of Table 3.3, postcodes as nodes", _price(lifted, "um"), 33 / 40),
    ):
        yield name, _same(text, float(ours), expected)
    pairs = T21[:4].with_columns(postcode=pl.Series(["NW10", "NW13", "NW20", "NW23"]))
    cells = _grouped(_postcodes(pairs), [[0, 1], [2, 3]]).cells["postcode"]
    yield "LU-30", equals("NW10 and NW13 become one of 6", int(cells.covered()[0]), 6)
    yield "LU-31", equals("NW20 and NW23 become one of 11", int(cells.covered()[1]), 11)
    yield "LU-32", _same("Q-diversity of NW10 and NW13", float(cells.spread()[0]), 1 / 4)
    yield "LU-33", _same("Q-diversity of NW20 and NW23", float(cells.spread()[1]), 1 / 2)
    shares = [round(float(one), 12) for one in s_diversities(three.price_stats())[0]]
    yield "LP-10", equals("S-diversity of the groups of Table 3.3", shares, [0.0, 0.0])
    yield "LP-10", info("S-diversity of the groups of Table 3.3", shares, [0, 1 / 3])
    yield "LP-11", _same("MPM of Table 3.3", _price(three, "mpm"), 0.0)
    yield "LP-11", info("MPM of Table 3.3", _price(three, "mpm"), 1 / 6)
    mended = _ages(C33, tree=False, salary=[10, 10, 10, 10, 20, 40, 30, 30])
    yield "LP-12", _same("MPM of Table 3.3 had the seventh salary been 30K", _price(mended, "mpm"), 1 / 6)
    yield "LP-13", _same("MPM of Table 3.2", _price(two, "mpm"), 2 / 3)
    low = read(
        pl.DataFrame({"group": ["a"] * 4, "income": [1, 4, 9, 90]}), quasi=["group"], sensitive=["income"],
        policies={"income": [[0, 9], [10, 100]]},
    )  # fmt: skip
    verdict = release(low, "none", seed=1, models=[load("model", "range-confidence")(p=0.8)]).verdict[0]
    yield "LP-16", _same("Low income among 1, 4, 9, 90K", verdict.value, 3 / 4)


def _partitions() -> Found:
    table = _heights()
    nine, ten = _grouped(table, C39), _grouped(table, C310)
    yield "LU-34", _same("UM of Table 3.9", _price(nine, "um"), 3 / 4)
    yield "LU-35", _same("UM of Table 3.10", _price(ten, "um"), 1 / 12)
    yield "LU-35", info("UM of Table 3.10", _price(ten, "um"), 0.25)
    yield "LU-35", info("How many times UM of Table 3.9 is that of 3.10", _price(nine, "um") / _price(ten, "um"), 3)
    yield "LU-36", _same("Bound of Theorem 3.3.1 for n = 8, s = 2, m = 3", (8 // 2) * (1 / (8 // 3) + 2), 10.0)
    yield "LU-37", _same("The same as the example prints it", (8 // 2) * (1 / (8 // 2) + 2), 9.0)
    yield "LU-37", info("The bound as the example prints it", (8 // 2) * (1 / (8 // 2) + 2), 10)
    yield "LP-14", _same("MPM of Table 3.9", _price(nine, "mpm"), 1.0)
    yield "LP-15", _same("MPM of Table 3.10", _price(ten, "mpm"), 0.0)
    whole: dict[str, Any] = {"k": 2, "listing": "printed", "delta": 1.0, "seeds": "order"}
    raw = _groups(table, TOC(size=2, scale="raw", **whole))
    yield "LU-38", equals("Halving by raw ranges makes Table 3.9", raw, C39)
    yield "LU-39", equals("By normalised ranges it makes Table 3.10", _groups(table, TOC(size=2, **whole)), C310)
    yield "LU-40", equals("Cut at <= median", _literal(list(range(8))), [[0, 1, 2], [3, 4], [5, 6, 7]])
    yield "LU-40", info("Cut at <= median, as Algorithm 2 prints it", str(_literal(list(range(8)))), str(C39))
    greedy = _groups(table, TOC(k=2, listing="printed", delta=0.05, prepartition=False, seeds="order"))
    yield "AL-01", equals("Algorithm 1 with delta = 0.05 makes Table 3.10", greedy, C310)
    made = synthetic_a(30_162, seed=1).frame.select("q1", "q2", "s1")
    many = TOC(k=10, listing="printed", delta=0.5, size=50)
    big = release(read(made, quasi=["q1", "q2"], sensitive=["s1"]), many, seed=1)
    yield "LU-41", equals("30,162 records with s = 50 make 512 subspaces", big.evidence["search"]["subspaces"], 512)


def _literal(rows: list[int]) -> list[list[int]]:
    """Steps 4 and 5 of Algorithm 2 as they are printed: up to the median, and above it."""
    values = {name: T38[name].to_list() for name in ("age", "height", "postcode")}
    if len(rows) < 4:
        return [rows]
    widest = max(values, key=lambda name: max(values[name][r] for r in rows) - min(values[name][r] for r in rows))
    median = sorted(values[widest][row] for row in rows)[(len(rows) - 1) // 2]
    left = [row for row in rows if values[widest][row] <= median]
    right = [row for row in rows if row not in left]
    return _literal(left) + _literal(right) if min(len(left), len(right)) >= 2 else [rows]


def _recodings() -> Found:
    tree = Hierarchy.from_rows("postcode", TREE)
    names = ["full-domain", "full-subtree", "ordered-set-partition", "unordered-set-partition"]
    nodes = ["NW[10-15]", "NW[10-15]", "NW[16-19]", "NW[20-30]", "NW[20-30]"]
    runs = [["NW10", "NW12"], ["NW10", "NW12"], ["NW16"], ["NW20", "NW21"], ["NW20", "NW21"]]
    mixed = [["NW10", "NW16"], ["NW12"], ["NW10", "NW16"], ["NW20", "NW21"], ["NW20", "NW21"]]
    cases: list[tuple[str, str, Any, list[str]]] = [
        ("LU-54", "Fig. 2.8, full domain", nodes, names),
        ("LU-55", "Fig. 2.8, full subtree", [*nodes[:2], "NW16", *nodes[3:]], names[1:]),
        ("LU-56", "An ordered set partition", runs, names[2:]),
        ("LU-57", "An unordered set partition", mixed, names[3:]),
    ]
    for name, text, labels, expected in cases:
        kinds = recoding_kinds(dict(zip(FIVE, labels, strict=True)), tree, FIVE)
        yield name, equals(text, kinds, expected)


PARTS: Sequence[Callable[[], Found]] = (_chapter_2, _chapter_3, _partitions, _recodings)


def _run(context: Context) -> Outcome:
    found = [pair for part in context.each(PARTS, lambda part: part.__name__.strip("_")) for pair in part()]
    notes = [
        "Tables 2.2 and 2.3 are said to be alike under DM and C_AVG: they are where rows with equal cells in Table "
        "2.2 count as two groups. Classes are those of equal cells here.",
        "AM is not defined: the mean product of cell sizes over that of domain sizes gives Table 2.6's 0.164, and "
        "0.069 for Table 2.7 where 0.252 is printed; by AM Table 2.7 is the better one.",
        "Example 3.1.4 reads a salary of 40K in Table 3.3 as 30K. Section 3.3.1 forgets to divide UM of Table 3.10 "
        "by the three attributes: the ratio is 9, not 3. The bound's inner floor is that of 8/3, not of 8/2.",
        "Algorithm 2 asks for the largest normalised range in words and for the raw one in its tables; and it cuts "
        "at <= median in its steps, but shares equal values in a footnote. Its tables need raw ranges and the "
        "footnote.",
        "NW[12-30] of Table 3.3 is no node of the hierarchy: postcodes are numbers there, or all of them.",
    ]
    return worked_examples(found, notes)


EXAMPLES = Item(
    id="examples",
    key="EXP-LO-examples",
    title="Worked examples of Chapters 1 to 4",
    shows="Measures of the printed tables, halving and clustering of Table 3.8, and kinds of recoding.",
    statement=(
        "Tables 2.2 and 2.3 tie under DM and C_AVG; UM of Table 3.2 is 95/240; MPM of Table 3.3 is 1/6; "
        "pre-partitioning turns UM of 0.25 into 0.75; 30,162 records with s = 50 make 512 subspaces."
    ),
    run=_run,
    fixed=True,
)
