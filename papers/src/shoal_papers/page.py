"""The pages of a reproduction: our curve, what the document says beside it, and a verdict a claim."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from shoal_papers.base import STANDINGS

TEMPLATES = Path(__file__).parent / "templates"
# Rows of the table that a page shows; the file beside it has all of them.
_SHOWN = 60


def item_html(record: Mapping[str, Any], table: pl.DataFrame | None, svg: bytes | None) -> str:
    """The page of one item; it needs no other file and no network."""
    return _template("item.html.jinja").render(
        record=record,
        opening=opening(record["claims"]),
        image=None if svg is None else base64.b64encode(svg).decode(),
        parameters={name: _said(value) for name, value in record["parameters"].items()},
        columns=[] if table is None else table.columns,
        rows=[] if table is None else [[_cell(cell) for cell in row] for row in table.head(_SHOWN).iter_rows()],
        left_out=0 if table is None else max(0, table.height - _SHOWN),
    )


def index_html(records: Sequence[Mapping[str, Any]]) -> str:
    """The page that leads to the items, paper by paper, with where their claims stand counted."""
    counted = [{**record, "counts": counts(record["claims"])} for record in records]
    papers = [list(group) for _, group in groupby(counted, key=lambda record: record["paper"])]
    sums = [_sum(record["counts"] for record in group) for group in papers]
    return _template("index.html.jinja").render(
        papers=list(zip(papers, sums, strict=True)), standings=STANDINGS, all=_sum(sums)
    )


def opening(claims: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """What a page opens with: the claims that are reproduced, refuted, and not decidable."""
    return {name: [claim for claim in claims if claim["standing"] == name] for name in STANDINGS}


def counts(claims: Sequence[Mapping[str, Any]], kind: str | None = None) -> dict[str, int]:
    """How many claims, or those of a kind, stand where; every standing named."""
    found = Counter(claim["standing"] for claim in claims if kind in (None, claim["kind"]))
    return {name: found[name] for name in STANDINGS}


def _sum(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    known = list(parts)
    return {name: sum(part[name] for part in known) for name in STANDINGS}


def _template(name: str) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    pages = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    return pages.get_template(name)


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)
