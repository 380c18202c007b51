"""What a release lost, in words: column by column, and where its cells overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.cli.show import figure, share

if TYPE_CHECKING:
    from shoal.recoding.outcome import Became, Overlap

_CELL_WIDTH = 20
# So many columns are described; of more, those that lost most.
_SHOWN = 8
_NAME = 24


def loss_lines(columns: Sequence[Became], scores: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is left of each quasi-identifier, those that lost most first where there are many."""
    if not columns:
        return []
    shown = columns if len(columns) <= _SHOWN else sorted(columns, key=lambda one: -one.width)[:_SHOWN]
    width = min(max(len(one.column) for one in shown), _NAME)
    lines = ["What is left of each column:"]
    lines += [f"  {short(one.column, width):<{width}}  {_left(one)}" for one in shown]
    if len(columns) > len(shown):
        rest = len(columns) - len(shown)
        lines.append(f"  and {rest} more, which lost less" if rest > 1 else "  and one more, which lost less")
    loss = scores.get("lm", {}).get("value")
    if loss is not None:
        lines.append(f"In all, {share(loss)} of the detail in the cells is gone (lm {figure(loss)}).")
    return lines


def item_lines(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is left of columns of items, and what one more known item tells."""
    lines = []
    for name, one in found.items():
        parts = [f"{_about(one[what])} {what}" for what in ("kept", "coarser", "suppressed") if one[what]]
        lines.append(f"Items of {short(name, _NAME)}: {', '.join(parts) or 'none'}.")
        if one.get("fewest_beyond", one["k"]) < one["k"]:
            lines.append(f"Whoever knows {one['m'] + 1} of them finds as few as {one['fewest_beyond']:,} records.")
    return lines


def _left(one: Became) -> str:
    total = max(one.exact + one.coarser + one.everything, 1)
    if one.exact == total:
        return "as collected"
    if one.everything == total:
        return "nothing: every cell is everything"
    parts = [
        (one.exact, "one value"),
        (one.coarser, f"coarser ({one.cells:,} cells)"),
        (one.everything, "everything"),
    ]
    said = ", ".join(f"{_about(count / total)} {words}" for count, words in parts if count)
    return said if one.level is None else f"level {one.level} of {one.height}: {said}"


def _about(part: float) -> str:
    """A share in whole per cent; neither all nor nothing where it is neither."""
    return f"{part:.0%}" if 0.005 <= part < 0.995 else "<1%" if part < 0.005 else ">99%"


def overlap_lines(found: Iterable[Overlap]) -> list[str]:
    """What hurts whoever counts by interval, and what to do about it."""
    mine = [entry for entry in found if entry.overlapping]
    if not mine:
        return []
    worst = max(mine, key=lambda entry: entry.share)
    names = ", ".join(short(entry.column, _NAME) for entry in mine[:4]) + (", ..." if len(mine) > 4 else "")
    example = " and ".join(short(cell, _CELL_WIDTH) for cell in worst.example)
    return [
        f"Overlapping cells in {names} (such as {example}): counts by cell are uncertain for up to "
        f"{share(worst.share)} of the rows. Where that matters, let a method recode whole columns, "
        "such as optimal or top-down-subtree."
    ]


def next_lines(folder: object, *, measures: bool) -> list[str]:
    """Commands that whoever made a release may want next."""
    found = [f"  shoal verify {folder}", f"  shoal explain {folder}", f"  shoal risk {folder}"]
    found += [] if measures else [f"  shoal measure {folder}      (or run with --measures)"]
    return ["Next:", *found, f"  shoal report {folder} -o dossier.html"]


def short(text: str, width: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= width else f"{text[: width - 1]}…"
