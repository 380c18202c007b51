// K-Members: grow one cluster after another, always by the record that costs least (Byun et al. 2007).
//
// Equal records share one entry of the pool. Every entry carries its running cost; when the cluster's cell changes in a
// column, the price of every value is computed once and only that column's part of the costs moves. Costs are whole
// ticks, so that a running cost is exactly the one from scratch. A step is then a few passes over the pool.
#include <stdexcept>

#include "cluster/leftovers.hpp"
#include "shared/bind.hpp"

namespace shoal {
namespace {

constexpr i64 USED_UP = i64(1) << 61;

// See `Plan` in shoal.kernels.cluster.members for the fields.
struct Plan {
    Span<const i64> rows, entry_at, part_at;
    Table<const i32> codes, local;
    Span<const i32> values;
    Table<const i64> value_at;

    // The codes that a part has in a column.
    Span<const i32> values_of(i64 part, i64 a) const { return values.slice(value_at(part, a), value_at(part, a + 1)); }

    using Ints = Span<const i64>;
    using Fields =
        std::tuple<Ints, Ints, Ints, Table<const i32>, Table<const i32>, Span<const i32>, Table<const i64>>;
    static constexpr const char* names = "rows, entry_at, part_at, codes, local, values, value_at";

    // What the entries of one part need.
    void check(const char* kernel, i64 columns, i64 part) const {
        const i64 entries = codes.columns;
        require_size(kernel, "plan.codes", codes.rows, columns);
        require_room(kernel, "plan.part_at", part_at.size, 1);
        require_shape(kernel, "plan.local", local, columns, entries);
        require_size(kernel, "plan.entry_at", entry_at.size, entries + 1);
        require_shape(kernel, "plan.value_at", value_at, part_at.size - 1, columns + 1);
        require_number(kernel, "part", part, 0, part_at.size - 2);
        require_starts(kernel, "plan.part_at", part_at.slice(part, part + 2), entries);
        require_starts(kernel, "plan.entry_at", entry_at.slice(part_at[part], part_at[part + 1] + 1), rows.size);
        require_starts(kernel, "plan.value_at", value_at[part], values.size);
    }
};

// Add to every entry's cost the difference of its value.
SHOAL_CLONES void shift(Span<i64> cost, Span<const i32> local, Span<const i64> delta, i64 live) {
    for (i64 e = 0; e < live; ++e) cost[e] += delta[local[e]];
}

SHOAL_CLONES i64 least_of(Span<const i64> cost, i64 live) {
    i64 best = cost[0];
    for (i64 e = 1; e < live; ++e) best = smaller(best, cost[e]);
    return best;
}

// Clusters one part. Entries that have records left are live; they fill the first `live_` places.
class Part {
public:
    Part(const Prices& p, const Guide& guide, const Plan& plan, i64 part, i64 k, Span<i32> ids)
        : p_(p), guide_(guide), plan_(plan), part_(part), k_(k), ids_(ids), start_(plan.part_at[part]),
          live_(plan.part_at[part + 1] - start_), rows_(plan.entry_at[start_ + live_] - plan.entry_at[start_]),
          cl_(p, rows_ / k, k, rows_ % k), entry_(live_), next_(live_), local_(plan.local.rows, live_), cost_(2, live_),
          table_(values()), add_(values()), delta_(values()), close_(values()), tied_(live_), gone_(k), one_(p, 1) {
        for (i64 e = 0; e < live_; ++e) {
            entry_[e] = start_ + e;
            next_[e] = plan.entry_at[start_ + e];
            for (i64 a = 0; a < local_.rows; ++a) local_(a, e) = plan.local(a, start_ + e);
        }
        for (i64 role : guide.role) two_ = two_ || role == ROLE_TIE;
    }

    // Cluster all records; return the number of leftovers.
    i64 cluster(bool furthest) {
        const i64 left = rows_ % k_;
        if (rows_ < k_) throw std::invalid_argument("A part has fewer records than a cluster needs.");
        // The order of the records is random, so the first of them is a random one.
        i64 last = entry_[first_of_all()];
        for (i64 c = 0; c < cl_.count(); ++c) {
            tied_[0] = furthest ? furthest_from(last) : first_of_all();
            grow(c);
            last = cl_.members(c, k_ - 1);
            for (i64 a = 0; a < guide_.role.size; ++a) cl_.now(a, c) = own_cell(p_, cl_.cells, c, a);
        }
        Array<i64> sizes(cl_.count(), k_), grown(cl_.count());
        for (i64 i = 0; i < left; ++i) {
            const i64 e = first_of_all();
            ids_[plan_.rows[next_[e]]] = i32(place(sizes, grown, entry_[e], i));
            ++next_[e];
            gone_[0] = e;
            drop(is_used_up(e));
        }
        return left;
    }

private:
    // Number of values of all columns of the part, and where those of a column begin.
    i64 values() const { return plan_.value_at(part_, guide_.role.size) - plan_.value_at(part_, 0); }
    i64 table_at(i64 a) const { return plan_.value_at(part_, a) - plan_.value_at(part_, 0); }

