"""What the release cost and what it is still good for, critical variables first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.recoding.kinds import Trait, made_of
from shoal.reports.dossier.facts import Facts, number, share
from shoal.reports.dossier.model import NOT_STATED, Bars, Grid, Lines, Plot, Points, Section, Table, Text

_SHOWN = ("lm", "ncp", "precision", "entropy", "dm", "c-avg", "arx-loss")
_PLOTTED = 6


def utility(facts: Facts) -> Section:
    """Measures, what analyses find, distributions before and after, and utility against protection."""
    evidence = facts.evidence
    measures = evidence.get("measures", {})
    rows = [
        (name, number(one["value"]), "lower" if one["better"] == "down" else "higher", share(one["suppression"]))
        for name in _SHOWN
        if (one := measures.get(name)) is not None and one["value"] is not None
    ]
    blocks: list[Text | Table | Plot] = [Table(rows=[("critical variables", facts.said("critical"))])]
    blocks += _critical(facts)
    if rows:
        blocks.append(Table(headings=("measure", ">value", "better", ">suppressed"), rows=rows))
    known = evidence.get("utility", {})
    findings = [*known.get("findings", ()), *facts.evaluations]
    told = [(one["name"], number(one["value"]), number(one.get("baseline")), one["sentence"]) for one in findings]
    if told:
        blocks.append(Table(headings=("analysis", ">figure", ">without the release", "meaning"), rows=told))
    blocks += [Text(text=note, tone="note") for note in known.get("notes", ())]
    if not known:
        blocks.append(
            Text(
                text="Distributions, associations and query errors were not measured: a recipe with a [review] table "
                "has them measured where the rows are in memory.",
                tone="note",
            )
        )
    blocks += _distributions(known.get("distributions", {}), facts.review.get("critical", ()))
    blocks += [*_associations(known.get("associations")), *_errors(findings), *_against(facts)]
    return Section(key="utility", title="Utility and critical variables", blocks=blocks)


def _critical(facts: Facts) -> list[Text | Table | Plot]:
    """How the columns fared that the release is useless without."""
    found, rows = facts.evidence.get("columns", {}), []
    apart = facts.evidence.get("utility", {}).get("distributions", {})
    for name in facts.review.get("critical", ()):
        mine, far = found.get(name, {}), apart.get(name, {}).get("variation")
        exact = mine.get("exact")
        kept = "as collected" if mine and exact is None else share(exact, 1) if mine else NOT_STATED
        rows.append((name, kept, "–" if far is None else share(far, 1)))
    headings = ("critical variable", ">rows with the exact value", ">distribution off by")
    return [Table(headings=headings, rows=rows)] if rows else []


def _distributions(found: Mapping[str, Any], critical: Any) -> list[Text | Table | Plot]:
    first = [*(name for name in found if name in critical), *(name for name in found if name not in critical)]
    plots: list[Text | Table | Plot] = []
    for name in first[:_PLOTTED]:
        one = found[name]
        figure = Bars(
            labels=one["labels"], series={"before": one["before"], "after": one["after"]}, across=name,
            upwards="share of rows",
        )  # fmt: skip
        plots.append(Plot(title=f"Distribution of {name}, before and after", figure=figure))
    if len(first) > _PLOTTED:
        more = len(first) - _PLOTTED
        told = f"{more} more {'column is' if more == 1 else 'columns are'} in the evidence."
        plots.append(Text(text=told, tone="note"))
    return plots


def _associations(found: Mapping[str, Any] | None) -> list[Plot]:
    if not found or len(found["names"]) < 2:
        return []
    before, after, names = found["before"], found["after"], found["names"]
    values = [
        [abs(after[i][j] - before[i][j]) if j < i else None for j in range(len(names))] for i in range(len(names))
    ]
    note = "Absolute differences of correlation, Cramér's V or the correlation ratio; 0 is as in the original."
    return [Plot(title="Differences of associations", figure=Grid(names=names, values=values), note=note)]


def _errors(findings: Any) -> list[Plot]:
    curve = next((one["also"]["curve"] for one in findings if one.get("also", {}).get("curve")), None)
    if curve is None:
        return []
    places = [place / (len(curve) - 1) for place in range(len(curve))]
    kept = [(place, min(error, 1.0)) for place, error in zip(places, curve, strict=True)]
    figure = Lines(series={"relative error": kept}, across="share of queries", upwards="relative error at most")
    return [Plot(title="Errors of count queries", figure=figure, note="Errors above 100 % are drawn at 100 %.")]


def _against(facts: Facts) -> list[Plot]:
    """Loss against the prosecutor's mean risk: the table as read, the release, and nothing at all."""
    loss = facts.evidence.get("measures", {}).get("lm", {}).get("value")
    before, after = (facts.risk(when, "prosecutor-mean") for when in ("before", "after"))
    if loss is None or before is None or after is None or not made_of(facts.manifest).has(Trait.ALIKE):
        return []
    points = {"as read": (0.0, before), "release": (float(loss), after), "nothing released": (1.0, 0.0)}
    figure = Points(points=points, across="loss (lm)", upwards="mean risk")
    note = "Nearer to the lower left is better on both counts. shoal compare places other methods beside it."
    return [Plot(title="Utility against protection", figure=figure, note=note)]
