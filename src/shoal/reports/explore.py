"""The explorer's page: nodes by loss and suppression, and a table to pick one from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.catalogue import summary
from shoal.reports.pages import TEMPLATES, plotly, render
from shoal.results import Survey

_VERDICTS = ("allowed", "over", "fails")


def explore_html(survey: Survey, *, title: str, models: Sequence[str], extra: str = "") -> str:
    """One HTML file with plotly's script inside, which needs no network.

    Parameters
    ----------
    title
        What was explored, such as the source's name.
    models
        What classes had to satisfy, one short text a model.
    extra
        TOML that a recipe also needs to run a picked node.
    """
    return render(
        "explore.html.jinja",
        title=title,
        models=models,
        survey=survey,
        counted=counted(survey),
        data=page_data(survey, extra),
        style=(TEMPLATES / "explore.css").read_text("utf-8"),
        script=(TEMPLATES / "explore.js").read_text("utf-8"),
        plotly=plotly(),
    )


def counted(survey: Survey) -> str:
    """Which nodes were counted, in one sentence."""
    if survey.complete:
        return f"All {survey.lattice:,} nodes of the lattice were counted."
    parts = [f"{why} ({count:,})" for why, count in survey.chosen.items()]
    return f"The lattice has {survey.lattice:,} nodes; {len(survey.nodes):,} were counted: {', '.join(parts)}."


def page_data(survey: Survey, extra: str = "") -> dict[str, Any]:
    """What the page's script works on: nodes as columns, which is compact."""
    nodes = survey.nodes
    return {
        "measure": survey.measure,
        "about": summary("measure", survey.measure).removesuffix("."),
        "better": survey.better,
        "rows": survey.rows,
        "limit": survey.limit,
        "columns": list(survey.columns),
        "heights": list(survey.heights),
        "level_names": [list(names) for names in survey.level_names],
        "optimum": survey.optimum,
        "proven": survey.proven,
        "extra": extra,
        "levels": [list(node.levels) for node in nodes],
        "loss": [node.loss for node in nodes],
        "suppressed": [node.suppressed for node in nodes],
        "classes": [node.classes for node in nodes],
        "smallest": [node.smallest for node in nodes],
        "verdict": [_VERDICTS.index(node.verdict) for node in nodes],
    }
