"""What a check found, in sentences: the same on a terminal and on a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shoal.errors import InfeasibleError
from shoal.grammar import target_words

_INFEASIBLE = InfeasibleError.exit_code


def findings(data: Mapping[str, Any]) -> list[str]:
    """What stands in the way of a run, what it would take, and what only a run can tell; a sentence each."""
    if "rows" not in data:
        return list(_refused(data))
    return [*warnings(data), *_refused(data), *_foreseen(data["foreseen"]), *_ending(data)]


def warnings(data: Mapping[str, Any]) -> list[str]:
    """Say what no run refuses and is no good news; a sentence each."""
    return [*_vacuous(data), *(f"Warning: {one['sentence']}" for one in data.get("spellings", ()))]


def _vacuous(data: Mapping[str, Any]) -> Iterator[str]:
    """Promises that cannot fail on the table, and so promise nothing; a sentence each."""
    for one in data.get("vacuous", ()):
        name = one["model"]["name"]
        on = "-" if one["on"] is None else target_words(name, one["on"])
        yield f"Vacuous: '{name}' on {on} cannot fail on this table."


def _refused(data: Mapping[str, Any]) -> Iterator[str]:
    for problem in data["problems"]:
        yield f"{'Infeasible' if problem['exit_code'] == _INFEASIBLE else 'Refused'}: {problem['message']}"


def _foreseen(foreseen: Mapping[str, Any] | None) -> Iterator[str]:
    """What a run takes, and what samples of the rows were refused for."""
    if foreseen is None:
        return
    for sentence in foreseen["likely"]:
        yield f"Likely refused, as {foreseen['sample']:,} rows of it were: {sentence}"
    if foreseen["seconds"] is not None:
        amount = "" if foreseen["bytes"] is None else f" and {foreseen['bytes'] / (1 << 30):.1f} GiB of memory"
        yield f"A run takes about {_duration(foreseen['seconds'])}{amount}."


def _ending(data: Mapping[str, Any]) -> Iterator[str]:
    if data["problems"] or data["foreseen"]["likely"]:
        return
    left = " and ".join(data["untold"])
    yield (
        f"Nothing known before a run stands in its way; the run tells {left}." if left else
        "Nothing stands in the way of a run."
    )  # fmt: skip


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"
