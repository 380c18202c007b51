// Top-down local recoding of one part: bisect it, then fill groups that are too small from a large one or merge them,
// whichever costs less.
#include "cluster/bisect.hpp"
#include "shared/bind.hpp"

namespace shoal {
namespace {

// Entries of `repaired`, as in shoal.kernels.cluster.repair.
enum Repair : i64 { MERGED, FILLED, BISECTED };

// Make one list in order of two; return its first record.
i64 weave(Span<i64> link, i64 x, i64 y) {
    if (x < 0 || (0 <= y && y < x)) std::swap(x, y);
    const i64 head = x;
    while (y >= 0) {
        while (0 <= link[x] && link[x] < y) x = link[x];
        std::swap(link[x], y);
        x = link[x];
    }
    return head;
}

// Groups of a part, one slot each and one more as a buffer. A group's records are a list in order.
class RepairGroups {
public:
    RepairGroups(BisectPart& part, Span<i64> order, Span<i64> spare, Span<const u8> ends, i64 k)
        : part_(part), p_(part.p), order_(order), spare_(spare), k_(k), count_(count_groups(ends)), size_(count_ + 1, 0),
          head_(count_ + 1, -1), cost_(count_ + 1, 0), link_(order.size, -1), cells_(part.p, count_ + 1),
          marks_(order.size, 0), joint_(count_ + 1), picks_(k), trial_(k) {
        i64 g = 0;
        const i64 n = order.size;
        head_[0] = order[0];
        for (i64 i = 0; i < n; ++i) {
            if (i + 1 < n && !ends[i]) link_[order[i]] = order[i + 1];
            if (!ends[i]) continue;
            recount(g++);
            head_[g] = i + 1 < n ? order[i + 1] : -1;
        }
    }

    // The smallest group of fewer than k records, of equals the one with the first record; -1 when there is none.
    i64 smallest() const {
        i64 best = -1;
        for (i64 g = 0; g < count_; ++g)
            if (0 < size_[g] && size_[g] < k_
                && (best < 0 || size_[g] < size_[best] || (size_[g] == size_[best] && head_[g] < head_[best])))
                best = g;
        return best;
    }

    // Fill or merge one group; return the kind of repair, -1 when it is the only group.
    i64 mend(i64 g) {
        joint_costs(p_, cells_, g, 0, count_, joint_);
        const i64 h = nearest(g);
        if (h < 0) return -1;
        const i64 merging = (size_[g] + size_[h]) * joint_[h] - size_[h] * cost_[h];
        const auto [d, filled] = find_donor(g);
        if (d >= 0) {
            const i64 need = k_ - size_[g];
            if (k_ * filled + cost_without(d, need) - size_[d] * cost_[d] < merging) {
                fill(g, d);
                return FILLED;
            }
            for (i64 i = 0; i < need; ++i) marks_[picks_[i]] = 0;
        }
        merge(g, h);
        return size_[g] >= 2 * k_ && bisect_once(g, h) ? BISECTED : MERGED;
    }

    // Number the groups of all records; return how many there are.
    i64 number(Span<i32> ids) const {
        i32 count = 0;
        for (i64 g = 0; g < count_; ++g) {
            if (size_[g] == 0) continue;
            for (i64 i = head_[g]; i >= 0; i = link_[i]) ids[i] = count;
            ++count;
        }
        return count;
    }

private:
    struct Choice {
        i64 which, cost;
    };

    static i64 count_groups(Span<const u8> ends) {
        i64 count = 0;
        for (u8 end : ends) count += end;
        return count;
    }

    // Compute extent, size and cost of a slot from the records in its list that have no mark.
    void recount(i64 g) {
        clear(cells_, g);
        size_[g] = 0;
        for (i64 i = head_[g]; i >= 0; i = link_[i]) {
            if (marks_[i]) continue;
            extend_all(p_, cells_, g, part_.codes, i);
            ++size_[g];
        }
        cost_[g] = own_cost(p_, cells_, g);
    }

    // The group that costs least as a whole together with `g`; -1 when there is no other.
    i64 nearest(i64 g) const {
        i64 best = -1, least = 0;
        for (i64 h = 0; h < count_; ++h) {
            const i64 whole = (size_[g] + size_[h]) * joint_[h];
            if (h == g || size_[h] == 0) continue;
            if (best < 0 || whole < least || (whole == least && head_[h] < head_[best])) best = h, least = whole;
        }
        return best;
    }

    // The record of a group, not picked yet, that costs a side least, of equals the first; and the cost.
    Choice cheapest(i64 d, i64 side) const {
        Choice best{-1, 0};
        for (i64 i = head_[d]; i >= 0; i = link_[i]) {
            if (marks_[i]) continue;
            const i64 cost = part_.cost_of(side, i);
            if (best.which < 0 || cost < best.cost) best = {i, cost};
        }
        return best;
    }

