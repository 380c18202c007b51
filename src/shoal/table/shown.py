"""Small tables as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def html_table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A plain table; every cell is escaped, and a missing one is a dash.

    Examples
    --------
    >>> html_table(["a"], [["<b>"], [None]])
    '<table><tr><th>a</th></tr><tr><td>&lt;b&gt;</td></tr><tr><td>–</td></tr></table>'
    """
    lines = [_line("th", heads), *(_line("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _line(tag: str, cells: Iterable[Any]) -> str:
    shown = ("–" if cell is None else escape(f"{cell:,}" if isinstance(cell, int) else str(cell)) for cell in cells)
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in shown) + "</tr>"
