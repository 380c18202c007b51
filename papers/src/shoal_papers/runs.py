"""What most experiments do: sample rows, make a release, and turn runs into tables, curves and points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.models.base import Model
from shoal.models.refusals import plain_codes
from shoal.release.entry import anonymize
from shoal.results import Release
from shoal_papers.base import Claim, Outcome
from shoal_papers.claims import summary
from shoal_papers.plots import Series


def sample(frame: pl.DataFrame, rows: int, seed: int, name: str = "sample") -> pl.DataFrame:
    """Rows drawn without replacement, in their old order; all of them where there are not more."""
    if rows >= frame.height:
        return frame
    drawn = Keys.from_seed(seed).generator(f"papers/{name}").permutation(frame.height)[:rows]
    return frame[np.sort(drawn)]


def release(
    table: Table, algorithm: Algorithm | str, *, seed: int, models: Sequence[Model] = (), **settings: Any
) -> Release:
    """A gated release under a seed; what an experiment leaves unprotected is acknowledged: nobody publishes it.

    Intervals are tight, as those of the documents are.
    """
    columns = {name: replace(one, spec=replace(one.spec, snap="off")) for name, one in table.columns.items()}
    table = table.knowing(columns=columns)
    accepted = plain_codes()
    codes = ("W-UNMODELLED", "W-DETERMINES", "W-IDENTIFIES")
    accepted += [f"{code}:{name}" for code in codes for name in table.schema.sensitive]
    return anonymize(
        table, algorithm=algorithm, models=models, seed=seed, acknowledge=accepted, neutral_limit=1.0, **settings
    )


def summarise(runs: pl.DataFrame, by: Sequence[str], values: Sequence[str]) -> pl.DataFrame:
    """Mean, median and 95 % interval of every value over the runs of each group, groups in order of appearance."""
    rows = []
    for keys, group in runs.group_by(list(by), maintain_order=True):
        row: dict[str, Any] = {**dict(zip(by, keys, strict=True)), "runs": group.height}
        for name in values:
            found = asdict(summary(group[name].to_numpy()))
            row |= {f"{name}_{part}": found[part] for part in ("mean", "median", "low", "high")}
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def points(runs: pl.DataFrame, x: str, y: str, where: Mapping[str, Any] | None = None) -> dict[Any, np.ndarray]:
    """The values of ``y`` at each ``x``, one a run and in the order of seeds, so that curves of two methods pair up."""
    chosen = _where(runs, where)
    if "seed" in chosen.columns:
        chosen = chosen.sort("seed", maintain_order=True)
    order = runs[x].unique(maintain_order=True).to_list()
    found = {at: chosen.filter(pl.col(x) == at)[y].to_numpy() for at in order}
    return {at: values for at, values in found.items() if values.size}


def curves(
    runs: pl.DataFrame, x: str, y: str, *, by: str | None = None, names: Mapping[Any, str] | None = None,
    statistic: str = "mean",
) -> list[Series]:  # fmt: skip
    """One series a value of ``by``: ``"mean"`` with its 95 % interval, or ``"median"`` without."""
    found = []
    for group in [None] if by is None else runs[by].unique(maintain_order=True).to_list():
        at = points(runs, x, y, None if by is None else {by: group})
        sums = [summary(values) for values in at.values()]
        bounds = {} if statistic == "median" else {"low": [s.low for s in sums], "high": [s.high for s in sums]}
        name = y if group is None else (names or {}).get(group, str(group))
        found.append(Series(name=name, x=list(at), y=[getattr(one, statistic) for one in sums], **bounds))
    return found


def beside(drawn: Sequence[Series], stated: Mapping[str, Mapping[Any, float]]) -> list[Series]:
    """The same curves with what the document prints, by the curve's name and the point."""
    return [
        replace(one, printed=[stated[one.name].get(at, float("nan")) for at in one.x]) if one.name in stated else one
        for one in drawn
    ]


def _where(runs: pl.DataFrame, where: Mapping[str, Any] | None) -> pl.DataFrame:
    for name, value in (where or {}).items():
        runs = runs.filter(pl.col(name) == value)
        if runs.is_empty():
            raise ParameterError(f"No run has {name} = {value!r}.")
    return runs


def worked_examples(found: Sequence[tuple[str, Claim]], notes: Sequence[str]) -> Outcome:
    """What the worked examples of a document give: a row a claim, beside the number of its example."""
    rows = [
        {"id": name, "claim": claim.text, "kind": claim.kind, "verdict": claim.verdict, "evidence": claim.evidence}
        for name, claim in found
    ]
    return Outcome(table=pl.DataFrame(rows), claims=[claim for _, claim in found], notes=notes)