    // Pick `need` records of group `d` one by one for the group on side 1, in `trial_`; return its cost then, -1 if above
    // `limit` (below 0: none).
    i64 pick(i64 d, i64 need, i64 limit) {
        i64 cost = cheapest(d, 1).cost;
        if (limit >= 0 && cost > limit) return -1;
        part_.copy_side();
        i64 found = 0;
        while (found < need) {
            const Choice one = cheapest(d, 0);
            cost = one.cost;
            if (limit >= 0 && cost > limit) break;
            trial_[found++] = one.which;
            marks_[one.which] = 1;
            part_.admit(0, one.which, false);
        }
        for (i64 i = 0; i < found; ++i) marks_[trial_[i]] = 0;
        return found == need ? cost : -1;
    }

    // The group that fills up `g` to k records at the least cost (-1: none has enough), and the cost; its records are left in
    // `picks_`.
    Choice find_donor(i64 g) {
        const i64 need = k_ - size_[g];
        Choice best{-1, -1};
        bool ready = false;
        for (i64 d = 0; d < count_; ++d) {
            if (size_[d] < k_ + need || d == g) continue;
            if (!ready) {
                part_.empty_side(1);
                for (i64 i = head_[g]; i >= 0; i = link_[i]) part_.admit(1, i, true);
                ready = true;
            }
            const i64 cost = pick(d, need, best.cost);
            if (cost >= 0 && (best.which < 0 || cost < best.cost || head_[d] < head_[best.which])) {
                best = {d, cost};
                picks_.slice(0, need).copy(trial_);
            }
        }
        return best;
    }

    // Mark the picked records, and return the cost of the others of the group as a whole.
    i64 cost_without(i64 d, i64 need) {
        for (i64 i = 0; i < need; ++i) marks_[picks_[i]] = 1;
        head_[count_] = head_[d];
        recount(count_);
        const i64 whole = size_[count_] * cost_[count_];
        size_[count_] = cost_[count_] = 0;
        return whole;
    }

    // Move the marked records of `d` into `g`.
    void fill(i64 g, i64 d) {
        i64 i = head_[d], kept = -1, moved = -1, first = -1;
        head_[d] = -1;
        while (i >= 0) {
            const i64 after = link_[i];
            const bool moves = marks_[i];
            i64& last = moves ? moved : kept;
            i64& begin = moves ? first : head_[d];
            link_[i] = -1;
            (last >= 0 ? link_[last] : begin) = i;
            last = i;
            marks_[i] = 0;
            i = after;
        }
        head_[g] = weave(link_, head_[g], first);
        recount(g);
        recount(d);
    }

    void merge(i64 g, i64 h) {
        head_[g] = weave(link_, head_[g], head_[h]);
        size_[g] += size_[h];
        size_[h] = 0;
        cost_[g] = joint_[h];
        join(cells_, g, h);
    }

    // Bisect a group of at least 2k into slots `g` and `h`, if both sides then have k records.
    bool bisect_once(i64 g, i64 h) {
        i64 size = 0;
        for (i64 i = head_[g]; i >= 0; i = link_[i]) order_[size++] = i;
        const i64 middle = part_.bisect(order_, spare_, 0, size);
        if (smaller(middle, size - middle) < k_) return false;
        for (i64 i = 0; i < size; ++i) link_[order_[i]] = i + 1 == middle || i + 1 == size ? -1 : order_[i + 1];
        head_[g] = order_[0];
        head_[h] = order_[middle];
        recount(g);
        recount(h);
        return true;
    }

    BisectPart& part_;
    const Prices& p_;
    Span<i64> order_, spare_;  // buffers by record
    i64 k_, count_;
    // Of each group: records (0: no group), its first record, and ticks of a record.
    Array<i64> size_, head_, cost_;
    Array<i64> link_;  // by record, the next one of its group, or -1
    Extents cells_;
    Array<u8> marks_;                   // by record, 1 if it is picked
    Array<i64> joint_, picks_, trial_;  // buffers
};

// Group the records of one part: fills ids and counts repairs; returns the number of groups.
i64 partition_part(
    const Prices& p, Table<const i32> codes, Table<const i32> local, Span<const i32> values, Span<const i64> value_at,
    Span<const u64> key, i64 k, Span<i32> ids, Span<i64> repaired
) {
    const i64 n = codes.columns;
    require_size("partition_part", "prices.kind", p.columns(), codes.rows);
    require_shape("partition_part", "local", local, codes.rows, n);
    require_size("partition_part", "value_at", value_at.size, codes.rows + 1);
    require_size("partition_part", "key", key.size, 3);
    require_size("partition_part", "ids", ids.size, n);
    require_size("partition_part", "repaired", repaired.size, 3);
    require_starts("partition_part", "value_at", value_at, values.size);
    require_number("partition_part", "k", k, 1, NO_LIMIT);
    if (n == 0) return 0;
    BisectPart part(p, codes, local, values, value_at, key);
    Array<i64> order(n), spare(n);
    Array<u8> ends(n, 0);
    for (i64 i = 0; i < n; ++i) order[i] = i;
    part.bisect_all(order, spare, k, ends);
    RepairGroups groups(part, order, spare, ends, k);
    for (i64 g = groups.smallest(); g >= 0; g = groups.smallest()) {
        const i64 kind = groups.mend(g);
        if (kind < 0) break;
        ++repaired[kind];
    }
    return groups.number(ids);
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("partition_part", "prices, codes, local, values, value_at, key, k, ids, repaired", &partition_part);
}

}  // namespace shoal