    // Range diversity with each value in the cluster as well, in `delta_`.
    void price_pairs(i64 a, Span<const i32> values, i64 near, i64 people) {
        const i64 whole = whole_of(p_, a);
        const Span<const i64> add = add_.from(table_at(a));
        for (i64 v = 0; v < values.size; ++v)
            delta_[v] = guide_.is_known(a, values[v]) ? mean_closeness(near + whole + add[v], people + 1)
                                                      : mean_closeness(near, people);
    }

    // Put the price of every value of a column in its table and the difference to before in `delta_`; true if there is any.
    bool reprice(i64 c, i64 a) {
        const Span<const i32> values = plan_.values_of(part_, a);
        const Span<i64> table = table_.from(table_at(a));
        if (guide_.role[a] == ROLE_PAIRS) {
            price_pairs(a, values, cl_.near(a, c), cl_.people(a, c));
        } else {
            cells_with(p_, cl_.cells, c, a, values, delta_.span());
            const i64 now = own_cell(p_, cl_.cells, c, a);
            for (i64 v = 0; v < values.size; ++v) {
                if (!guide_.is_known(a, values[v])) delta_[v] = now;
                if (guide_.role[a] == ROLE_SPREAD) delta_[v] = -delta_[v];
            }
        }
        bool changed = false;
        for (i64 v = 0; v < values.size; ++v) {
            const i64 value = delta_[v];
            delta_[v] -= table[v];
            table[v] = value;
            changed |= delta_[v] != 0;
        }
        return changed;
    }

    // Count a sensitive value's closeness to the cluster, and every other value's closeness to it.
    void meet(i64 c, i64 a, i64 entry) {
        const Span<const i32> values = plan_.values_of(part_, a);
        const Span<i64> add = add_.from(table_at(a));
        cl_.near(a, c) += whole_of(p_, a) + add[plan_.local(a, entry)];
        cl_.people(a, c) += 1;
        pair_closeness(p_, guide_, one_, a, plan_.codes(a, entry), values, close_);
        for (i64 v = 0; v < values.size; ++v) add[v] += close_[v];
    }

    // Put a record into the open cluster; return whether the cost of any other changed.
    bool join(i64 c, i64 entry) {
        bool changed = false;
        for (i64 a = 0; a < guide_.role.size; ++a) {
            const i64 code = plan_.codes(a, entry);
            // A first record of unknown value still has to price what the others would add.
            bool touched = guide_.role[a] == ROLE_PAIRS;
            if (guide_.is_known(a, code)) {
                if (touched) meet(c, a, entry);
                touched |= extend(p_, cl_.cells, c, a, code);
            }
            if (touched && reprice(c, a)) {
                changed = true;
                shift(cost_[guide_.role[a] == ROLE_TIE ? 1 : 0], local_[a], delta_, live_);
            }
        }
        return changed;
    }

    // List the entries of least cost in `tied_`; return their number.
    i64 tie(bool two) {
        const Span<const i64> decides = cost_[0], breaks = cost_[1];
        i64 best = least_of(decides, live_), count = 0;
        for (i64 e = 0; e < live_; ++e)
            if (decides[e] == best) tied_[count++] = e;
        if (!two || count < 2) return count;
        best = breaks[tied_[0]];
        for (i64 i = 0; i < count; ++i) best = smaller(best, breaks[tied_[i]]);
        i64 kept = 0;
        for (i64 i = 0; i < count; ++i)
            if (breaks[tied_[i]] == best) tied_[kept++] = tied_[i];
        return kept;
    }

    i64 next_row(i64 e) const { return plan_.rows[next_[e]]; }

    // The index in `tied_` of the entry with the first record.
    i64 first_of_tied(i64 count) const {
        i64 best = 0;
        for (i64 i = 1; i < count; ++i)
            if (next_row(tied_[i]) < next_row(tied_[best])) best = i;
        return best;
    }

    // The live entry with the first record.
    i64 first_of_all() const {
        i64 best = 0;
        for (i64 e = 1; e < live_; ++e)
            if (next_row(e) < next_row(best)) best = e;
        return best;
    }

