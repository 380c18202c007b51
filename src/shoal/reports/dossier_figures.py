"""Risk before, after and residual: against which threshold, by which attacker, and by which of three criteria."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.recoding.kinds import CODINGS, Trait, made_of
from shoal.reports.dossier_model import (
    NOT_STATED,
    Bars,
    Facts,
    Grid,
    Items,
    Lines,
    Plot,
    Points,
    Section,
    Stacks,
    Table,
    Text,
    count,
    number,
    share,
)
from shoal.reports.release import cell_words
from shoal.reports.words import use_of_cells

_FIGURES = {
    "prosecutor-max": "prosecutor, largest risk of a record",
    "prosecutor-mean": "prosecutor, mean risk",
    "journalist-max": "journalist, largest risk of a record",
    "journalist-mean": "journalist, mean risk",
    "marketer-mean": "marketer, share of right matches",
    "sample-unique": "records that are unique",
}
_INFERENCE = {
    "confidence": "best guess of {} for whoever finds the class of a person",
    "homogeneous": "rows whose class has one {} only",
}
_SIGNS = {"<=": "≤", "<": "<"}
_EPSILON = 1e-12
_TIMES = ("before", "after")


def threshold(facts: Facts) -> Section:
    """What risk is accepted, why, and whether the release keeps to it."""
    limit, sign = facts.review.get("threshold"), facts.review.get("comparison", "<=")
    average = facts.review.get("risk") == "average"
    what = "mean risk of a record" if average else "largest risk of a record"
    rows = [
        ("risk that is held against it", f"{what} (prosecutor)"),
        ("threshold", NOT_STATED if limit is None else f"risk {_SIGNS[sign]} {limit:g}"),
        ("reason", facts.said("threshold_reason")),
    ]
    blocks: list[Text | Table] = [Table(rows=rows)]
    found = facts.risk("after", "prosecutor-mean" if average else "prosecutor-max")
    if limit is None:
        blocks.append(Text(text="No threshold is stated, so that nothing is said of whether the risk is acceptable."))
    elif not made_of(facts.manifest).has(Trait.ALIKE):
        why = made_of(facts.manifest).lacks[Trait.ALIKE]
        blocks.append(Text(text=f"Whether the release keeps to it is not known: {why}.", tone="bad"))
    elif found is None:
        blocks.append(Text(text="The risk of the release was not measured.", tone="bad"))
    else:
        kept = found < limit - _EPSILON if sign == "<" else found <= limit + _EPSILON
        words = "keeps to" if kept else "exceeds"
        text = f"The release {words} its threshold: {found:.4g} against {_SIGNS[sign]} {limit:g}."
        blocks.append(Text(text=text, tone="good" if kept else "bad"))
    return Section(key="threshold", title="Threshold", blocks=blocks)


def risk(facts: Facts) -> Section:
    """Figures before and after, classes by size, the curve of risk, and what each column adds."""
    rows = []
    for name, words in _FIGURES.items():
        before, after = facts.risk("before", name), facts.risk("after", name)
        if name.startswith("journalist") and before is None and after is None:
            continue
        rows.append((words, share(before), share(after), _change(before, after)))
    blocks: list[Text | Table | Plot | Items] = [
        *(Text(text=told, tone="bad") for told in made_of(facts.manifest).class_figures),
        Table(headings=("figure", ">before", ">after (residual)", ">change"), rows=rows),
    ]
    if facts.risk("after", "journalist-max") is None:
        blocks.append(
            Text(
                text="Nothing is known of the population, so the journalist's risk was not measured; it is never above "
                "the prosecutor's.",
                tone="note",
            )
        )
    classes = facts.evidence.get("risk", {}).get("classes", {})
    blocks += _sizes(classes)
    blocks += _curve(facts, classes)
    blocks += _columns(facts)
    return Section(key="risk", title="Risk before, after and residual", blocks=blocks)


def criteria(facts: Facts) -> Section:
    """The three questions of WP 216, each answered by figures."""
    unique, links = (
        [(share(facts.risk(when, name)), facts.risk(when, name)) for when in _TIMES]
        for name in ("sample-unique", "prosecutor-mean")
    )
    rows = [
        ("singling out", "records that nobody shares a combination with", unique[0][0], unique[1][0]),
        ("linkability", "mean chance to link a record to the right person", links[0][0], links[1][0]),
    ]
    told = facts.evidence.get("risk", {})
    for name in _sensitive(told):
        for figure, words in _INFERENCE.items():
            before, after = (share(facts.risk(when, f"{figure} {name}")) for when in _TIMES)
            rows.append(("inference", words.format(name), before, after))
    headings = ("criterion", "figure", ">before", ">after")
    blocks: list[Text | Table] = [Table(headings=headings, rows=rows)]
    if not _sensitive(told):
        told_nothing = "No sensitive column has its values beside records: inference was not measured."
        blocks.append(Text(text=told_nothing))
    return Section(key="criteria", title="Singling out, linkability, inference", blocks=blocks)


def attacks(facts: Facts) -> Section:
    """What attacks on this very release achieved, with intervals and what a naive guess achieves."""
    found = [*facts.manifest.get("measured", ())]
    names = {one["name"] for one in found}
    for result in [*facts.evidence.get("limits", ()), *facts.evidence.get("attacked", ()), *facts.attacks]:
        found += [one for one in result.get("figures", ()) if one["name"] not in names]
        names |= {one["name"] for one in result.get("figures", ())}
    found += [one for one in facts.evidence.get("attacks", ()) if one["name"] not in names]
    rows = [
        (
            str(one.get("sentence") or one.get("told") or one["name"]), share(one["value"], 1), _interval(one),
            "–" if one.get("baseline") is None else share(one["baseline"], 1),
        )
        for one in found
    ]  # fmt: skip
    if not rows:
        return Section(key="attacks", title="Attacks", blocks=[Text(text=(
            "No attack was run on this release. A recipe with a [review] table has some run on tables in memory; "
            "shoal attack runs all of them, and shoal report takes what it prints by --attacks."
        ))])  # fmt: skip
    headings = ("finding", ">success", ">95 % interval", ">naive guess")
    return Section(key="attacks", title="Attacks", blocks=[Table(headings=headings, rows=rows)])


def _interval(one: Mapping[str, Any]) -> str:
    low, high = one["interval"] if "interval" in one else (one["low"], one["high"])
    return "counted" if low == high else f"{100 * low:.1f} to {100 * high:.1f} %"


def _label(low: int, high: int | None) -> str:
    return f"{low}+" if high is None else str(low) if high == low else f"{low}–{high}"


def _change(before: float | None, after: float | None) -> str:
    if before is None or after is None or before == 0:
        return "–"
    return f"{100 * (after - before) / before:+.1f} %"


def _sensitive(risk: Mapping[str, Any]) -> list[str]:
    names = [*risk.get("before", {}), *risk.get("after", {})]
    return list(dict.fromkeys(name.partition(" ")[2] for name in names if name.partition(" ")[0] in _INFERENCE))


def _sizes(classes: Mapping[str, Any]) -> list[Table | Plot]:
    known = {when: classes[when] for when in _TIMES if classes.get(when)}
    if not known:
        return []
    parts = {"classes": "number", "smallest": "smallest", "median": "median", "largest": "largest"}
    rows = [
        (words, *(count(classes[when][name]) if classes.get(when) else "–" for when in _TIMES))
        for name, words in parts.items()
    ]
    bins = next(iter(known.values()))["sizes"]
    labels = [_label(one["from"], one["to"]) for one in bins]
    series = {when: [part["records"] / one["records"] for part in one["sizes"]] for when, one in known.items()}
    used = [place for place in range(len(labels)) if any(values[place] for values in series.values())]
    last = max(used, default=0) + 1
    shown = {when: values[:last] for when, values in series.items()}
    figure = Bars(labels=labels[:last], series=shown, across="size of the class", upwards="share of records")
    return [
        Table(headings=("classes", ">before", ">after"), rows=rows),
        Plot(title="Records by size of their class", figure=figure),
    ]


def _curve(facts: Facts, classes: Mapping[str, Any]) -> list[Plot]:
    known = {
        when: [tuple(point) for point in reversed(classes[when]["curve"])] for when in _TIMES if classes.get(when)
    }
    if not known:
        return []
    limit, sign = facts.review.get("threshold"), _SIGNS[facts.review.get("comparison", "<=")]
    mark = None if limit is None else (float(limit), f"threshold {sign} {number(limit)}")
    figure = Lines(series=known, across="risk of a record", upwards="records at it or above", mark=mark, steps=True)
    return [Plot(title="Share of records at every risk", figure=figure)]


def _columns(facts: Facts) -> list[Table | Text]:
    found = facts.evidence.get("risk", {}).get("columns", {})
    before, after = found.get("before") or {}, found.get("after") or {}
    notes: list[Table | Text] = [Text(text=note, tone="note") for note in found.get("notes", ())]
    if not before and not after:
        return notes
    rows = []
    for name in {**before, **after}:
        mine = [one.get(name, {}) for one in (before, after)]
        rows.append((name, *(share(one.get(key)) if one else "–" for one in mine for key in ("mean", "unique"))))
    headings = ("left out", ">mean risk before", ">uniqueness before", ">mean risk after", ">uniqueness after")
    return [Table(headings=headings, rows=rows, caption="By how much the risk falls without an identifier"), *notes]


# ----------------------------------------
# What the release cost and what it is still good for, critical variables first.


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


# ----------------------------------------
# What was done to each column: the variable table, and how columns of the release are read.


_GONE = {
    "identifiers": ("direct identifier", "removed"),
    "drop": ("not wanted", "removed"),
    "weight": ("survey weight", "not released; used for population risk"),
    "key": ("key of rows", "not released"),
    "guard": ("guard", "not released"),
    "subject": ("whose row it is", "not released; people are counted by it"),
}
_CLASSES = {
    "quasi": "indirect identifier",
    "sensitive": "sensitive",
    "neutral": "neutral",
    "pseudonym": "direct identifier",
}


def variables(facts: Facts) -> Section:
    """Direct and indirect identifiers, technique, and how much each column tells before and after."""
    found, rows = facts.evidence.get("columns", {}), []
    released = {column["name"]: column for column in facts.manifest["columns"]}
    for role, (kind, technique) in _GONE.items():
        told = [*released, *(facts.roles("identifiers") if role == "key" else ())]  # a key may be one of these, too
        rows += [(name, kind, technique, "–", "–") for name in facts.roles(role) if name not in told]
    critical = facts.review.get("critical", ())
    for name, column in released.items():
        mine = found.get(name, {})
        before, after = ("–" if mine.get(key) is None else count(mine[key]) for key in ("values", "cells"))
        called = f"{name} (critical)" if name in critical else name
        rows.append((called, _CLASSES[column["role"]], _technique(column, facts), before, after))
    headings = ("variable", "class", "technique", ">values before", ">cells after")
    blocks: list[Text | Table | Plot] = [Table(headings=headings, rows=rows)]
    levels = _levels(found)
    if levels is not None:
        blocks.append(levels)
    return Section(key="variables", title="Variables and techniques", blocks=blocks)


def columns(facts: Facts) -> Section:
    """How to read the columns of the release, and how to use its cells."""
    manifest = facts.manifest
    rows = [
        (", ".join(column.get("columns", [column["name"]])), _CLASSES[column["role"]], cell_words(column, manifest))
        for column in manifest["columns"]
    ]
    return Section(
        key="columns",
        title="How to read and use the cells",
        blocks=[
            Table(headings=("column", "class", "cells"), rows=rows),
            Text(text="A cell * covers everything; <missing> is a missing value."),
            Items(items=use_of_cells(facts.manifest)),
        ],
    )


def _technique(column: Mapping[str, Any], facts: Facts) -> str:
    if "coded" in column:
        return f"coded ({CODINGS[column['coded']].name})"
    if column["role"] in ("sensitive", "neutral"):
        if column["cells"] == "items":
            return "items generalised or suppressed, class by class"
        return "as collected" if column["cells"] == "value" else "generalised by a hierarchy"
    made = made_of(facts.manifest)
    if not made.generalises:
        return str(made)
    how = {"interval": "intervals", "label": "labels of a hierarchy", "set": "sets of values", "bounds": "bounds"}
    words = f"generalised to {how.get(column['cells'], 'one value for a class')}"
    exact = facts.evidence.get("columns", {}).get(column["name"], {}).get("exact")
    return words if exact is None else f"{words}; exact in {share(exact, 1)} of the rows"


def _levels(found: Mapping[str, Any]) -> Plot | None:
    """Share of the released rows at each level of generalisation."""
    mine = {name: one["levels"] for name, one in found.items() if one.get("levels")}
    if not mine:
        return None
    highest = max(int(level) for levels in mine.values() for level in levels)
    series = {
        ("exact" if level == 0 else f"level {level}"): [levels.get(str(level), 0.0) for levels in mine.values()]
        for level in range(highest + 1)
    }
    return Plot(
        title="Levels used",
        figure=Stacks(labels=list(mine), series=series, across="share of released rows"),
        note="Level 0 is the value itself; a column without a hierarchy has level 1 for everything wider.",
    )
