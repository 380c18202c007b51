"""Whose rows a release has: every row read is released, suppressed or dropped, exactly once."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.verify.classes import Classes, Placed, starred
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import Batch, Check, Rows, Setting
from shoal.verify.tally import Counts
from shoal.verify.values import Coded, plain

# Below this many rows a random order is ascending too often to call it a leak.
_ORDER_ROWS = 20


class Accounts:
    """The account of all rows: the input's are read first, then those of the release are seen.

    Attributes
    ----------
    rows
        Input rows read.
    released
        Rows of the release seen.
    """

    def __init__(self, setting: Setting, claims: Claims) -> None:
        self._setting, self._claims = setting, claims
        self.rows = self.released = 0
        self._wrong_lengths = self._wrong_given = self._wrong_history = self._outside = self._unstarred = False
        self._ascending, self._last = True, -1

    def read(self, rows: Rows) -> None:
        """Take in rows of the input."""
        height = rows.original.height
        self.rows += height
        self._wrong_given |= bool(rows.identifiers.width) and rows.identifiers.height != height
        self._wrong_given |= rows.subject is not None and len(rows.subject) != height
        self._wrong_history |= rows.history is not None and len(rows.history) != height

    def settle(self) -> None:
        """All of the input is read."""
        away = np.asarray(self._setting.suppressed)
        self._times = np.zeros(self.rows, dtype=np.uint8)
        self._away = np.zeros(self.rows, dtype=np.uint8)
        if is_outside(away, self.rows):
            self._outside = True
        else:
            _count(self._away, away.astype(np.int64))

    @property
    def sound(self) -> bool:
        """Whether input and release fit together so far, so that rows can be compared."""
        return not (self._wrong_lengths or self._wrong_given or self._wrong_history or self._outside)

    def see(self, batch: Batch) -> None:
        """Account for a batch of the release."""
        source, height = batch.source, batch.released.height
        self.released += height
        self._wrong_lengths |= len(source) != height
        self._outside |= batch.rows is None or is_outside(source, self.rows)
        if not self.sound or not height:
            return
        source = source.astype(np.int64)
        _count(self._times, source)
        if self._claims.suppressed == "star":
            self._unstarred |= not starred(batch.released)[self._away[source] > 0].all()
        self._ascending &= self._last < source[0] and bool((np.diff(source) > 0).all())
        self._last = int(source[-1])

    def kept(self, source: np.ndarray) -> np.ndarray:
        """Positions of the rows that are not suppressed."""
        return np.flatnonzero(self._away[source] == 0)

    @property
    def once(self) -> bool:
        """Whether no input row is released twice."""
        return bool((self._times <= 1).all())

    @property
    def everybody(self) -> bool:
        """Whether every input row is released exactly once."""
        return bool((self._times == 1).all())

    @property
    def times(self) -> np.ndarray:
        """How often each input row is released; two stands for any more."""
        return self._times

    def check(self) -> Check:
        """I1: every row read is released, suppressed or dropped, exactly once."""
        problem = self.problem()
        detail = problem or "Every row read is released, suppressed or dropped, exactly once."
        return Check(name="rows", passed=problem is None, detail=detail)

    def problem(self) -> str | None:
        """The first thing that is wrong with the account."""
        setting, claims = self._setting, self._claims
        if self._wrong_lengths or claims.rows not in (None, self.released):
            return "The release, its list of source rows and the manifest disagree on the number of rows."
        if self._wrong_given:
            return "Identifiers or subjects were not given for exactly the input rows."
        made_up = setting.counterfeits
        if setting.n_read != setting.n_dropped + self.rows - made_up or setting.n_dropped < 0 or made_up < 0:
            return "The rows read are not the rows dropped plus the rows given to the gate."
        if self._wrong_history:
            return "What earlier releases had was not given for exactly the input rows."
        if self._outside:
            return "A released or suppressed row points outside the input."
        if self._unstarred:
            return "A suppressed row is released with something other than * in a column."
        times = self._times.astype(np.int64) + (self._away if claims.suppressed == "drop" else 0)
        twice, lost = int(((times > 1) | (self._away > 1)).sum()), int((times == 0).sum())
        if twice:
            return f"{twice:,} input rows are accounted for more than once."
        if lost:
            return f"{lost:,} input rows are neither released nor suppressed."
        if claims.counterfeits != made_up - int(self._away[self.rows - made_up :].sum()):
            return "The manifest does not give the number of counterfeit rows."
        return None

    def check_order(self) -> Check:
        """I6: a release said to be shuffled is not in the order of its source."""
        kept = self._claims.order == "shuffled" and self.released >= _ORDER_ROWS and self._ascending
        detail = (
            "The release is in the order of its source although the manifest says shuffled."
            if kept
            else f"The order of the rows is {self._claims.order}, as the manifest says."
        )
        return Check(name="order", passed=not kept, detail=detail)


class Origins:
    """The rows that the sensitive values of a bucketised release come from."""

    def __init__(self, rows: int) -> None:
        self._times = np.zeros(rows, dtype=np.uint8)
        self.sound = True

    def see(self, batch: Batch) -> None:
        """Account for a batch of the table that holds sensitive values."""
        fits = batch.rows is not None and len(batch.source) == batch.released.height
        self.sound &= fits and not is_outside(batch.source, len(self._times))
        if self.sound:
            _count(self._times, batch.source.astype(np.int64))

    def same(self, accounts: Accounts) -> bool:
        """Whether they are the released rows, each once."""
        return self.sound and accounts.once and bool(np.array_equal(self._times, accounts.times))


def is_outside(index: np.ndarray, rows: int) -> bool:
    """Whether some numbers are not those of rows."""
    return bool(len(index) and (index.dtype.kind not in "iu" or index.min() < 0 or index.max() >= rows))


def _count(times: np.ndarray, index: np.ndarray) -> None:
    """Count rows up to two, which is once too often however often it is."""
    times[index] = np.minimum(times[index] + 1, 2)
    ordered = np.sort(index)
    times[ordered[1:][ordered[1:] == ordered[:-1]]] = 2


# ----------------------------------------
# How many rows are unique on quasi-identifiers and neutral columns together.


class Neutral:
    """Rows of each class by what stands in their neutral columns, of which a hash is kept."""

    def __init__(self, setting: Setting, claims: Claims) -> None:
        self._setting, self._made = setting, claims.made
        self._names = [column.name for column in claims.role("neutral")]
        self._counts = Counts()

    def see(self, batch: Coded, placed: Placed) -> None:
        """Count a batch of the release."""
        if self._names:
            neutral = plain(batch.frame.select(self._names))[placed.rows]
            self._counts.see(pl.DataFrame({"class": placed.of_row, "hash": neutral.hash_rows(seed=0)}))

    def check(self, classes: Classes) -> Check:
        """Few rows are unique."""
        if not self._names or not classes.count:
            return Check(name="neutral columns", passed=True, detail="No neutral column is released.")
        setting, counted = self._setting, self._counts.total()
        alone = (counted["rows"] == 1).to_numpy()
        detail = "of the rows are unique on quasi-identifiers and neutral columns together"
        if self._made in ("randomised", "pseudonymised", "bucketised", "perturbed"):
            # Where quasi-identifiers are values, most rows are unique already: what counts is what neutral columns add.
            alone &= classes.sizes[counted["class"].to_numpy()] > 1
            detail += ", and not on quasi-identifiers alone"
        share = float(np.sum(alone) / classes.sizes.sum())
        detail = f"{share:.1%} {detail}"
        accepted = "W-NEUTRAL" in setting.acknowledged
        if share > setting.neutral_limit:
            above = f", above the limit of {setting.neutral_limit:.1%}"
            detail += ", which W-NEUTRAL accepts" if accepted else above
        passed = accepted or share <= setting.neutral_limit
        return Check(name="neutral columns", passed=passed, detail=f"{detail}.", code="W-NEUTRAL")