    // The live entry furthest from a record by the columns that decide.
    i64 furthest_from(i64 last) {
        for (i64 e = 0; e < live_; ++e) cost_(0, e) = 0;
        for (i64 a = 0; a < guide_.role.size; ++a) {
            if (guide_.role[a] == ROLE_TIE) continue;
            const Span<const i32> values = plan_.values_of(part_, a);
            distances(p_, guide_, one_, a, plan_.codes(a, last), values, delta_);
            for (i64 v = 0; v < values.size; ++v) delta_[v] = -delta_[v];
            shift(cost_[0], local_[a], delta_, live_);
        }
        return tied_[first_of_tied(tie(false))];
    }

    bool is_used_up(i64 e) const { return next_[e] == plan_.entry_at[entry_[e] + 1]; }

    // Fill the places of used-up entries from the end; order does not matter, because ties look at rows.
    void drop(i64 used) {
        for (i64 i = 0; i <= used; ++i) {
            while (live_ > 0 && is_used_up(live_ - 1)) --live_;
            if (i == used || gone_[i] >= live_) continue;
            const i64 e = gone_[i];
            --live_;
            entry_[e] = entry_[live_];
            next_[e] = next_[live_];
            for (i64 a = 0; a < local_.rows; ++a) local_(a, e) = local_(a, live_);
        }
    }

    // Grow one cluster from the first entry in `tied_`.
    void grow(i64 c) {
        // To an empty cluster every record costs nothing.
        for (i64 e = 0; e < live_; ++e) cost_(0, e) = cost_(1, e) = 0;
        table_.fill(0);
        add_.fill(0);
        i64 used = 0, count = 1;
        for (i64 size = 0; size < k_; ++size) {
            const i64 pick = first_of_tied(count), e = tied_[pick];
            cl_.members(c, size) = entry_[e];
            ids_[next_row(e)] = i32(c);
            ++next_[e];
            if (is_used_up(e)) {
                gone_[used++] = e;
                tied_[pick] = tied_[--count];
            }
            const bool changed = join(c, entry_[e]);
            for (i64 i = 0; i < used; ++i) cost_(0, gone_[i]) = USED_UP;
            // As long as nothing changed, whatever tied still ties.
            if (size + 1 < k_ && (changed || count == 0 || size == 0)) count = tie(two_);
        }
        drop(used);
    }

    // Put a leftover into the cluster that it raises least, and return that.
    i64 place(Span<i64> sizes, Span<i64> grown, i64 entry, i64 placed) {
        cl_.raised.values.fill(0);
        i64 best = 0;
        for (i64 step = 0; step < 2; ++step) {
            best = least_raised(cl_);
            for (i64 a = 0; a < guide_.role.size; ++a) {
                const i64 code = plan_.codes(a, entry);
                const bool pairs = guide_.role[a] == ROLE_PAIRS;
                if (!guide_.is_known(a, code)) continue;
                if (pairs) pair_closeness(p_, guide_, one_, a, code, plan_.values_of(part_, a), close_);
                if (step == 1) admit_value(p_, guide_, cl_, best, placed, a, code, plan_.local[a], close_);
                else if (pairs) raise_pairs(p_, cl_, placed, a, plan_.local[a], close_);
                else raise_column(p_, guide_, cl_, sizes, a, code, grown);
            }
        }
        cl_.late(placed, 0) = best;
        cl_.late(placed, 1) = entry;
        ++sizes[best];
        return best;
    }

    const Prices& p_;
    const Guide& guide_;
    const Plan& plan_;
    i64 part_, k_;
    Span<i32> ids_;
    i64 start_, live_, rows_;
    bool two_ = false;  // whether some columns break ties
    MemberClusters cl_;
    // Of each live entry: its number, its next row, its values' numbers (columns, entries), and its costs (2, entries), those
    // that decide and those that break ties.
    Array<i64> entry_, next_;
    Grid<i32> local_;
    Grid<i64> cost_;
    // By value of each column: its present share of the costs, and its closeness to the cluster's values; by value of one
    // column: the change of its share, and a buffer.
    Array<i64> table_, add_, delta_, close_;
    Array<i64> tied_, gone_;  // entries of the same least cost; used-up entries
    Extents one_;             // buffer for the cell of one value
};

i64 cluster_members(const Prices& p, const Guide& guide, const Plan& plan, i64 part, i64 k, bool furthest, Span<i32> ids) {
    require_size("cluster_members", "ids", ids.size, plan.rows.size);
    guide.check("cluster_members", p.columns());
    plan.check("cluster_members", p.columns(), part);
    require_number("cluster_members", "k", k, 1, NO_LIMIT);
    return Part(p, guide, plan, part, k, ids).cluster(furthest);
}

}  // namespace

SHOAL_KERNELS { kernels.add("cluster_members", "prices, guide, plan, part, k, furthest, ids", &cluster_members); }

}  // namespace shoal
