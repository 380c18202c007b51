"""What earlier releases of a source left of each row's person: plain data for models, methods and the gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.errors import ParameterError


@dataclass(frozen=True, eq=False, kw_only=True)
class History:
    """The set of values that a person's class had in every earlier release: the person's signature.

    Attributes
    ----------
    column
        The sensitive column that the values are of.
    signature
        int32 signature of each row's person, -1 for those who are in no earlier release.
    indptr, members
        Signature s holds ``texts[members[indptr[s]:indptr[s + 1]]]``, each once. An empty one belongs to people whose
        earlier classes differ among themselves: no class equals it.
    texts
        Values, as the column writes them.
    """

    column: str
    signature: np.ndarray
    indptr: np.ndarray
    members: np.ndarray
    texts: Sequence[str]

    def take(self, rows: np.ndarray) -> History:
        """The history of some rows."""
        return replace(self, signature=self.signature[rows])

    def check(self, rows: int) -> None:
        """Refuse a history of another table."""
        if self.signature.size != rows:
            raise ParameterError(
                f"The history given is not that of column '{self.column}' of this table: make it anew."
            )

    def codes(self, texts: pl.Series) -> np.ndarray:
        """int64 code of each member in a column's dictionary, -1 for values that it does not have."""
        place = {text: code for code, text in enumerate(texts.to_list())}
        lookup = np.array([place.get(text, -1) for text in self.texts], dtype=np.int64)
        return lookup[self.members]

    def lists(self) -> pl.Series:
        """The signature of each row as a list of texts, null for new people."""
        sizes = np.diff(self.indptr)
        owner = np.repeat(np.arange(sizes.size), sizes)
        named = pl.DataFrame({"s": owner, "text": pl.Series(list(self.texts), dtype=pl.String).gather(self.members)})
        lists = named.group_by("s").agg("text")
        rows = pl.DataFrame({"s": self.signature.astype(np.int64)})
        found = rows.join(lists, on="s", how="left", maintain_order="left")
        nothing = pl.col("text").is_null() & (pl.col("s") >= 0)
        empty = pl.lit([], dtype=pl.List(pl.String))
        return found.select(pl.when(nothing).then(empty).otherwise("text").alias("signature")).to_series()


def broken_classes(
    history: History, texts: pl.Series, classes: np.ndarray, groups: int, codes: np.ndarray, unknown: np.ndarray
) -> np.ndarray:
    """Whether somebody of each class was among other values in an earlier release.

    Parameters
    ----------
    texts
        The column's dictionary, which ``codes`` (one a row) and ``unknown`` (a flag a code) belong to.
    classes
        Class of each row, -1 for none.
    """
    card = len(texts)
    held = np.unique(classes[classes >= 0].astype(np.int64) * card + codes[classes >= 0])
    held = held[unknown[held % card] == 0]
    sizes = np.bincount(held // card, minlength=groups)
    back = (classes >= 0) & (history.signature >= 0)
    pairs = np.unique(np.stack([classes[back], history.signature[back]]).astype(np.int64), axis=1)
    wanted = np.diff(history.indptr)[pairs[1]]
    # Every member of each pair's signature, looked up among what its class holds.
    owner = np.repeat(np.arange(wanted.size), wanted)
    offset = np.arange(owner.size) - np.repeat(np.cumsum(wanted) - wanted, wanted)
    member = history.codes(texts)[history.indptr[pairs[1][owner]] + offset]
    there = (member >= 0) & np.isin(pairs[0][owner] * card + member, held)
    found = np.bincount(owner[there], minlength=wanted.size)
    differs = (found != wanted) | (wanted != sizes[pairs[0]])
    broken = np.zeros(groups, dtype=bool)
    broken[pairs[0][differs]] = True
    return broken


def set_ids(owner: np.ndarray, member: np.ndarray, owners: int) -> np.ndarray:
    """A number for the set of members of each owner, the same for equal sets; those without a member have -1.

    Parameters
    ----------
    owner, member
        Pairs, each once.
    """
    order = np.lexsort((member, owner))
    pairs = pl.DataFrame({"owner": owner[order], "member": member[order]})
    named = pairs.group_by("owner", maintain_order=True).agg(pl.col("member").cast(pl.String).str.join(","))
    _, number = np.unique(named["member"].to_numpy().astype(str), return_inverse=True)
    ids = np.full(owners, -1, dtype=np.int64)
    ids[named["owner"].to_numpy()] = number
    return ids
