"""Worked examples of Poovammal & Ponnavaikko: patients' tables, Table 8 and the numbers of section 6, recomputed."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.links.pseudonyms import Graded
from shoal.data.classes import Cells
from shoal.errors import ParameterError
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.models.numeric import EpsM
from shoal.recipe.source import read
from shoal.recoding.grading import GradingTable, correlation
from shoal.registry import load
from shoal.risk.audit import AuditFigures, audit
from shoal_papers.base import Claim, Context, Item, Outcome
from shoal_papers.claims import checked, equals, info
from shoal_papers.plots import Plot, Series
from shoal_papers.runs import release, worked_examples

QUASI = ("age", "sex", "zip")
B, S, F, G = "bronchitis", "stomach cancer", "flu", "gastritis"
TABLE_1 = pl.DataFrame({
    "name": ["Anand", "Barbie", "Charles", "Dinesh", "Esra", "Febi", "Girija"],
    "age": [33, 29, 21, 31, 22, 60, 25],
    "sex": ["M", "F", "M", "M", "M", "M", "F"],
    "zip": ["600018", "600008", "600006", "600009", "600006", "600019", "600006"],
    "income": [22000, 15000, 10000, 20000, 10020, 23000, 10030],
    "disease": [F, S, B, G, B, F, B],
})  # fmt: skip
TABLE_3 = pl.DataFrame({
    "age": ["21-25"] * 3 + ["29-60"] * 4,
    "sex": ["person"] * 7,
    "zip": ["600006"] * 3 + ["600008-600019"] * 4,
    "income": [10000, 10020, 10030, 22000, 15000, 20000, 23000],
    "disease": [B, B, B, F, S, G, F],
})  # fmt: skip
TABLE_4 = pl.DataFrame({
    "age": ["21-29"] * 4 + ["31-60"] * 3,
    "sex": ["person"] * 7,
    "zip": ["600006-600008"] * 4 + ["600009-600019"] * 3,
    "income": [10000, 10020, 10030, 15000, 15000, 20000, 23000],
    "disease": [B, B, B, S, F, G, F],
})  # fmt: skip
ACTUAL = [15, 25, 30, 37, 40, 58, 70, 73, 90]
PRINTED = [[15, 30], [30, 45], [46, 61], [61, 76], [76, 91]]
NATURAL = [[15, 30], [30, 45], [45, 60], [60, 75], [75, 90]]
ONES, EVENS = [1, 2, 3, 4, 5], [2, 4, 6, 8, 10]
STATED = {
    "1 to 5": [1.0, 1.666667, 2.0, 2.466667, 2.666667, 3.8, 4.6, 4.8, 5.933333],
    "2 to 10": [2.0, 2.666667, 3.0, 4.466667, 4.666667, 6.8, 8.6, 8.8, 10.93333],
}
_TINY = 1e-9
# As many digits as the document prints.
_PRINTED = 5e-6
Found = list[tuple[str, Claim]]


def graded(values: Sequence[int], names: Sequence[int], bounds: Any, rule: str) -> tuple[list[float], GradingTable]:
    """Codes of some values as a release has them, and the secret behind."""
    frame = pl.DataFrame({"value": values, "place": [str(one) for one in range(len(values))]})
    algorithm = Graded(bounds=bounds, names=names, max_rule=rule, allow_shared_bounds=True)
    made = release(read(frame, quasi=["place"], sensitive=["value"]), algorithm, seed=1)
    (secret,) = made.secrets
    assert isinstance(secret, GradingTable)
    return made.aligned()["value"].to_list(), secret


def against(values: Sequence[float], codes: Sequence[float]) -> float:
    """Correlation of values with their codes."""
    return float(correlation(np.array(values, dtype=float), np.array(codes)) or 0.0)


def whole_bounds(category: int, above: int) -> list[list[int]]:
    """Every pair of whole bounds, from ``above`` on, under which a category gives the printed codes of its values.

    A value is in the category that its code under the names 2, 4, ... begins with; a maximum has membership 1.
    """
    places = [
        (value, Fraction(round((code - name) * 15), 15))
        for value, code in zip(ACTUAL, STATED["2 to 10"], strict=True)
        for name in [EVENS[category]] if name <= code < name + 2
    ]  # fmt: skip
    return [
        [low, high] for low in range(above, ACTUAL[-1] + 1) for high in range(low + 1, ACTUAL[-1] + 16)
        if all(Fraction(value - low, high - low) == place for value, place in places)
    ]  # fmt: skip


def _bounds() -> Found:
    """Which bounds the printed codes leave open: categories may touch, and must not overlap."""
    first, second, fourth = (whole_bounds(category, 0) for category in (0, 1, 3))
    third = [pair for pair in whole_bounds(2, 0) if second[0][1] <= pair[0] and pair[1] <= fourth[0][0]]
    fifth = whole_bounds(4, fourth[0][1])
    return [
        ("PP-09", equals("Whole bounds of categories 1, 2, 4 and 5 that give Table 8's codes", [first, second, fourth,
                                                                                               fifth],
                         [[[15, 30]], [[30, 45]], [[61, 76]], [[76, 91]]])),
        ("PP-09", equals("Those of category 3", third, [[46, 61], [50, 60], [54, 59]])),
    ]  # fmt: skip


def table_8() -> tuple[dict[str, list[float]], Found]:
    """Both columns of Table 8, and what is said of them."""
    ones, evens = (graded(ACTUAL, names, PRINTED, "table8")[0] for names in (ONES, EVENS))
    strict = graded(ACTUAL, ONES, PRINTED, "paper")[0]
    natural = graded(ACTUAL, ONES, NATURAL, "paper")[0]
    third = 2 / 3
    return dict(zip(STATED, (ones, evens), strict=True)), [
        *_bounds(),
        ("PP-09", equals("Codes of Table 8 with names 1 to 5", ones, STATED["1 to 5"], tolerance=_PRINTED)),
        ("PP-10", equals("Codes of Table 8 with names 2 to 10", evens, STATED["2 to 10"], tolerance=_PRINTED)),
        ("PP-11", equals("The same bounds with 0.999 at a maximum, as step 3 says, change 30 only", strict,
                         [1.999 if value == 30 else code for value, code in zip(ACTUAL, ones, strict=True)],
                         tolerance=_TINY)),
        ("PP-11", info("Code of 30: step 3 as printed, and Table 8", strict[2], 2)),
        ("PP-12", equals("Equal widths on [15, 90] with step 3 as printed", natural,
                         [1, 1 + third, 1.999, 2 + 7 / 15, 2 + third, 3 + 13 / 15, 4 + third, 4 + 13 / 15, 5.999],
                         tolerance=_TINY)),
        ("PP-12", info("Codes of 58, 70, 73 and 90 with those widths", natural[5:], STATED["1 to 5"][5:])),
        ("PP-13", equals("Correlation with names 1 to 5", against(ACTUAL, ones), 0.999959, tolerance=_PRINTED)),
        ("PP-14", equals("Correlation with names 2 to 10", against(ACTUAL, evens), 0.997021, tolerance=_PRINTED)),
        ("PP-15", equals("58 and 70 are so far apart with names 1 to 5", ones[6] - ones[5], 0.8, tolerance=_TINY)),
        ("PP-16", equals("58 and 70 are so far apart with names 2 to 10", evens[6] - evens[5], 1.8, tolerance=_TINY)),
    ]  # fmt: skip


def _audit(frame: pl.DataFrame, sensitive: str) -> AuditFigures:
    return audit(frame.select([*QUASI, sensitive]), quasi=list(QUASI), sensitive=[sensitive]).own_value


def _near(eps: float) -> list[float]:
    """Largest share of each class of Table 4 whose incomes lie within eps of one of them."""
    text: dict[str, Any] = {name: {"type": "categorical"} for name in QUASI}
    table = read(TABLE_4.drop("disease"), quasi=list(QUASI), sensitive=["income"], settings=text)
    model, engine = EpsM(eps=eps, m=2), load("engine", "memory")()
    rows = engine.open(table)
    judge = Judge([model], whole_reference(rows, [model]))
    cells = rows.frequency([]).rows.size
    (found,) = judge.judge(rows.stats(Cells(np.arange(cells), cells), judge.attributes))
    return [float(value) for value in found.values]


def _patients() -> Found:
    """What is said of Tables 1 to 4."""
    three, four = _audit(TABLE_3, "disease"), _audit(TABLE_4, "disease")
    income, near = _audit(TABLE_4, "income").sensitive["income"], _near(30)
    anand = TABLE_1.filter(name="Anand")["income"].item()
    incomes = [sorted(frame["income"].to_list()) for frame in (TABLE_1, TABLE_3, TABLE_4)]
    meant = sorted([*TABLE_4["income"].to_list()[:4], 22000, *TABLE_4["income"].to_list()[5:]])
    return [
        ("PP-01", equals("Table 3 is 3-anonymous", three.k, 3)),
        ("PP-02", equals("Girija has bronchitis for sure in Table 3", three.sensitive["disease"].alpha, 1.0)),
        ("PP-03", equals("Table 4 is 3-anonymous", four.k, 3)),
        ("PP-04", equals("Table 4 has two diseases in each class", four.sensitive["disease"].distinct_l, 2)),
        ("PP-05", equals("Table 4 is entropy 2-diverse", four.sensitive["disease"].entropy_l >= 2 - _TINY, False)),
        ("PP-05", equals("Its entropy l", four.sensitive["disease"].entropy_l, 1.755, tolerance=5e-4)),
        ("PP-06", equals("Incomes within 30 of each other, by class of Table 4", near, [3 / 4, 1 / 3],
                         tolerance=_TINY)),
        ("PP-06", info("Chance that an income of the first class lies in 10000-10030", near[0], 0.75)),
        ("PP-07", equals("Surest income of Table 4", income.alpha, 1 / 3, tolerance=_TINY)),
        ("PP-07", info("Chance to name an exact income: worst class, and the document's first class", income.alpha,
                       0.25)),
        ("PP-08", equals("Tables 1 and 3 have the same incomes", incomes[0], incomes[1])),
        ("PP-08", equals("Table 4 has them too once Anand's is 22000 again", meant, incomes[0])),
        ("PP-08", info("Anand's income in Table 1, and in Table 4 as printed", anand, TABLE_4["income"][4])),
    ]  # fmt: skip


def _defect() -> Found:
    """Step 3 takes values near a maximum out of order."""
    values = [0, 99_999, 100_000]
    table = GradingTable("value", bounds=[(Decimal(0), Decimal(100_000))], names=[1], rule="paper")
    codes = table.place(np.array(values))[1]
    try:
        graded(values, [1], [[0, 100_000]], "paper")
        refused = ""
    except ParameterError as error:
        refused = str(error)
    scaled, secret = graded(values, [1], [[0, 100_000]], "scaled")
    back = secret.decode(pl.Series(scaled)).to_list()
    return [
        ("PP-17", equals("Codes of 99,999 and 100,000 by step 3 in one category", codes[1:].tolist(), [1.99999, 1.999],
                         tolerance=_TINY)),
        ("PP-17", checked("The rule as printed is refused there", "breaks the order" in refused, refused)),
        ("PP-17", equals("Memberships scaled to 0.999 keep the order and can be read back", back, values)),
    ]  # fmt: skip


def _examples(context: Context) -> Outcome:
    found = [*_patients(), *table_8()[1], *_defect()]
    notes = [
        "Table 4 prints 15000 for Anand, the line above his; Tables 1 and 3 have 22000.",
        "The 25 % for an exact income is that of the first class; the second class, of three, gives 33 %.",
        "Step 3's condition 'min > x < max' is read as min < x < max.",
    ]
    return worked_examples(found, notes)


def _table_8(context: Context) -> Outcome:
    made, found = table_8()
    natural = next(claim for name, claim in found if name == "PP-12")
    table = pl.DataFrame({"actual": ACTUAL, **{f"names {name}": codes for name, codes in made.items()},
                          **{f"document, names {name}": codes for name, codes in STATED.items()}})  # fmt: skip
    return Outcome(
        table=table,
        claims=[claim for _, claim in found],
        plots=[
            Plot(title="codes of nine values", figure="Table 8", x="Actual value", y="Code",
                 series=[Series(name=f"names {name}", x=ACTUAL, y=codes, printed=STATED[name])
                         for name, codes in made.items()])
        ],
        notes=[
            f"The bounds {PRINTED} are solved for from the printed codes. As whole numbers, categories 1, 2, 4 and 5 "
            "can have no others; the third may also be [50, 60] or [54, 59], and is [46, 61] where all are 15 wide. "
            "The correlations follow from the codes, whatever the bounds.",
            "Table 8 breaks two of the document's own steps: categories share 30 and 76 (and 61, where all are 15 "
            "wide), and a maximum gets 1, not 0.999.",
        ],
        readings=[f"Equal widths of 15 on [15, 90], step 3 as printed: {natural.evidence}"],
    )  # fmt: skip


EXAMPLES = Item(
    id="examples",
    key="EXP-PP-examples",
    title="Worked examples",
    shows="Every number that the document works out, recomputed.",
    statement="Tables 3 and 4 and their breaches, and the codes, correlations and differences of Table 8.",
    run=_examples,
    fixed=True,
)
TABLE_8 = Item(
    id="8",
    also=["T8"],
    key="EXP-PP-8",
    title="Table 8: sample values of graded grouping",
    shows="Codes of nine values in five categories, with names 1 to 5 and 2 to 10, and their correlations.",
    statement="Codes as printed; correlations 0.999959 and 0.997021, so that correlation is maintained in both cases.",
    run=_table_8,
    fixed=True,
)
