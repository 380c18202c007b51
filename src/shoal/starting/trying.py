"""A draft held against a run: what a run would refuse is mended, openly, until it passes the gate."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from shoal.errors import GateError, InfeasibleError, RefusalError, ShoalError
from shoal.recipe.draft import Draft, with_risk
from shoal.recipe.draft_text import recipe_text
from shoal.recipe.recipe import parse_recipe
from shoal.running import anonymize_recipe, keeps_rows
from shoal.streaming.recipes import run_stream

_MOST_ROWS = 200_000
_TRIALS = 20
_HELD = re.compile(r"cells of '(.+?)' hold (?:a word of )?(?:somebody's|their row's)")
_REPEATS = re.compile(r"'(.+?)' repeats")
_NAMED = re.compile(r"(?:[Cc]olumn|hierarchy of|levels of|[Vv]alues of|labels? of) '(.+?)'")


def tried(draft: Draft, progress: Callable[[str], None] = lambda step: None) -> Draft:
    """The same, changed until a run of it would pass; one that is too large to try is left as it is, and says so."""
    if draft.raw.frame.height > _MOST_ROWS:
        note = f"Not tried, since it has more than {_MOST_ROWS:,} rows: run shoal check."
        return replace(draft, mended=[*draft.mended, note])
    trials = 0
    while True:
        progress("trying the recipe")
        error, trials = _failure(draft), trials + 1
        if error is None:
            return replace(with_risk(draft), tried=True)
        changed = _mended(draft, error)
        if changed is None or trials == _TRIALS:
            raise error
        draft = changed


def _failure(draft: Draft) -> ShoalError | None:
    recipe = parse_recipe(recipe_text(draft, Path()), Path())
    if draft.raw.url is not None:  # of which the text has no password
        source = recipe.source.model_copy(update={"url": draft.raw.url})
        recipe = recipe.model_copy(update={"source": source})
    try:
        if keeps_rows(recipe):
            run_stream(recipe, dry_run=True)
        else:
            anonymize_recipe(recipe)
    except ShoalError as error:
        return error
    return None


def _mended(draft: Draft, error: ShoalError) -> Draft | None:
    """The draft with one thing less; None where nothing is left to leave out."""
    if isinstance(error, RefusalError):
        if "W-ROWS" in error.codes:
            return _no_identifier(draft, error)
        by_column = [code.partition(":")[2] for code in error.codes if ":" in code]
        known = [name for name in by_column if name in draft.proposals]
        return _dropped(draft, known[0], _why(error.codes[0])) if known else _without_neutral(draft)
    if isinstance(error, GateError):
        held = _HELD.search(str(error))
        return None if held is None else _dropped(draft, held[1], "its cells hold identifiers of people")
    if isinstance(error, InfeasibleError):
        return _weaker(draft, "over all classes of a person" in str(error))
    named = _NAMED.search(str(error))
    if named is None or named[1] not in draft.proposals:
        return None
    one = draft.proposals[named[1]]
    if one.tree is not None:
        note = f"{one.name}: no hierarchy, since the proposed one does not fit its values."
        return replace(draft.with_proposal(replace(one, tree=None)), mended=[*draft.mended, note])
    return _dropped(draft, one.name, "it cannot be read as it stands")


def _why(code: str) -> str:
    reasons = {"W-TEXT": "it looks like free text", "W-NAMES": "its cells hold names of people",
               "W-UNMODELLED": "no model would protect it", "W-IDENTIFIES": "it identifies people by itself",
               "W-DETERMINES": "it tells a quasi-identifier more finely than its cells"}  # fmt: skip
    return reasons.get(code.partition(":")[0], "a run would refuse it")


def _dropped(draft: Draft, name: str, why: str) -> Draft | None:
    if name not in draft.proposals or draft.proposals[name].role in ("drop", "identifiers"):
        return None
    if draft.proposals[name].role == "quasi" and len(draft.columns("quasi")) == 1:
        return None
    changed = draft.changed(name, role="drop", why=why, sure=False)
    return replace(changed, mended=[*draft.mended, f"{name}: left out, since {why}."])


def _no_identifier(draft: Draft, error: RefusalError) -> Draft | None:
    """Leave out what was only taken for an identifier, and repeats; other repetitions are for a person to judge."""
    repeated = _REPEATS.match(str(error))
    if repeated is None or (one := draft.proposals.get(repeated[1])) is None or one.sure or one.role != "identifiers":
        return None
    why = "not every row has its own"
    changed = draft.changed(one.name, role="drop", why=why, sure=False)
    return replace(changed, mended=[*draft.mended, f"{one.name}: left out, and no identifier, since {why}."])


def _without_neutral(draft: Draft) -> Draft | None:
    neutral = draft.columns("neutral")
    if not neutral:
        return None
    most = max(neutral, key=lambda name: draft.facts[name].distinct)
    return _dropped(draft, most, "released as it is, it would single people out")


def _weaker(draft: Draft, people: bool) -> Draft | None:
    """Fewer different values asked for, then people not judged over all classes, then a sensitive column less.

    Parameters
    ----------
    people
        Whether people fail whose rows are in several classes. Where fewer values do not help, as many are asked for
        again.
    """
    for one in draft.proposals.values():
        if one.model is not None and one.model.get("l", 0) > 2:
            weaker = replace(one, model={**one.model, "l": 2})
            note = f"{one.name}: 2 different values in a class, since no release has 3."
            stronger = draft.stronger or draft
            return replace(draft.with_proposal(weaker), mended=[*draft.mended, note], stronger=stronger)
    if people:
        first = draft.stronger or draft
        note = (
            "across_classes = false, since no release protects everybody whose rows are in several classes: a value "
            "that is the same in all rows of a person may be found. shoal attack counts such people "
            "(subject-intersection)."
        )
        return replace(first, across_classes=False, mended=[*first.mended, note])
    guarded = draft.columns("sensitive")
    if not guarded:
        return None
    worst = max(guarded, key=lambda name: draft.facts[name].common)
    return _dropped(draft, worst, "one of its values is so common that no release could hide it")
