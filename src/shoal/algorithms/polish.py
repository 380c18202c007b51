"""Polish: after any grouping, change groups a little at a time while every model holds and what is aimed at falls."""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from shoal.algorithms.aims import Aim, Target
from shoal.algorithms.base import Problem, sensitive_codes, shuffled_codes
from shoal.algorithms.prices import prices_of, quasi_columns, weighted
from shoal.errors import ParameterError
from shoal.kernels.cluster.bottom_up import offer_neighbours, offer_windows
from shoal.kernels.cluster.groups import Groups, make_groups
from shoal.kernels.cluster.polish import Limits, Scene, dissolve, improve, regroup, wake
from shoal.kernels.cores import share
from shoal.kernels.prices import Prices
from shoal.kernels.rules import EXTENT, SIZE
from shoal.models.suppression import settled
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import Grouping, Recoding
from shoal.registry import load

POLISH_ROUNDS = 20
# Groups a zone: enough for records to find better places, few enough for cores to have work; with fewer groups, a zone
# for each of the cores that are common.
_ZONE, _LEAST, _CORES = 2048, 128, 4
# Candidates a record, the sorted orders they are looked for in, and how far on either side.
_NEAR, _ORDERS, _WINDOW = 24, 12, 8
# Records of a neighbourhood that is dealt anew, in groups of k and at most, and how often each is tried.
_POOL, _MOST, _TRIES = 6, 120, 2
# Groups above this many records take longer than they are worth.
_LARGEST = 4096
# A round that gains less than this share ends the work.
_WORTH = 2e-4


@dataclass
class _Work:
    """Labels and flags of the records, in keyed order."""

    codes: np.ndarray
    order: np.ndarray
    ids: np.ndarray
    near: np.ndarray
    quiet: np.ndarray = field(init=False)
    calm: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.quiet = np.zeros(self.ids.size, dtype=np.uint8)
        self.calm = np.zeros(self.ids.size, dtype=np.uint8)


def polish(
    problem: Problem, grouping: Grouping, aim: Aim, rounds: int, seconds: float | None = None, stream: str = "polish"
) -> Grouping:
    """Move, exchange, dissolve and deal anew; the notes say what that gained.

    Suppressed records stay suppressed. With ``seconds`` the rounds stop when the time is up, so that the same secret
    gives the same groups only if the same number of rounds was done; the notes give it. Another ``stream`` of the
    secret looks for neighbours in other orders.
    """
    if aim.protection and not problem.table.sensitive:
        raise ParameterError(f"Polish by '{aim}' needs a sensitive attribute: name one, or polish by loss alone.")
    problem.domain.check_sets(grouping.groups)
    order, codes = shuffled_codes(problem)
    kept = grouping.ids[order] >= 0
    if not kept.any():
        return grouping
    order, codes = order[kept], np.ascontiguousarray(codes[kept], dtype=np.int32)
    rng = problem.keys.generator(stream)
    problem.progress("polish: finding neighbours")
    near = _neighbours(codes, prices_of(problem.domain), rng)
    work = _Work(codes, order, grouping.ids[order], near)
    search = _Search(problem, aim, work, rng)
    notes = {"measure": str(aim), "before": aim.figure(problem, grouping), **search.run(rounds, seconds)}
    ids = np.full(problem.table.n, -1, dtype=np.int32)
    ids[order] = np.unique(work.ids, return_inverse=True)[1]
    better = Grouping(ids=ids, groups=int(ids.max()) + 1)
    notes["after"] = aim.figure(problem, better)
    return replace(better, notes={**grouping.notes, "polish": notes})


def _neighbours(codes: np.ndarray, prices: Prices, rng: np.random.Generator) -> np.ndarray:
    """Near records of each: windows in orders that begin with different columns, then neighbours of neighbours."""
    n, m = codes.shape
    near = np.full((n, min(_NEAR, max(n - 1, 1))), -1, dtype=np.int32)
    distance = np.full(near.shape, np.iinfo(np.int64).max)
    for _ in range(_ORDERS):
        offer_windows(codes.T, prices, _sorted_rows(codes, rng.permutation(m)), _WINDOW, near, distance)
    offer_neighbours(codes.T, prices, near, distance)
    return near


