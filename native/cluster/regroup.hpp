// Dealing a small pool of records into groups of k: a seed, then always the record that costs least.
#pragma once
#include "cluster/groups.hpp"
#include "price/many.hpp"

namespace shoal {

// More than any price of a pool.
constexpr i64 NO_PRICE = std::numeric_limits<i64>::max();

// Fill in the permutation of 0, 1, ... that the seed decides (SplitMix64).
inline void shuffle(Span<i64> out, u64 seed) {
    for (i64 i = 0; i < out.size; ++i) out[i] = i;
    for (i64 i = out.size - 1; i > 0; --i) {
        seed += 0x9E3779B97F4A7C15u;
        u64 x = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        x ^= x >> 31;
        std::swap(out[i], out[i64((x >> 11) % u64(i + 1))]);
    }
}

// Ticks that a record costs at least: below 0 where the spread of a column counts in favour.
inline i64 lowest_cost(const Prices& p) {
    i64 total = 0;
    for (i64 a = 0; a < p.columns(); ++a) total += smaller(i64(0), whole_of(p, a));
    return total;
}

// Deals the records of a pool into groups 0, 1, ...
class Dealer {
public:
    Dealer(const Prices& p, const Exposure& e, const GroupCodes& codes, Span<const i64> pool, i64 k, Span<i64> labels)
        : p_(p), e_(e), codes_(codes), pool_(pool), labels_(labels), k_(k), count_(pool.size / k), floor_(lowest_cost(p)),
          cells_(p, count_), now_(count_, codes.rows, 0), cost_(count_, 0), size_(count_, 0), out_(codes.rows),
          rest_(pool.size), same_(pool.size), local_(codes.rows, pool.size), shares_(codes.rows, pool.size),
          value_(pool.size), ticks_(pool.size), known_codes_(pool.size), stale_(codes.rows),
          near_(count_, e.columns(), 0), known_(count_, e.columns(), 0), adds_(pool.size, e.columns(), 0) {
        for (i64 i = 0; i < same_.size; ++i) same_[i] = i;
    }

    // Label all records; return the ticks of all above the lowest possible ones.
    //
    // Seeds come in the order of `turn`; records left over join the group that they raise least. Gives up, and returns
    // NO_PRICE, as soon as `most` is reached.
    i64 deal(Span<const i64> turn, i64 most) {
        labels_.fill(-1);
        i64 left = pool_.size, total = 0, at = 0;
        for (i64 g = 0; left >= k_; ++g) {
            while (labels_[turn[at]] >= 0) ++at;
            grow(g, turn[at]);
            left -= k_;
            total += k_ * (cost_[g] - floor_);
            if (total >= most) return NO_PRICE;
        }
        return total - left * floor_ + deal_rest();
    }

private:
    // Grow a group of k records from a seed.
    void grow(i64 g, i64 seed) {
        labels_[seed] = g;
        list_rest();
        take(g, seed);
        if (e_.columns()) {
            adds_.values.fill(0);
            meet(g, seed);
        }
        for (i64 i = 1; i < k_; ++i) {
            const i64 best = cheapest(g), at = rest_[best];
            labels_[at] = g;
            // A record that costs no more than the group leaves its cells as they are; not so where values may be unknown,
            // and a first known one costs nothing.
            if (value_[best] != cost_[g] || floor_ < 0) take(g, at);
            if (e_.columns()) meet(g, at);
        }
        cost_[g] += exposed_with(g, -1, {});
        size_[g] = k_;
    }

    // List the records without a label, for a group that has no cells yet.
    void list_rest() {
        left_ = 0;
        for (i64 i = 0; i < pool_.size; ++i) {
            if (labels_[i] >= 0) continue;
            for (i64 a = 0; a < codes_.rows; ++a) {
                local_(a, left_) = codes_(a, pool_[i]);
                shares_(a, left_) = 0;
            }
            value_[left_] = 0;
            rest_[left_++] = i;
        }
        stale_.fill(1);
    }

    // Put a record of the pool into a group's cells and price those that change.
    void take(i64 g, i64 at) {
        for (i64 a = 0; a < codes_.rows; ++a) {
            const i64 code = codes_(a, pool_[at]);
            if (code < 0 || !extend(p_, cells_, g, a, code)) continue;
            const i64 ticks = own_cell(p_, cells_, g, a);
            cost_[g] += ticks - now_(g, a);
            now_(g, a) = ticks;
            stale_[a] = 1;
        }
    }

