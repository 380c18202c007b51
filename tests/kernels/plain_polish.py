"""Polish in plain Python: groups are lists of records, and every price is computed anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from shoal.kernels.cluster.polish import Limits

EPSILON, PATIENCE = 1 << 8, 3
WORD = (1 << 64) - 1
FAR = (1 << 63) - 1
Ticks = Callable[[Sequence[int]], int]


def shuffled(n: int, seed: int) -> list[int]:
    """Permute 0, 1, ... as Fisher and Yates do, with numbers of SplitMix64."""
    out = list(range(n))
    for i in range(n - 1, 0, -1):
        seed = (seed + 0x9E3779B97F4A7C15) & WORD
        x = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
        j = ((x ^ (x >> 31)) >> 11) % (i + 1)
        out[i], out[j] = out[j], out[i]
    return out


class Price(NamedTuple):
    """What a record of a group costs: its cells, what the group tells of sensitive values, and the least of cells.

    ``falls``: a group may get cheaper by one more record.
    """

    cells: Ticks
    shown: Ticks = lambda rows: 0
    floor: int = 0
    falls: bool = False

    def __call__(self, rows: Sequence[int]) -> int:
        return self.cells(rows) + self.shown(rows)

    def whole(self, rows: Sequence[int]) -> int:
        """Price all records of a group."""
        return len(rows) * self(rows) if rows else 0


def deal(pool: Sequence[int], turn: Sequence[int], k: int, price: Price, most: int = FAR) -> tuple[int, list[int]]:
    """Grow groups of k records from seeds, then add the rest; return the price of all, and the group of each.

    The price is that above the least one. Give up, with the price FAR, as soon as groups of k cost `most`. A record
    whose cells cost a group no more than before does not change them, unless values count in favour: only where two
    levels cost the same, later prices may differ.
    """
    labels = [-1] * len(pool)
    groups: list[list[int]] = []
    cells: list[list[int]] = []

    def free() -> list[int]:
        return [i for i, label in enumerate(labels) if label < 0]

    def joined(g: int, row: int) -> int:
        return price.cells([*cells[g], row]) + price.shown([*groups[g], row])

    for g in range(len(pool) // k):
        chosen = next(i for i in turn if labels[i] < 0)
        labels[chosen] = g
        groups.append([pool[chosen]])
        cells.append([pool[chosen]])
        for _ in range(k - 1):
            chosen = min(free(), key=lambda i, g=g: joined(g, pool[i]))
            labels[chosen] = g
            if price.floor < 0 or price.cells([*cells[g], pool[chosen]]) != price.cells(cells[g]):
                cells[g].append(pool[chosen])
            groups[g].append(pool[chosen])
        costs = [price.cells(cells[h]) + price.shown(groups[h]) for h in range(g + 1)]
        if k * sum(cost - price.floor for cost in costs) >= most:
            return FAR, labels
    sizes = [k] * len(groups)
    for i in free():
        then = [joined(g, pool[i]) for g in range(len(groups))]
        rises = [(size + 1) * more - size * cost for more, size, cost in zip(then, sizes, costs, strict=True)]
        g = labels[i] = rises.index(min(rises))
        groups[g].append(pool[i])
        cells[g].append(pool[i])
        costs[g] = then[g]
        sizes[g] += 1
    return sum(size * (cost - price.floor) for size, cost in zip(sizes, costs, strict=True)), labels


class PlainPolish:
    """One zone of groups; records that came last into a group are listed first, and the first of equals is chosen.

    Where no price falls when a group grows, a record that its group has no loss from is not exchanged, and a group is
    kept as soon as its first records cost more elsewhere than all of them here.
    """

    def __init__(
        self, groups: list[list[int]], price: Price, allowed: Callable[[Sequence[int]], bool], near: list[list[int]],
        zone: Sequence[int], limits: Limits,
    ) -> None:  # fmt: skip
        self.groups, self.price, self.allowed, self.near, self.zone, self.limits = (
            groups, price, allowed, near, zone, limits,
        )  # fmt: skip
        n = sum(map(len, groups))
        self.quiet, self.calm, self.touched, self.done = [0] * n, [0] * n, [0] * n, [0] * 4

    def home(self, r: int) -> int:
        return next(g for g, mine in enumerate(self.groups) if r in mine)

    def whole(self, rows: Sequence[int]) -> int:
        return self.price.whole(rows)

    def is_cheapest(self, g: int) -> bool:
        return self.price(self.groups[g]) <= self.price.floor + EPSILON

    def candidates(self, r: int, z: int) -> tuple[list[int], bool]:
        """List the other groups of a zone among a record's neighbours, and whether some lie in other zones."""
        others = [g for g in dict.fromkeys(self.home(j) for j in self.near[r] if j >= 0) if g != self.home(r)]
        mine = [g for g in others if self.zone[g] == z]
        return mine, len(mine) < len(others)

    def improve(self, records: Sequence[int], z: int) -> None:
        for r in records:
            g = self.home(r)
            if self.quiet[r] or self.is_cheapest(g) or len(self.groups[g]) > self.limits.largest:
                continue
            near, cut = self.candidates(r, z)
            h, partner = self.best_place(r, near)
            moved, homes = ([r], [h]) if partner < 0 else ([r, partner], [h, g])
            if h >= 0 and self.relocate(moved, homes):
                self.done[len(moved) - 1] += 1
            else:
                self.quiet[r] = int(not cut)

    def best_place(self, r: int, near: Sequence[int]) -> tuple[int, int]:
        """Find the group to join and the member to come in exchange, -1 for none, that lower the price most."""
        g = self.home(r)
        mine = self.groups[g]
        rest = [i for i in mine if i != r]
        least, best = -EPSILON, (-1, -1)
        for h in near:
            other = self.groups[h]
            if len(other) >= self.limits.largest:
                continue
            before = self.whole(mine) + self.whole(other)
            options = []
            if len(mine) > self.limits.k:
                options.append((self.whole(rest) + self.whole([*other, r]) - before, -1))
            if self.price.falls or self.price(rest) < self.price(mine) - EPSILON:
                for s in other:
                    swapped = [i for i in other if i != s]
                    options.append((self.whole([*rest, s]) + self.whole([*swapped, r]) - before, s))
            for change, partner in options:
                if change < least:
                    least, best = change, (h, partner)
        return best

    def dissolve(self, which: Sequence[int], z: int) -> None:
        for g in which:
            mine = list(self.groups[g])
            if not 0 < len(mine) <= 2 * self.limits.k or self.is_cheapest(g):
                continue
            found = [self.cheapest_home(r, z) for r in mine]
            homes = [h for _, h in found]
            spent = list(accumulate(rise for rise, _ in found))
            most = spent[-1] if self.price.falls else max(spent)
            if -1 not in homes and most < self.whole(mine) - EPSILON:
                self.done[2] += self.relocate(mine, homes)

    def cheapest_home(self, r: int, z: int) -> tuple[int, int]:
        """Find the group that one more record raises least, and by how much; group -1 where there is none."""
        near = [h for h in self.candidates(r, z)[0] if len(self.groups[h]) < self.limits.largest]
        rises = [(self.whole([*self.groups[h], r]) - self.whole(self.groups[h]), h) for h in near]
        return min(rises, key=lambda one: one[0], default=(0, -1))

    def regroup(self, which: Sequence[int], z: int, seed: int) -> None:
        limits, spare = self.limits, 0
        for t, g in enumerate(which):
            own = self.groups[g]
            if not own or len(own) > limits.pool // 2 or self.is_cheapest(g) or self.calm[own[0]] >= PATIENCE:
                continue
            around = self.gather(g, z)
            pool = [r for h in around for r in self.groups[h]]
            numbers = list(around)
            while len(numbers) < len(pool) // limits.k:
                while self.groups[which[spare]] or which[spare] in numbers:
                    spare = (spare + 1) % len(which)
                numbers.append(which[spare])
            before = sum(self.whole(self.groups[h]) for h in around)
            least, homes = before - len(pool) * self.price.floor - EPSILON, None
            for attempt in range(limits.tries if len(around) > 1 and len(pool) >= limits.k else 0):
                turn = shuffled(len(pool), seed + t * limits.tries + attempt)
                price, labels = deal(pool, turn, limits.k, self.price, least)
                if price < least:
                    least, homes = price, [numbers[label] for label in labels]
            if homes is not None and self.relocate(pool, homes):
                self.done[3] += 1
            else:
                for r in self.groups[g]:
                    self.calm[r] += 1

    def gather(self, g: int, z: int) -> list[int]:
        """List a group and those of its members' neighbours, nearest first, as long as the pool has room."""
        around, own = [g], self.groups[g]
        for c in range(len(self.near[0])):
            for r in own:
                if self.near[r][c] < 0:
                    continue
                h = self.home(self.near[r][c])
                room = self.limits.pool - sum(len(self.groups[other]) for other in around)
                if h not in around and self.zone[h] == z and len(self.groups[h]) <= room:
                    around.append(h)
        return around

    def relocate(self, moved: Sequence[int], homes: Sequence[int]) -> bool:
        """Put records in new homes unless the price does not fall or a rule breaks."""
        old = [self.home(r) for r in moved]
        affected = {*old, *homes}
        before = sum(self.whole(self.groups[g]) for g in affected)
        self.move(moved, homes)
        after = sum(self.whole(self.groups[g]) for g in affected)
        good = after < before - EPSILON and all(self.allowed(self.groups[g]) for g in affected if self.groups[g])
        if not good:
            self.move(moved, old)
        else:
            for g in affected:
                for r in self.groups[g]:
                    self.touched[r] = 1
        return good

    def move(self, moved: Sequence[int], homes: Sequence[int]) -> None:
        for r in moved:
            self.groups[self.home(r)].remove(r)
        for r, g in zip(moved, homes, strict=True):
            self.groups[g].insert(0, r)
