"""The recommendation in words: which point, why, what it costs against the others, and what it leaves open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.comparing.front import CLOSE
from shoal.comparing.points import DONE, EMPTY, FAILED, GATE, INFEASIBLE, REFUSED

if TYPE_CHECKING:
    from shoal.comparing.comparison import Comparison, Entry

_WHAT = {
    EMPTY: "gave an empty release",
    INFEASIBLE: "cannot satisfy the models",
    REFUSED: "cannot run as {} set",
    GATE: "failed at the gate",
    FAILED: "failed by a fault of our own",
}


def advise(comparison: Comparison) -> str:
    """One paragraph by the rules that the documentation states."""
    found = [_counts(comparison)]
    ranking = comparison.ranking
    if not ranking:
        found.append("So there is nothing to recommend: relax the models or the limits, or compare other algorithms.")
        return " ".join(found)
    (best, near), others = ranking[0], ranking[1:]
    named = ", ".join(axis.name for axis in comparison.axes)
    found.append(f"{len(ranking)} of them {'is' if len(ranking) == 1 else 'are'} on the Pareto front of {named}.")
    equal = [entry for entry, far in others if far <= near + CLOSE]
    if not others:
        found.append(f"Recommended is {best.point.label}: no other point is better on any axis.")
    elif equal:
        found.append(
            f"Nothing stands out: {best.point.label} is nearest to the ideal corner of the front (distance {near:.2f}, "
            f"every axis scaled to 0..1), but {_listed(equal)} {'is' if len(equal) == 1 else 'are'} within {CLOSE:g} "
            "of that, so choose by the axis that matters most to you."
        )
    else:
        found.append(
            f"Recommended is {best.point.label}: of the front it is nearest to the ideal corner (distance {near:.2f}, "
            f"every axis scaled to 0..1; the next is at {others[0][1]:.2f})."
        )
    found.append(_has(comparison, best))
    found += [_against(comparison, best, entry) for entry, _ in others[:2]]
    if best.outcome.not_protected:
        sentences = best.outcome.not_protected
        more = f" (and {len(sentences) - 1} more, which its manifest would list)" if len(sentences) > 1 else ""
        found.append(f"What it does not protect: {_inside(sentences[0])}{more}.")
    return " ".join(found)


def _counts(comparison: Comparison) -> str:
    """How many points there are, and what became of those that cannot be recommended."""
    entries = comparison.entries
    lost = Counter(entry.outcome.status for entry in entries if entry.outcome.status != DONE)
    parts = [f"{count} {_WHAT[status].format('it is' if count == 1 else 'they are')}" for status, count in lost.items()]
    done = [entry for entry in entries if entry.outcome.status == DONE]
    over = sum(bool(entry.outcome.over) for entry in done)
    blank = sum(not entry.outcome.over and not entry.is_placed(comparison.axes) for entry in done)
    parts += [f"{over} exceed{'s' if over == 1 else ''} the limits"] if over else []
    parts += [f"{blank} lack{'s' if blank == 1 else ''} a figure to be placed by"] if blank else []
    left = f"; {', '.join(parts)}" if parts else ""
    return f"{len(entries)} point{' was' if len(entries) == 1 else 's were'} compared{left}."


def _has(comparison: Comparison, entry: Entry) -> str:
    parts = [f"{axis.name} {axis.show(entry.value(axis))}{_beside(entry, axis.name)}" for axis in comparison.axes]
    return f"It has {', '.join(parts)}, with {entry.outcome.suppressed:.2%} of the rows suppressed."


def _beside(entry: Entry, name: str) -> str:
    """What an attack's success is to be compared with."""
    known = entry.outcome.beside.get(name, {})
    for word in ("control", "baseline"):
        value = known.get(word)
        if value is not None:
            return f" ({word} {value:.2%})"
    return ""


def _against(comparison: Comparison, best: Entry, other: Entry) -> str:
    """What taking the best instead of another point gains and costs."""
    gains: list[str] = []
    costs: list[str] = []
    for axis in comparison.axes:
        mine, theirs = best.value(axis), other.value(axis)
        assert mine is not None
        assert theirs is not None
        text = f"{axis.name} ({axis.show(mine)}, not {axis.show(theirs)})"
        if mine != theirs:
            (gains if (mine < theirs) == (axis.better == "down") else costs).append(text)
    if not gains and not costs:
        return f"{other.point.label} has the same figures."
    words = [f"better {' and '.join(gains)}"] if gains else []
    words += [f"worse {' and '.join(costs)}"] if costs else []
    return f"Against {other.point.label} it has {' but '.join(words)}."


def _listed(entries: Sequence[Entry]) -> str:
    shown = [entry.point.label for entry in entries[:3]]
    if len(entries) > 3:
        return f"{'; '.join(shown)} and {len(entries) - 3} more"
    return "; ".join(shown)


def _inside(sentence: str) -> str:
    """A sentence as part of another one."""
    return sentence.strip().removesuffix(".")
