"""m-invariant generalisation: everybody stays among the values that earlier releases left them with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.m_invariance_buckets import Plan, assign, balance, eligible
from shoal.data.domain import set_ids
from shoal.data.stats import unknown_flags
from shoal.data.table import Table
from shoal.errors import InfeasibleError, ParameterError
from shoal.models.base import Model
from shoal.params import whole
from shoal.recoding.exact import refuse_counterfeits
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import Counterfeits, Grouping
from shoal.registry import load

# ----------------------------------------
# From buckets to groups: cut along quasi-identifiers while every part keeps each value equally often.


def split(node: np.ndarray, value: np.ndarray, points: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Group of every record: one record of each value of its bucket.

    Parameters
    ----------
    node
        Bucket of every record; within a bucket every value occurs equally often.
    value
        Its value.
    points
        Shape (columns, records): codes of the quasi-identifiers, -1 for a counterfeit, which has none.
    scale
        What a step between codes counts, a column.

    Notes
    -----
    All parts are halved at once, each along the column in which it is widest, by the rank among the records of the same
    value: O(n log n) a level, and as many levels as halvings.
    """
    _, node = np.unique(node, return_inverse=True)
    while True:
        order = np.lexsort((value, node))
        new = np.ones(order.size, dtype=bool)
        new[1:] = (np.diff(node[order]) != 0) | (np.diff(value[order]) != 0)
        runs = np.bincount(np.cumsum(new) - 1)
        each = np.zeros(int(node.max(initial=-1)) + 1, dtype=np.int64)
        each[node[order][new]] = runs
        if (each <= 1).all():
            return node
        widest = _widest(node, points, scale, each.size)
        place = points[widest[node], np.arange(node.size)]
        # Counterfeits fit anywhere: the end, so that they spread over as few groups as there are others to fill.
        place = np.where(place < 0, np.iinfo(np.int64).max, place)
        order = np.lexsort((place, value, node))
        rank = np.empty(node.size, dtype=np.int64)
        rank[order] = np.arange(node.size) - np.repeat(np.cumsum(runs) - runs, runs)
        right = rank >= each[node] // 2
        right &= each[node] > 1
        _, node = np.unique(2 * node + right, return_inverse=True)


def _widest(node: np.ndarray, points: np.ndarray, scale: np.ndarray, nodes: int) -> np.ndarray:
    """The column in which each part is widest; the first of equally wide ones."""
    real = points[0] >= 0
    low = np.full((points.shape[0], nodes), np.iinfo(np.int64).max)
    high = np.full((points.shape[0], nodes), -1, dtype=np.int64)
    for column, codes in enumerate(points):
        np.minimum.at(low[column], node[real], codes[real])
        np.maximum.at(high[column], node[real], codes[real])
    return ((high - low) * scale[:, None]).argmax(axis=0)


# Rounds of joining groups whose cells are those of other values; each leaves fewer groups.
_ROUNDS = 50


