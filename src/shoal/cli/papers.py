"""The distribution that reproduces the documents, which need not be installed."""

from __future__ import annotations

from importlib.util import find_spec

from shoal.errors import MissingExtraError

DISTRIBUTION = "shoal-papers"


def need_papers(what: str) -> None:
    """Refuse in one sentence what the other distribution is needed for, where it is missing."""
    if find_spec("shoal_papers") is None:
        raise MissingExtraError(what, DISTRIBUTION)