def _sorted_rows(codes: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Rows in the order of the columns given, as many of them as fit into one key."""
    key = np.zeros(codes.shape[0], dtype=np.int64)
    room = 1 << 62
    for a in columns.tolist():
        card = int(codes[:, a].max()) + 1
        room //= card
        if room == 0:
            break
        key = key * card + codes[:, a]
    return np.argsort(key, kind="stable").astype(np.int32)


class _Search:
    """Rounds of polish on one grouping."""

    def __init__(self, problem: Problem, aim: Aim, work: _Work, rng: np.random.Generator) -> None:
        self.problem, self.work, self.rng = problem, work, rng
        table, rules = problem.table, problem.judge.rules
        extents = rules.limit[rules.op == EXTENT]
        self.target = Target(problem, aim, work.order)
        self.codes = np.ascontiguousarray(self.target.with_spreads(work.codes)).T
        self.prices = self.target.prices(None)
        alone = bool((rules.op == SIZE).all()) and table.subjects is None
        # A limit on spreads is held against spreads, whatever tolls or a measure's own prices make of them.
        plain = weighted(quasi_columns(table.domain, tolls=False), [1.0] * len(table.quasi), table.n)
        self.judged = None if alone else (rules, sensitive_codes(problem), plain)
        k = max(problem.judge.k, 2)
        self.limits = Limits(
            k=k,
            widest=float(extents.min()) if extents.size else np.inf,
            largest=_LARGEST,
            pool=max(4 * k, min(_POOL * k, _MOST)),
            tries=_TRIES,
        )

    def run(self, rounds: int, seconds: float | None) -> dict[str, object]:
        """Work until a round gains next to nothing, the rounds are done, or the time is up."""
        started = time.monotonic()
        done = np.zeros(4, dtype=np.int64)
        stopped, count = "rounds", 0
        while count < rounds:
            if seconds is not None and time.monotonic() - started > seconds:
                stopped = "time"
                break
            groups = self._layout()
            before = self._loss(groups)
            done += self._round(groups)
            count += 1
            self.work.ids = groups.ids
            after = self._loss(groups)
            self.prices = self.target.prices(self._spreads(groups))
            self.problem.progress(f"polish: round {count}, {self.target.words} {after:.4g}")
            if before - after <= _WORTH * before:
                stopped = "nothing left to gain"
                break
        kinds = ("moved", "exchanged", "dissolved", "dealt_anew")
        return {
            "rounds": count,
            "stopped": stopped,
            **dict(zip(kinds, done.tolist(), strict=True)),
        }

    def _layout(self) -> Groups:
        """Groups numbered zone by zone, with room for as many as a zone could be dealt into."""
        work, k = self.work, self.limits.k
        _, labels = np.unique(work.ids, return_inverse=True)
        sizes = np.bincount(labels)
        first = np.full(sizes.size, labels.size, dtype=np.int64)
        np.minimum.at(first, labels, np.arange(labels.size))
        place = np.empty(sizes.size, dtype=np.int64)
        place[np.argsort(_rank(work.codes[first], self.rng), kind="stable")] = np.arange(sizes.size)
        zones = max(1, sizes.size // _ZONE, min(_CORES, sizes.size // _LEAST))
        zone = place * zones // sizes.size
        counts = np.bincount(zone, minlength=zones)
        records = np.bincount(zone, sizes, minlength=zones).astype(np.int64)
        room = counts + records // k + 1
        self.group_at = np.concatenate([[0], np.cumsum(room)])
        # Places run through the zones one after the other, so a place within its zone is a number within it.
        number = place - (np.cumsum(counts) - counts)[zone] + self.group_at[zone]
        self.zone = np.repeat(np.arange(zones), room).astype(np.int32)
        shown = self.target.exposure(int(room.sum()))
        return make_groups(self.prices, self.codes, number[labels].astype(np.int32), shown)

    def _spreads(self, groups: Groups) -> np.ndarray:
        """Each quasi-identifier's mean price without its weight."""
        quasi = len(self.target.quasi)
        ticks = (groups.size.astype(np.int64)[:, None] * groups.now[:, :quasi]).sum(axis=0)
        return np.asarray(ticks / np.maximum(self.prices.unit[:quasi] * self.problem.domain.n, 1.0))

    def _loss(self, groups: Groups) -> float:
        """Mean price of a record, under the weights of the moment; a spread that counts in favour as what it lacks."""
        lacking = -float(self.prices.unit[self.prices.unit < 0].sum())
        return (int((groups.size * groups.cost).sum()) / self.work.ids.size + lacking) / self.prices.one

    def _round(self, groups: Groups) -> np.ndarray:
        """Every zone once, as many at a time as there are cores; what was done of each kind."""
        work = self.work
        zones = self.group_at.size - 1
        rows = self.rng.permutation(work.ids.size)
        row_zone = self.zone[groups.ids[rows]]
        rows = rows[np.argsort(row_zone, kind="stable")]
        row_at = np.concatenate([[0], np.cumsum(np.bincount(row_zone, minlength=zones))])
        which = [self.rng.permutation(np.arange(*self.group_at[z : z + 2])) for z in range(zones)]
        seeds = self.rng.integers(0, 1 << 63, zones).astype(np.uint64)
        touched = np.zeros(work.ids.size, dtype=np.uint8)
        scene = Scene(self.codes, work.near, work.order, self.zone, work.quiet, work.calm, touched)
        done = np.zeros((zones, 4), dtype=np.int64)

        def zone(z: int) -> None:
            state = (groups, self.prices, scene, self.judged, self.limits, done[z])
            improve(rows[row_at[z] : row_at[z + 1]], z, *state)
            dissolve(which[z], z, *state)
            regroup(which[z], z, *state, seeds[z])

        share(zones, zone)
        wake(work.near, touched, work.quiet, work.calm)
        return done.sum(axis=0)


def _rank(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Place of some rows in an order that begins with a random column."""
    order = _sorted_rows(codes, rng.permutation(codes.shape[1]))
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    return rank


# ----------------------------------------
# What a recoding would come to: its figure after failing classes are suppressed.


def held(problem: Problem, recoding: Recoding) -> Released:
    """What a recoding releases once failing classes are suppressed."""
    judge = problem.judge
    released = apply_recoding(problem.rows, recoding)
    stats = problem.rows.stats(released.classmap, judge.attributes)
    good = settled(judge, dataclasses.replace(stats, spreads=released.spreads), released.classmap, problem.rows)
    return dataclasses.replace(released.suppress(~good), k=judge.k)


def outcome(problem: Problem, recoding: Recoding, measure: str, allowed: int) -> float:
    """The measure's figure, less being better; infinite when more than ``allowed`` rows would be suppressed."""
    released = held(problem, recoding)
    if released.n_classes == 0 or released.n_suppressed > allowed:
        return math.inf
    score = load("measure", measure)().score(released.price_stats())
    if score.value is None:
        return math.inf
    return -score.value if score.better == "up" else score.value
