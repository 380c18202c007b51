"""Two ways to the same verdict: the models on group statistics, and the verifier on the released cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.data.classes import ClassMap, Everybody, RowIds
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.engines.memory import MemoryEngine, MemoryRows
from shoal.models.base import Model
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge, Judgement
from shoal.recipe.source import read
from shoal.recoding.publish import Output
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import Grouping
from shoal.registry import make
from shoal.release.manifest import describe
from shoal.verify.gate import gate
from shoal.verify.report import GateCase, Verdict
from tests.models.published import publish

ENGINE = MemoryEngine()

# At least one parameter set a registered model; the attribute kinds that each can be set on are in `NUMERIC`.
SPECS: dict[str, list[dict[str, Any]]] = {
    "k": [{"k": 2}, {"k": 3}],
    "k-map": [{"k": 4, "fraction": 0.4}],
    "distinct-l": [{"l": 2}, {"l": 3}],
    "entropy-l": [{"l": 1.5}, {"l": 2}, {"l": 2.7}],
    "recursive-cl": [{"c": 1.0, "l": 2}, {"c": 2.5, "l": 2}, {"c": 2.0, "l": 3}],
    "t-closeness": [
        {"t": 0.2}, {"t": 0.45}, {"t": 0.3, "distance": "equal"}, {"t": 0.3, "distance": "variational"},
        {"t": 0.6, "distance": "kl"}, {"t": 0.3, "reference": "released"},
    ],
    "beta-likeness": [
        {"beta": 0.5}, {"beta": 1.5}, {"beta": 2, "variant": "enhanced"}, {"beta": 0.8, "reference": "released"},
    ],
    "delta-disclosure": [{"delta": 0.7}, {"delta": 1.5}, {"delta": 2.5, "reference": "released"}],
    "alpha-k-simple": [{"alpha": 0.5, "k": 2, "value": "b"}],
    "alpha-k-general": [{"alpha": 0.5, "k": 2}, {"alpha": 0.7, "k": 3}],
    "alpha-k-complete": [{"alpha": {"b": 0.4}, "k": 2, "default": 0.75}],
    "p-sensitive": [{"p": 2, "k": 3}],
    "k-e": [{"k": 2, "e": 3}, {"k": 3, "e": 0}],
    "variance": [{"v": 2.5}],
    "eps-m": [{"eps": 1, "m": 2}, {"eps": 0.5, "m": 3}, {"eps": 0.5, "m": 2, "relative": True}],
    "max-range": [{"limit": 0.5}, {"limit": 0.8}],
    "range-diversity": [{"p": 0.4}, {"p": 0.7}],
    "range-confidence": [{"p": 0.5}, {"p": 0.75}],
    "worst-group-utility": [{"u": 0.0}, {"u": 0.5}],
}  # fmt: skip
ALL = [{"name": name} | parameters for name, sets in SPECS.items() for parameters in sets]
NUMERIC = {"k-e", "variance", "eps-m"}
# Models that judge no attribute, or no tuple of attributes.
NO_TUPLES = {"k", "k-map", "worst-group-utility", "range-diversity", "range-confidence"}
NAMES_A_VALUE = {"alpha-k-simple", "alpha-k-complete"}


def judge_of(table: Table, *models: Model, rows: np.ndarray | None = None) -> Judge:
    """A judge whose reference is the whole table, or some of its rows."""
    among: ClassMap = Everybody()
    if rows is not None:
        ids = np.full(table.n, -1, dtype=np.int32)
        ids[rows] = 0
        among = RowIds(ids, 1)
    return Judge(list(models), whole_reference(ENGINE.open(table), list(models), among))


def judge_groups(table: Table, ids: np.ndarray, *models: Model) -> list[Judgement]:
    """The models' judgements on groups of rows."""
    judge = judge_of(table, *models)
    return judge.judge(ENGINE.open(table).stats(RowIds(ids, int(ids.max(initial=-1)) + 1), judge.attributes))


def of_classes(
    classes: Sequence[Sequence[Any]], *, subjects: Sequence[Sequence[str]] | None = None, **settings: Any
) -> tuple[Table, np.ndarray]:
    """A table of given sensitive values (tuples: several columns), and the class of each of its rows."""
    rows = [value if isinstance(value, tuple) else (value,) for group in classes for value in group]
    names = ["s"] if len(rows[0]) == 1 else [f"s{place}" for place in range(len(rows[0]))]
    ids = np.repeat(np.arange(len(classes)), [len(group) for group in classes]).astype(np.int32)
    columns = {
        name: pl.Series([row[place] for row in rows], strict=False) for place, name in enumerate(names)
    }
    frame = pl.DataFrame({"q": [f"g{number}" for number in ids.tolist()]} | columns)
    if subjects is not None:
        frame = frame.with_columns(who=pl.Series([person for group in subjects for person in group]))
    hierarchies = settings.pop("hierarchies", {})
    table = read(
        frame, quasi=["q"], sensitive=names, subject=None if subjects is None else "who", missing="value",
        settings=dict.fromkeys(names, settings), hierarchies=hierarchies,
    )  # fmt: skip
    return table, ids


def judged(classes: Sequence[Sequence[Any]], model: dict[str, Any], **options: Any) -> Judgement:
    """One model on hand-made classes."""
    table, ids = of_classes(classes, **options)
    (found,) = judge_groups(table, ids, make("model", model))
    return found


def verdicts(released: Released, models: Sequence[Model]) -> list[Verdict]:
    """What the gate says of a release, whether or not it would let it pass."""
    table = released.table
    frame, source = publish(released, Keys.from_seed(7), suppressed="drop", order="shuffled")
    manifest = describe(table.domain, models, version="0", output=Output())
    report = gate(
        GateCase(
            original=table.frame.select(table.schema.released),
            released=frame,
            source=source,
            suppressed=np.flatnonzero(released.classes < 0),
            n_read=table.n_read,
            n_dropped=table.n_dropped,
            identifiers=pl.DataFrame(),
            subject=None if table.schema.subject is None else table.frame[table.schema.subject],
            manifest=manifest,
        )
    )
    assert report.verdicts, [check.detail for check in report.checks if not check.passed]
    return list(report.verdicts)


def grouped(table: Table, ids: np.ndarray) -> Released:
    """Rows in groups, each generalised to its extent."""
    return apply_recoding(MemoryRows(table), Grouping(ids=ids, groups=int(ids.max(initial=-1)) + 1))
