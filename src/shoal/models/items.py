"""k^m-anonymity: up to m items that somebody is known to have are shared by k records, or by none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from shoal.data.domain import Domain
from shoal.data.stats import Attribute
from shoal.errors import ParameterError
from shoal.kernels import rules as kernel
from shoal.models.base import Model
from shoal.models.rules import SHARED, Reference, Rule
from shoal.params import whole

MOST = 4


@dataclass(frozen=True, kw_only=True)
class KMAnonymity(Model):
    """Whoever knows the class of a person and up to m of their items finds k records at least, or none.

    For a column whose cells hold several items (Terrovitis, Mamoulis & Kalnis, VLDB 2008); within every class of equal
    quasi-identifiers, which beside ``k`` is the (k, k^m)-anonymity of Poulis et al. Where no item is known that any
    record shows, none is found. Merging classes keeps it.

    Parameters
    ----------
    k
        Fewest records that share up to m items.
    m
        How many items of a person may be known, 1 to 4.
    on
        The column of items; all of them by default.

    Examples
    --------
    >>> KMAnonymity(5, m=2).parameters()
    {'name': 'k-m', 'k': 5, 'm': 2}
    """

    name: ClassVar[str] = "k-m"
    main: ClassVar[str] = "k"
    words: ClassVar[str] = "{k}^{m}-anonymous"
    leaves_open: ClassVar[str | None] = (
        "Items of '{}' beyond those known: k-m counts records that share a few known items, so that whoever knows more "
        "of them, or which ones a person does not have, may find fewer, and what all records of a class have is known "
        "of each."
    )
    monotone: ClassVar[str] = "none"
    of_cells: ClassVar[bool] = True
    k: int = field(kw_only=False)
    m: int = 2
    on: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "k", whole("KMAnonymity", "k", self.k, least=2))
        object.__setattr__(self, "m", whole("KMAnonymity", "m", self.m, least=1))
        if self.m > MOST:
            raise ParameterError(f"The 'm' of KMAnonymity must be at most {MOST}. Got {self.m}.")
        if self.on is not None and not isinstance(self.on, str):
            raise ParameterError("The 'on' of KMAnonymity must be a single column of items.")

    def targets(self, domain: Domain) -> list[tuple[str, ...]]:
        """Columns of items."""
        named = [name for name in domain.schema.sensitive if domain.schema.spec(name).items is not None]
        if not named or (self.on is not None and self.on not in named):
            what = "there is no such column" if self.on is None else f"'{self.on}' holds none"
            raise ParameterError(
                f"Model 'k-m' is about sensitive columns of items, and {what}: name what stands between items, such as "
                f"items = \"|\" under [columns.{self.on or 'NAME'}]."
            )
        return [(name,) for name in named if self.on in (None, name)]

    def resolved(self, domain: Domain) -> list[Model]:
        """One a column, after refusing people with several rows, whose items nobody takes together."""
        columns = self.targets(domain)
        if domain.by_people:
            raise ParameterError(
                "Model 'k-m' counts rows, and a subject may have several: put the items of a person into one row."
            )
        return [replace(self, on=name) for (name,) in columns]

    def attributes(self, domain: Domain) -> list[Attribute]:
        """None: it is judged on the items that are published, which histograms of what was read do not hold."""
        return []

    def all_rules(self, reference: Reference) -> list[list[Rule]]:
        """One rule a column, on the records that share items."""
        return [
            [Rule(op=SHARED, sense=kernel.AT_LEAST, limit=float(self.k), p0=float(self.m), names=names)]
            for names in self.targets(reference.domain)
        ]
