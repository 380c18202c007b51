"""The models that hold, and what nothing here protects."""

from __future__ import annotations

from shoal.grammar import target_words
from shoal.reports.dossier.facts import Facts, model_words, number
from shoal.reports.dossier.model import Items, Section, Table, Text

_BY = {"rechecked": "anybody can re-derive it from the file", "attested": "attested by the publisher"}


def models(facts: Facts) -> Section:
    """Models met, with the worst class of each, and what is not protected."""
    manifest, evidence = facts.manifest, facts.evidence
    worst = evidence.get("worst", [None] * len(manifest["verdicts"]))
    rows = [
        (
            model_words(one["model"]),
            target_words(one["model"]["name"], one["on"]),
            "holds" if one["holds"] else "fails",
            "–" if value is None else number(value),
            number(one["limit"]),
            _BY[one["by"]] + (f"; the check is that of {one['vouched_by']}" if "vouched_by" in one else ""),
        )
        for one, known in zip(manifest["verdicts"], worst, strict=True)
        for value in [known if one["value"] is None else one["value"]]
    ]
    blocks: list[Text | Table | Items] = []
    if rows:
        headings = ("model", "on", "verdict", ">worst class", ">limit", "how it is known")
        blocks.append(Table(headings=headings, rows=rows))
    else:
        blocks.append(Text(text="No model was asked for, so none is promised to hold.", tone="bad"))
    for one in evidence.get("vacuous", ()):
        name = one["model"]["name"]
        on = target_words(name, one["on"]) if one["on"] else "the table"
        blocks.append(Text(text=f"Vacuous: {name} on {on} cannot fail on this table.", tone="bad"))
    blocks += [Text(text=one["sentence"], tone="bad") for one in evidence.get("spellings", ())]
    falls = [one for one in evidence.get("split_verdicts", ()) if one["failing_rows"]]
    if falls:
        told = [
            f"Whoever knows {one['known']}: {one['model']} on {target_words(one['model'], one['on'])} falls to "
            f"{number(one['worst'])} in the worst class (limit {number(one['limit'])}, {one['failing_rows']:,} rows)."
            for one in falls
        ]
        blocks += [Text(text="What somebody who knows another sensitive attribute still faces:"), Items(items=told)]
    blocks += [Text(text="What is not protected:", tone="strong"), Items(items=list(manifest["not_protected"]))]
    return Section(key="models", title="Models met, and what is not protected", blocks=blocks)
