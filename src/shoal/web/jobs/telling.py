"""What is told of a job: how much of a step is done, and messages that do not say where the server keeps things."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

_NUMBER = r"(?P<done>\d[\d,]*) of (?P<all>\d[\d,]*)"
# What is done of something, at the end of a sentence or all of it; and the number of what has begun.
_DONE = re.compile(rf"(?:^|: ){_NUMBER}(?: rows| points)?$")
_BEGUN = re.compile(rf"\b(?:point|part|key) {_NUMBER}\b")


def share_of(step: str) -> float | None:
    """How much of a step is done by what its words say, None where they do not."""
    for pattern, before in ((_DONE, 0), (_BEGUN, 1)):
        if found := pattern.search(step):
            done, of = (int(found[name].replace(",", "")) for name in ("done", "all"))
            if of and before <= done <= of:
                return (done - before) / of
    return None


def without_places(message: str, folders: Sequence[str], offers: Sequence[Mapping[str, str | None]] = ()) -> str:
    """A message in which paths start from a project, and what is offered has its name.

    Parameters
    ----------
    folders
        Those of the project and of the server, the innermost first.
    """
    for one in offers:
        place = one.get("place") or "://"
        for known in {os.path.abspath(place), os.path.realpath(place)} if "://" not in place else ():
            message = _called(message, known, str(one["name"]), f"{one['name']}{os.sep}")
    for folder in folders:
        for known in {os.path.abspath(folder), os.path.realpath(folder)}:
            message = _called(message, known, "the project", "")
    return message


def _called(message: str, place: str, name: str, before: str) -> str:
    """A message that calls a place by a name, and by another before what is in it.

    Its letters in a longer name stay: places may be as short as '/data', and a text may be a label of values.
    """
    pattern = rf"(?<!\w){re.escape(place)}(?!\w)({re.escape(os.sep)}?)"
    return re.sub(pattern, lambda found: before if found[1] else name, message)


def found_without_places(found: Any, folders: Sequence[str], offers: Sequence[Mapping[str, str | None]]) -> Any:
    """The same of all texts in what a job found, of which some are messages."""
    if isinstance(found, str):
        return without_places(found, folders, offers)
    if isinstance(found, dict):
        return {key: found_without_places(one, folders, offers) for key, one in found.items()}
    return [found_without_places(one, folders, offers) for one in found] if isinstance(found, list) else found