    // Update the ticks of a group's cells with each record left, in columns whose cell has changed.
    void reprice(i64 g) {
        for (i64 a = 0; a < stale_.size; ++a) {
            if (!stale_[a]) continue;
            stale_[a] = 0;
            const Span<const i32> codes = local_[a].slice(0, left_);
            const Span<i64> shares = shares_[a], ticks = ticks_;
            if (p_.pair_at[a] >= 0) {
                const i64 low = cells_.low(a, g), high = cells_.high(a, g), card = p_.card[a], now = now_(g, a);
                const Span<const i64> pair = p_.pair.slice(p_.pair_at[a], p_.pair_at[a] + card * card);
                for (i64 i = 0; i < left_; ++i) {
                    const i64 code = codes[i];
                    ticks[i] = code >= 0 ? pair[smaller(low, code) * card + larger(high, code)] : now;
                }
            } else {
                column_with(p_, cells_, g, a, codes, Span<const i64>(same_.slice(0, left_)), known_codes_.span(), ticks);
            }
            for (i64 i = 0; i < left_; ++i) {
                value_[i] += ticks[i] - shares[i];
                shares[i] = ticks[i];
            }
        }
    }

    // Ticks of a group's range diversity with one more record (-1: none), whose steps with its members are `adds`.
    i64 exposed_with(i64 g, i64 row, Span<const i64> adds) const {
        i64 ticks = 0;
        for (i64 a = 0; a < e_.columns(); ++a) {
            if (row >= 0 && e_.code(row, a) >= 0)
                ticks += diversity(e_.unit[a], e_.full, near_(g, a) + e_.full + adds[a], known_(g, a) + 1);
            else ticks += diversity(e_.unit[a], e_.full, near_(g, a), known_(g, a));
        }
        return ticks;
    }

    // Count a record of the pool in a group that grows, and the steps that all others have with it.
    void meet(i64 g, i64 at) {
        const i64 row = pool_[at];
        for (i64 a = 0; a < e_.columns(); ++a) {
            const i64 x = e_.code(row, a);
            if (x < 0) continue;
            near_(g, a) += e_.full + adds_(at, a);
            known_(g, a) += 1;
            for (i64 i = 0; i < pool_.size; ++i)
                if (labels_[i] < 0 && e_.code(pool_[i], a) >= 0) adds_(i, a) += e_.steps_of(a, x, e_.code(pool_[i], a));
        }
    }

    // The record without a label with which a group costs least, by its index in `rest_`.
    i64 cheapest(i64 g) {
        reprice(g);
        i64 best = -1, least = 0;
        for (i64 i = 0; i < left_; ++i) {
            if (labels_[rest_[i]] >= 0) continue;
            i64 price = value_[i];
            if (e_.columns()) price += exposed_with(g, pool_[rest_[i]], adds_[rest_[i]]);
            if (best < 0 || price < least) best = i, least = price;
        }
        return best;
    }

    // Put records without a group into the one that they raise least; return by how many ticks all rise.
    i64 deal_rest() {
        i64 total = 0;
        for (i64 i = 0; i < pool_.size; ++i) {
            if (labels_[i] >= 0) continue;
            i64 best = -1, least = 0, then = 0;
            for (i64 g = 0; g < count_; ++g) {
                i64 raised = cost_with(p_, cells_, g, codes_, pool_[i], now_[g], out_);
                if (e_.columns()) {
                    count_steps(i, g);
                    raised += exposed_with(g, pool_[i], adds_[i]);
                }
                const i64 rise = (size_[g] + 1) * raised - size_[g] * cost_[g];
                if (best < 0 || rise < least) best = g, least = rise, then = raised;
            }
            count_steps(i, best);
            for (i64 a = 0; a < e_.columns(); ++a) {
                if (e_.code(pool_[i], a) < 0) continue;
                near_(best, a) += e_.full + adds_(i, a);
                known_(best, a) += 1;
            }
            labels_[i] = best;
            take(best, i);
            cost_[best] = then;
            ++size_[best];
            total += least;
        }
        return total;
    }

    // Count the steps that a record of the pool has with the members of a group, in `adds_`.
    void count_steps(i64 at, i64 g) {
        for (i64 a = 0; a < e_.columns(); ++a) {
            const i64 x = e_.code(pool_[at], a);
            adds_(at, a) = 0;
            for (i64 i = 0; i < pool_.size && x >= 0; ++i)
                if (labels_[i] == g && e_.code(pool_[i], a) >= 0) adds_(at, a) += e_.steps_of(a, x, e_.code(pool_[i], a));
        }
    }

    const Prices& p_;
    const Exposure& e_;
    const GroupCodes& codes_;
    Span<const i64> pool_;
    Span<i64> labels_;
    i64 k_, count_, floor_;
    // Of each group: cells, their ticks, those of a record, and its records.
    RecordExtents cells_;
    Grid<i64> now_;
    Array<i64> cost_, size_;
    Array<i64> out_;  // ticks of cells
    // Records without a label when the open group began: places in the pool, codes by column, ticks of each cell of the group
    // with each, and their sums. `stale_` flags columns that are out of date; the others are buffers.
    i64 left_ = 0;
    Array<i64> rest_, same_;
    Grid<i32> local_;
    Grid<i64> shares_;
    Array<i64> value_, ticks_;
    Array<i32> known_codes_;
    Array<u8> stale_;
    // Of each group and sensitive column: steps of all ordered pairs, and known values; by record, its steps with a group.
    Grid<i64> near_, known_, adds_;
};

}  // namespace shoal
