"""A change to the recipe that came too late, since somebody else had made one: what it would have been."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from starlette.datastructures import FormData, UploadFile

from shoal.errors import ShoalError
from shoal.web.errors import Refused
from shoal.web.views.place import Place

Make = Callable[[Place], tuple[str, str]]
Lines = list[tuple[str, str]]
_OURS = ("csrf", "base")


@dataclass(frozen=True)
class Lost:
    """What would have changed in the version it was made from; and how to ask for it again.

    ``again`` has the fields of the form, where it would change the same lines of the newest version and no others.
    """

    lines: Lines
    address: str
    again: tuple[tuple[str, str], ...]


def difference(older: str, newer: str) -> Lines:
    """Lines of two texts as they differ, with their kind: ``added``, ``removed``, ``where`` or none."""
    lines = difflib.unified_diff(older.splitlines(), newer.splitlines(), lineterm="", n=2)
    kinds = {"+": "added", "-": "removed", "@": "where"}
    return [(kinds.get(line[:1], ""), line) for line in lines if not line.startswith(("---", "+++"))]


def lost_change(base: Place, newest: Place, make: Make, form: FormData, address: str) -> Lost | None:
    """What a form would have made of the version that it showed; None where nobody can tell."""
    if any(isinstance(value, UploadFile) and value.filename for _, value in form.multi_items()):
        return None  # a file is read once
    mine = _made(base, make)
    if mine is None:
        return None
    theirs = _made(newest, make)
    lines = difference(base.text, mine)
    same = theirs is not None and _changes(lines) == _changes(difference(newest.text, theirs)) != []
    sent = [(name, value) for name, value in form.multi_items() if isinstance(value, str) and name not in _OURS]
    return Lost(lines, address, tuple(sent) if same else ())


def _made(place: Place, make: Make) -> str | None:
    try:
        return make(place)[0]
    except (ShoalError, Refused, OSError):  # such as one for whom there is no turn to read: the conflict is told anyway
        return None


def _changes(lines: Lines) -> Lines:
    return [one for one in lines if one[0] in ("added", "removed")]