@dataclass(frozen=True, kw_only=True)
class MInvariant(Algorithm):
    """Groups of at least m different values, the same for a person in every release (Xiao & Tao 2007).

    People of earlier releases are divided by the values they were among (their signature); new people fill up what
    left people lack, and the rest of them forms buckets of m or more values; every bucket is then cut along the
    quasi-identifiers into groups with one record of each value. Who cannot be placed is suppressed.

    Parameters
    ----------
    m
        Shorthand that adds the model ``m-invariance``.
    counterfeits
        Make records up where people who left took a value with them; False suppresses people instead.

    Examples
    --------
    >>> MInvariant(m=3, counterfeits=True).parameters()
    {'name': 'm-invariant', 'suppression_limit': 0.0, 'counterfeits': True}
    """

    name: ClassVar[str] = "m-invariant"
    shorthand: ClassVar[tuple[str, ...]] = ("m",)
    m: int | None = None
    counterfeits: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.m is not None:
            object.__setattr__(self, "m", whole("MInvariant", "m", self.m, least=2))
        if not isinstance(self.counterfeits, bool):
            raise ParameterError("The 'counterfeits' of MInvariant must be true or false.")

    @property
    def invents(self) -> bool:
        """Where counterfeits are allowed."""
        return self.counterfeits

    def models(self) -> list[Model]:
        """The model that ``m`` stands for."""
        return [] if self.m is None else [load("model", "m-invariance")(m=self.m)]

    def run(self, problem: Problem) -> Grouping:
        """Divide, balance, assign, split; then keep apart what would fall into one class."""
        asked = [model for model in problem.judge.models if model.name == "m-invariance"]
        if len(asked) != 1:
            raise ParameterError(f"m-invariant needs the model 'm-invariance' once, and there are {len(asked)}.")
        if self.counterfeits:
            refuse_counterfeits(problem.table)
        work = _Work(problem, asked[0].m, asked[0].on, self.counterfeits)  # type: ignore[attr-defined]
        grouping = _apart(problem, work.group())
        _refuse_too_many(grouping, self)
        return grouping


@dataclass(frozen=True, eq=False)
class _Groups:
    """Groups before they are checked: real rows first, then counterfeits."""

    rows: np.ndarray
    values: np.ndarray
    bucket: np.ndarray
    group: np.ndarray
    texts: list[str]
    column: str
    notes: dict[str, Any]


