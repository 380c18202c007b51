"""The public report of a release: its manifest in words, and nothing that the manifest does not say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.grammar import target_words
from shoal.recoding.kinds import CODINGS, made_of
from shoal.reports.pages import render
from shoal.reports.words import meaning, use_of_cells

if TYPE_CHECKING:
    from markupsafe import Markup

_LONG = 24
_COUNTED, _ATTESTED = "anybody can re-derive it from the file", "attested by the publisher"
_CELLS = {
    "interval": "a value, or an interval [lo,hi] with both ends included",
    "label": "a label of the hierarchy in the manifest",
    "set": "a value, or a set {a|b}",
    "value": "as it was collected",
    "items": "items, or labels above them, with a mark between; <none> where none is left",
    "bounds": "the lowest and the highest possible value",
    "representative": "one value for the whole class, in the middle of what is possible, not the person's own",
}


def release_html(manifest: Mapping[str, Any]) -> str:
    """One self-contained page for whoever receives the release or reviews it.

    Parameters
    ----------
    manifest
        With verdicts and class figures.
    """
    # The page puts each text of the recipe in an element of its own, where the leak check accepts its words.
    return render(
        "release.html.jinja",
        manifest=manifest,
        columns=[_column(column, manifest) for column in manifest["columns"]],
        measured=[_figure(figure) for figure in manifest.get("measured", ())],
        verdicts=[_verdict(verdict) for verdict in manifest["verdicts"]],
        unit="people" if manifest["people"] else "rows",
        said=manifest.get("review", {}),
        accepted=accepted_codes(manifest),
        use=use_of_cells(manifest),
        across=", ".join(on if isinstance(on, str) else " and ".join(on) for on in manifest.get("across_classes", ())),
        attested=any(verdict["value"] is None for verdict in manifest["verdicts"]),
        cell=_cell,
    )


def accepted_codes(manifest: Mapping[str, Any]) -> list[dict[str, str]]:
    """The warning codes that the publisher accepted: what each means, and the reason that is given in public."""
    reasons = manifest.get("review", {}).get("accepted", {})
    return [
        {"code": code, "meaning": meaning(code), "reason": reasons.get(code, "")} for code in manifest["acknowledged"]
    ]


def cell_words(column: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    """How the cells of a column are read."""
    made = made_of(manifest)
    cells = _CELLS[column["cells"]]
    if "coded" in column:
        cells = CODINGS[column["coded"]].words
    elif column["role"] == "quasi" and column["cells"] == "value":
        cells = made.exact or cells
    elif column["role"] == "sensitive":
        cells += made.known
    if "null" in column:
        cells += "; null (in CSV <missing>) where anything is possible"
    return cells


def _cell(text: str) -> Markup:
    """A cell of a table: words stay whole in narrow ones, and long texts may be broken."""
    from markupsafe import Markup

    shape = "text" if len(text) > _LONG else "code" if " " not in text else "cell"
    return Markup('<td class="{}">{}</td>').format(shape, text)


def _column(column: Mapping[str, Any], manifest: Mapping[str, Any]) -> dict[str, str]:
    names = ", ".join(column.get("columns", [column["name"]]))
    return {"name": names, "role": column["role"], "cells": cell_words(column, manifest)}


def _figure(figure: Mapping[str, Any]) -> dict[str, str]:
    low, high = figure["interval"]
    return {
        "sentence": figure["sentence"],
        "interval": f"{low:.1%} to {high:.1%}",
        "baseline": "" if figure["baseline"] is None else f"{figure['baseline']:.1%}",
        "by": _COUNTED if _is_counted(figure) else _ATTESTED,
    }


def _is_counted(figure: Mapping[str, Any]) -> bool:
    """Whether anybody can count a figure in the release: not where it was measured on a sample of it."""
    alone = figure["name"] in ("unique", "uniqueness")
    linked = figure["name"] == "trajectories" or figure["name"].startswith("homogeneity of ")
    return alone or (linked and "Measured on a sample" not in figure["sentence"])


def _verdict(verdict: Mapping[str, Any]) -> dict[str, str]:
    model = verdict["model"]
    # Parameters that name sensitive values stay in the manifest, which needs them.
    given = [
        f"{key} = {value:g}" if isinstance(value, float) else f"{key} = {value}"
        for key, value in sorted(model.items())  # as a manifest that was read has them
        if key not in ("name", "on", "value") and not isinstance(value, Mapping)
    ]
    known = _COUNTED if verdict["by"] == "rechecked" else _ATTESTED
    return {
        "model": model["name"],
        "parameters": ", ".join(given),
        "on": target_words(model["name"], verdict["on"]),
        "holds": "holds" if verdict["holds"] else "fails",
        "worst": "–" if verdict["value"] is None else f"{verdict['value']:.6g}",
        "limit": f"{verdict['limit']:.6g}",
        "by": known if "vouched_by" not in verdict else f"{known}; the check is that of {verdict['vouched_by']}",
    }
