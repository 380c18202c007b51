"""The public report of a release: its manifest in words, and nothing that the manifest does not say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

TEMPLATES = Path(__file__).parent / "templates"
_CELLS = {
    "interval": "a value, or an interval [lo,hi] with both ends included",
    "label": "a label of the hierarchy in the manifest",
    "set": "a value, or a set {a|b}",
    "value": "as it was collected",
}


def release_html(manifest: Mapping[str, Any]) -> str:
    """One self-contained page for whoever receives the release or reviews it.

    Parameters
    ----------
    manifest
        With verdicts and class figures.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    pages = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    columns = [
        {"name": column["name"], "role": column["role"], "cells": _CELLS[column["cells"]]}
        for column in manifest["columns"]
    ]
    return pages.get_template("release.html.jinja").render(
        manifest=manifest,
        columns=columns,
        verdicts=[_verdict(verdict) for verdict in manifest["verdicts"]],
        unit="people" if manifest["people"] else "rows",
    )


def _verdict(verdict: Mapping[str, Any]) -> dict[str, str]:
    model = verdict["model"]
    # Parameters that name sensitive values stay in the manifest, which needs them.
    given = [
        f"{key} = {value:g}" if isinstance(value, float) else f"{key} = {value}"
        for key, value in model.items()
        if key not in ("name", "on", "value") and not isinstance(value, Mapping)
    ]
    on = verdict["on"]
    return {
        "model": model["name"],
        "parameters": ", ".join(given),
        "on": "" if on is None else on if isinstance(on, str) else ", ".join(on),
        "holds": "holds" if verdict["holds"] else "fails",
        "worst": "" if verdict["value"] is None else f"{verdict['value']:.6g}",
        "limit": f"{verdict['limit']:.6g}",
        "by": "anybody can re-derive it from the file" if verdict["by"] == "rechecked" else "attested by the publisher",
    }
