"""How a release is to be published, and what its publisher accepts."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.params import choice, iso_date


@dataclass(frozen=True, kw_only=True)
class Output:
    """The settings of a release that no algorithm and no model looks at.

    Attributes
    ----------
    suppressed, order
        ``"drop"`` or ``"star"``; ``"shuffled"`` or ``"kept"``.
    acknowledged
        Warning codes accepted.
    neutral_limit
        Largest share of rows that may be unique on quasi-identifiers and neutral columns.
    joinable
        Whether the key of its tokens is used for other releases too.
    same_codes
        Whether codes of its values are those of another release.
    date
        What manifest and report are dated with, None for no date.
    review
        What the publisher says of the release in manifest and report.
    """

    suppressed: str = "drop"
    order: str = "shuffled"
    acknowledged: Collection[str] = ()
    neutral_limit: float = 0.05
    joinable: bool = False
    same_codes: bool = False
    date: datetime.date | str | None = None
    review: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        choice("the output", "suppressed", self.suppressed, ("drop", "star"))
        choice("the output", "order", self.order, ("shuffled", "kept"))
        if self.date is not None:
            iso_date("the output", "date", self.date)

    @property
    def day(self) -> str | None:
        """The date as ISO text."""
        return None if self.date is None else iso_date("the output", "date", self.date)
