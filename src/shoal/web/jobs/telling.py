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
            message = message.replace(known, str(one["name"]))
    for folder in folders:
        for known in {os.path.abspath(folder), os.path.realpath(folder)}:
            message = message.replace(known + os.sep, "").replace(known, "the project")
    return message


def found_without_places(found: Any, folders: Sequence[str], offers: Sequence[Mapping[str, str | None]]) -> Any:
    """The same of all texts in what a job found, of which some are messages."""
    if isinstance(found, str):
        return without_places(found, folders, offers)
    if isinstance(found, dict):
        return {key: found_without_places(one, folders, offers) for key, one in found.items()}
    return [found_without_places(one, folders, offers) for one in found] if isinstance(found, list) else found