class _Work:
    """One run: the rows in keyed order, their values, and the signatures of those who return."""

    def __init__(self, problem: Problem, m: int, on: str, fake: bool) -> None:
        table = problem.table
        column = table.columns[on]
        self.problem, self.m, self.on, self.fake = problem, m, on, fake
        order = problem.shuffled
        self.known = order[unknown_flags(column)[table.codes[on][order]] == 0]
        self.value = table.codes[on].astype(np.int64)
        self.texts = column.texts.to_list()
        self.place = _scale(table) @ table.quasi_codes

    def group(self) -> _Groups:
        """Entries of rows and counterfeits, in groups."""
        self.problem.progress("balancing buckets")
        history = self.problem.table.history
        fresh = self.known
        rows, values, bucket = [], [], []
        fakes = fakes_at = np.empty(0, dtype=np.int64)
        if history is not None:
            back = history.signature[self.known] >= 0
            fresh, returning = self.known[~back], self.known[back]
            rows, values, bucket, fakes, fakes_at, fresh = self._balanced(returning, fresh)
        counts = np.bincount(self.value[fresh], minlength=len(self.texts))
        plan = assign(eligible(counts, self.m), self.m)
        start = int(max([-1, *(int(one.max(initial=-1)) for one in (*bucket, fakes_at))])) + 1
        mine = self._taken(plan, fresh, spread=False)
        rows.append(mine[0])
        values.append(self.value[mine[0]])
        bucket.append(mine[1] + start)
        return self._split(np.concatenate(rows), np.concatenate(values), np.concatenate(bucket), fakes, fakes_at)

    def _balanced(self, returning: np.ndarray, fresh: np.ndarray) -> Any:
        """Returning rows that stay and new ones beside them, by bucket; counterfeits; and the new rows not used."""
        history = self.problem.table.history
        assert history is not None
        member = self._members()
        sizes, signature = np.diff(history.indptr), history.signature.astype(np.int64)
        card = len(self.texts)
        owner = np.repeat(np.arange(sizes.size), sizes)
        fits = np.isin(signature[returning] * card + self.value[returning], owner * card + member)
        fits &= sizes[signature[returning]] >= self.m
        returning = returning[fits]
        present = np.unique(signature[returning])
        present = present[np.argsort(self._means(returning, signature, sizes.size)[present], kind="stable")]
        number = np.full(sizes.size, -1)
        number[present] = np.arange(present.size)
        mine = number[owner] >= 0
        order = np.lexsort((member[mine], number[owner[mine]]))
        bucket, value = number[owner[mine]][order], member[mine][order]
        pairs = np.bincount(
            np.searchsorted(bucket * card + value, number[signature[returning]] * card + self.value[returning]),
            minlength=bucket.size,
        )
        supply = np.bincount(self.value[fresh], minlength=card)
        plan = balance(bucket, value, pairs, supply, self.fake)
        stay = Plan(bucket, value, np.minimum(pairs, plan.each), np.minimum(pairs, plan.each))
        old = self._taken(stay, returning, spread=False, bucket=number[signature[returning]])
        new = self._taken(plan, fresh, spread=True)
        lacking = np.maximum(plan.each - pairs - plan.fresh, 0)
        rows = [old[0], new[0]]
        unused = fresh[~np.isin(fresh, new[0])]
        fakes, at = np.repeat(value, lacking), np.repeat(bucket, lacking)
        return rows, [self.value[one] for one in rows], [old[1], new[1]], fakes, at, unused

    def _members(self) -> np.ndarray:
        """Values of all signatures as codes; those that nobody has any more are numbered after the others."""
        history = self.problem.table.history
        assert history is not None
        codes = history.codes(pl.Series(self.texts, dtype=pl.String))
        gone = np.flatnonzero(codes < 0)
        named, inverse = np.unique(history.members[gone], return_inverse=True)
        codes[gone] = len(self.texts) + inverse
        self.texts = [*self.texts, *(history.texts[one] for one in named.tolist())]
        return codes

    def _means(self, rows: np.ndarray, signature: np.ndarray, count: int) -> np.ndarray:
        """Where the people of each signature lie on average."""
        totals = np.bincount(signature[rows], self.place[rows], minlength=count)
        return totals / np.maximum(np.bincount(signature[rows], minlength=count), 1)

    def _taken(
        self, plan: Plan, rows: np.ndarray, *, spread: bool, bucket: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows of each entry's value (and bucket, where given) for it, as many as it is to get, and their buckets.

        ``spread`` takes them in the order of where they lie, evenly from all there are: buckets come in that order too.
        """
        card = len(self.texts)
        if bucket is None:
            key, wanted = self.value[rows], plan.value
        else:
            key, wanted = bucket * card + self.value[rows], plan.bucket * card + plan.value
        ranked = np.lexsort((self.place[rows], key)) if spread else np.argsort(key, kind="stable")
        keys = key[ranked]
        entry = np.repeat(np.arange(plan.fresh.size), plan.fresh)
        entry = entry[np.argsort(wanted[entry], kind="stable")]
        asked = wanted[entry]
        rank = np.arange(entry.size) - np.searchsorted(asked, asked)
        first, have = np.searchsorted(keys, asked), np.searchsorted(keys, asked, side="right")
        if spread:
            need = np.searchsorted(asked, asked, side="right") - np.searchsorted(asked, asked)
            rank = rank * (have - first) // np.maximum(need, 1)
        return rows[ranked[first + rank]], plan.bucket[entry]

    def _split(
        self, rows: np.ndarray, values: np.ndarray, bucket: np.ndarray, fakes: np.ndarray, fakes_at: np.ndarray
    ) -> _Groups:
        self.problem.progress("cutting buckets into groups")
        table = self.problem.table
        # In keyed order again, so that ties are broken by it.
        place = np.empty(table.n, dtype=np.int64)
        place[self.problem.shuffled] = np.arange(table.n)
        order = np.argsort(place[rows])
        rows, values, bucket = rows[order], values[order], bucket[order]
        values, bucket = np.concatenate([values, fakes]), np.concatenate([bucket, fakes_at])
        pairs = np.unique(np.stack([bucket, values]), axis=1)
        # Buckets of equal values are one: the more records to choose from, the closer those of a group.
        sets = set_ids(pairs[0], pairs[1], int(bucket.max(initial=-1)) + 1)[bucket]
        points = np.full((len(table.quasi), values.size), -1, dtype=np.int64)
        points[:, : rows.size] = table.quasi_codes[:, rows]
        group = split(sets, values, points, _scale(table))
        notes = {"buckets": int(np.unique(sets).size), "counterfeits": int(fakes.size)}
        return _Groups(rows, values, sets, group, self.texts, self.on, notes)


def _scale(table: Table) -> np.ndarray:
    return table.domain.quasi_weights / np.array([max(column.card - 1, 1) for column in table.quasi])


def _apart(problem: Problem, made: _Groups) -> Grouping:
    """A grouping in which no class mixes buckets: groups that would are joined with their neighbours, or suppressed."""
    order = np.lexsort((made.group, made.bucket))
    _, first, inverse = np.unique(made.group[order], return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # groups numbered bucket by bucket
    group = np.empty(made.group.size, dtype=np.int64)
    group[order] = rank[inverse]
    real = made.rows.size
    for _ in range(_ROUNDS):
        ids, groups, bucket = _numbered(problem.table, made, group)
        classes = apply_recoding(problem.rows, Grouping(ids=ids, groups=groups)).classes
        group_class = np.empty(groups, dtype=np.int64)
        group_class[group[:real][group[:real] >= 0]] = classes[made.rows[group[:real] >= 0]]
        losing = _losing(group_class, bucket, np.bincount(group[group >= 0], minlength=groups))
        if not losing.any():
            break
        group = _joined(group, bucket, losing)
    ids, groups, _ = _numbered(problem.table, made, group)
    fakes = group[real:] >= 0
    texts = pl.Series([made.texts[code] for code in made.values[real:][fakes].tolist()], dtype=pl.String)
    counterfeits = Counterfeits(ids=group[real:][fakes].astype(np.int32), column=made.column, texts=texts)
    notes = made.notes | {"groups": groups, "counterfeits": int(fakes.sum())}
    return Grouping(ids=ids, groups=groups, notes=notes, counterfeits=counterfeits if fakes.any() else None)


def _numbered(table: Table, made: _Groups, group: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
    """Group of every row of the table, their number, and the bucket of each."""
    ids = np.full(table.n, -1, dtype=np.int32)
    ids[made.rows] = group[: made.rows.size]
    groups = int(group.max(initial=-1)) + 1
    bucket = np.empty(groups, dtype=np.int64)
    bucket[group[group >= 0]] = made.bucket[group >= 0]
    return ids, groups, bucket


def _losing(group_class: np.ndarray, bucket: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Groups whose class has more records of another bucket."""
    pairs, of = np.unique(np.stack([group_class, bucket]), axis=1, return_inverse=True)
    weight = np.bincount(of, sizes)
    order = np.lexsort((-weight, pairs[0]))
    first = np.ones(order.size, dtype=bool)
    first[1:] = np.diff(pairs[0][order]) != 0
    wins = np.zeros(order.size, dtype=bool)
    wins[order[first]] = True
    return ~wins[of]


def _joined(group: np.ndarray, bucket: np.ndarray, losing: np.ndarray) -> np.ndarray:
    """Losing groups joined with the group before or after them in their bucket; those alone in it are suppressed."""
    same = np.zeros(bucket.size, dtype=bool)
    same[1:] = bucket[1:] == bucket[:-1]
    join = losing & same
    after = np.flatnonzero(losing & ~same) + 1
    after = after[after < bucket.size]
    join[after[same[after]]] = True
    alone = losing & ~join & ~np.append(join[1:], False)
    keep = ~join & ~alone
    number = np.where(alone, -1, np.cumsum(keep) - 1)
    return np.where(group >= 0, number[group], -1)


def _refuse_too_many(grouping: Grouping, method: MInvariant) -> None:
    n, lost = grouping.ids.size, int((grouping.ids < 0).sum())
    if lost == n or lost > method.rows_allowed(n):
        raise InfeasibleError(
            f"m-invariant can place all but {lost} of {n} rows, and {method.limit_words}: raise it, "
            "lower m, or allow counterfeits where people who left are lacking."
        )
