// Clusters within hard limits on utility and protection (Loukides 2008, Algorithm 6), subspace by subspace.
#include "cluster/pools.hpp"
#include "judge/secrets.hpp"
#include "price/many.hpp"
#include "shared/bind.hpp"
#include "shared/heap.hpp"

namespace shoal {
namespace {

using secret::CROWD, secret::KNOWN, secret::LARGEST_SHARE, secret::LIMIT, secret::TOTAL;

// See `Limits`, `Guard`, `Task` and `Result` in shoal.kernels.cluster.upc for the fields.
struct ClusterLimits {
    double utility;
    i64 k, free, most;
    bool grows;
    double guide;

    // Whether the cells of a cluster lose too much.
    bool exceeds_utility(const Prices& p, Span<const i64> ticks) const { return mean_price(p, ticks) > utility + TOLERANCE; }

    using Fields = std::tuple<double, i64, i64, i64, bool, double>;
    static constexpr const char* names = "utility, k, free, most, grows, guide";
};

struct Guard {
    Table<i32> inside;
    Cube<double> state;
    Span<i32> last, before;

    using Fields = std::tuple<Table<i32>, Cube<double>, Span<i32>, Span<i32>>;
    static constexpr const char* names = "inside, state, last, before";
};

template <class Code>
struct Task {
    Pool<Code> pool;
    SecretsOf<Code> secrets;
    Span<const i64> starts;
    Prices prices;
    ClusterLimits limits;

    i64 parts() const { return starts.size - 1; }

    using Fields = std::tuple<Pool<Code>, SecretsOf<Code>, Span<const i64>, Prices, ClusterLimits>;
    static constexpr const char* names = "pool, secrets, starts, prices, limits";
};

struct Result {
    Found found;
    Made made;
    Guard guard;

    using Fields = std::tuple<Found, Made, Guard>;
    static constexpr const char* names = "found, made, guard";
};

// The number of rows and people of a cluster, and of places that are left in its subspace.
struct Growth {
    i64 rows, people, count;
};

// Grows the clusters of one subspace, one after another. Records of the subspace have places from 0 on.
template <class Code>
class Subspace {
public:
    Subspace(const Task<Code>& task, const Guard& guard, i64 lo, i64 hi)
        : p_(task.prices), pool_(task.pool), s_(task.secrets), limits_(task.limits), inside_(guard.inside), lo_(lo),
          columns_(s_.codes.columns), codes_(by_column(pool_.codes, lo, hi)), secret_(by_column(s_.codes, lo, hi)),
          rest_(hi - lo), members_(hi - lo), brings_(columns_, hi - lo), costs_(hi - lo), shares_(codes_.rows, hi - lo),
          stale_(codes_.rows), exposed_(hi - lo), diversity_(hi - lo), values_(hi - lo), ticks_(hi - lo), e_(p_),
          state_(columns_, 3), then_(columns_, 3) {
        for (i64 i = 0; i < rest_.size; ++i) rest_[i] = i;
    }

    // Grow a cluster from the next seed of the `count` places left.
    Growth grow_next(i64 count) {
        members_[0] = lo_ + take_seed(pool_.turn, lo_, rest_, count);
        return grow(count - 1);
    }

    // Whether the cluster keeps all limits.
    bool is_good(i64 people) const {
        return people >= limits_.k && !limits_.exceeds_utility(p_, e_.now) && is_protected(s_.real, state_);
    }

    // Store a cluster that keeps all limits.
    void keep(const Made& made, const Guard& guard, i64 slot, i64 rows) const {
        keep_cluster(made, slot, e_, rows);
        guard.state[slot].flat().copy(state_.values);
        for (i64 i = 1; i < rows; ++i) guard.before[members_[i]] = i32(members_[i - 1]);
        guard.last[slot] = i32(members_[rows - 1]);
    }

    i64 member(i64 i) const { return members_[i]; }

private:
    // Make a cluster of the seed alone.
    void open(i64 count) {
        const i64 row = members_[0];
        open_group(p_, e_.cells, 0, RecordCodes<Code>(pool_.codes), row, e_.now);
        for (i64 a = 0; a < columns_; ++a) {
            const bool known = secret_(a, row - lo_) >= 0;
            inside_(row, a) = known;
            for (i64 f = 0; f < 3; ++f) state_(a, f) = known;
            for (i64 i = 0; i < count; ++i) brings_(a, rest_[i]) = secret_(a, rest_[i]) >= 0 ? 1.0 : -INFINITY;
        }
        for (i64 i = 0; i < count; ++i) costs_[rest_[i]] = 0;
        stale_.fill(1);
        for (i64 a = 0; a < shares_.rows; ++a)
            for (i64 i = 0; i < count; ++i) shares_(a, rest_[i]) = 0;
    }

    // Update the ticks of the cluster with each place left, where a column's cell has changed its price.
    void reprice(i64 count) {
        const Span<const i64> rest = rest_.slice(0, count);
        const Span<i64> costs = costs_, ticks = ticks_;
        for (i64 a = 0; a < stale_.size; ++a) {
            if (!stale_[a]) continue;
            stale_[a] = 0;
            const Span<const Code> codes = codes_.table()[a];
            const Span<i64> shares = shares_[a];
            if (p_.pair_at[a] >= 0) {
                const i64 low = e_.cells.low(a, 0), high = e_.cells.high(a, 0), card = p_.card[a];
                const Span<const i64> pair = p_.pair.slice(p_.pair_at[a], p_.pair_at[a] + card * card);
                for (i64 i = 0; i < count; ++i) {
                    const i64 code = codes[rest[i]];
                    ticks[i] = pair[smaller(low, code) * card + larger(high, code)];
                }
            } else {
                column_with(p_, e_.cells, 0, a, codes, rest, values_.span(), ticks);
            }
            for (i64 i = 0; i < count; ++i) {
                costs[rest[i]] += ticks[i] - shares[rest[i]];
                shares[rest[i]] = ticks[i];
            }
        }
    }

    // The place that makes the group diversity smallest, of equals the first; -1 if no range diversity is `below` the limit.
    i64 nearest(i64 count, double below) {
        const double guide = limits_.guide, one = double(p_.one), columns = double(columns_);
        const Span<const i64> rest = rest_.slice(0, count);
        reprice(count);
        for (i64 i = 0; i < count; ++i) {
            diversity_[i] = guide * (double(costs_[rest[i]]) / one);
            exposed_[i] = 0.0;
        }
        for (i64 a = 0; a < columns_; ++a) {
            const double total = state_(a, TOTAL), known = state_(a, KNOWN);
            const double same = range_diversity(total, known) / columns;
            const double share = 1.0 / ((known + 1.0) * (known + 1.0) * columns);
            const Span<const double> brings = brings_[a];
            for (i64 i = 0; i < count; ++i) {
                const double more = brings[rest[i]] < 0.0 ? same : (total + brings[rest[i]]) * share;
                diversity_[i] += (1.0 - guide) * more;
                exposed_[i] += more;
            }
        }
        i64 best = -1, least = std::numeric_limits<i64>::max();
        double bound = INFINITY;  // places ascend, so that only a smaller diversity has a smaller key
        for (i64 i = 0; i < count; ++i) {
            if (diversity_[i] >= bound || exposed_[i] >= below) continue;
            const i64 key = price_key(diversity_[i], rest[i]);
            if (key < least) best = i, least = key, bound = diversity_[i];
        }
        return best;
    }

    // Compute the state after one more record.
    void consider(i64 rows, i64 row, i64 place) {
        for (i64 a = 0; a < columns_; ++a) {
            for (i64 f = 0; f < 3; ++f) then_(a, f) = state_(a, f);
            if (!counts(s_.codes, inside_, pool_.subjects, members_.span(), rows, row, a)) continue;
            then_(a, TOTAL) += brings_(a, place);
            then_(a, KNOWN) += 1.0;
            if (s_.real(a, LARGEST_SHARE) < 1.0)
                then_(a, CROWD) = double(crowd_with(s_, inside_, members_.span(), rows, row, a, false));
        }
    }

    // Add the record nearest to the cluster until one does not fit.
    //
    // A cluster that is large enough and fails P may grow on by the nearest of those that lower its range diversity.
    Growth grow(i64 count) {
        open(count);
        i64 rows = 1, people = 1;
        while (count) {
            const bool failing = limits_.grows && people >= limits_.free && !is_protected(s_.real, state_);
            if (people >= limits_.most && !failing) break;
            const i64 last = members_[rows - 1];
            for (i64 a = 0; a < columns_; ++a)
                if (inside_(last, a))
                    add_closeness(
                        s_, a, Span<const Code>(secret_[a]), last - lo_, Span<const i64>(rest_), count, brings_[a]);
            const double below = failing ? exposure(state_) - TOLERANCE : INFINITY;
            const i64 at = nearest(count, below);
            if (at < 0) break;
            const i64 place = rest_[at], row = lo_ + place;
            for (i64 a = 0; a < e_.then.size; ++a) e_.then[a] = shares_(a, place);
            if (limits_.exceeds_utility(p_, e_.then)) break;
            consider(rows, row, place);
            const i64 more = people + is_new(pool_.subjects, members_, rows, row);
            const bool small = people < limits_.free && limits_.grows;
            if (more >= limits_.free && !(failing || small || is_protected(s_.real, then_))) break;
            extend_all(p_, e_.cells, 0, RecordCodes<Code>(pool_.codes), row);
            for (i64 a = 0; a < e_.now.size; ++a) {
                stale_[a] = e_.then[a] != e_.now[a];
                e_.now[a] = e_.then[a];
            }
            admit(s_, inside_, members_.span(), rows, row, state_.table(), then_);
            members_[rows++] = row;
            people = more;
            --count;
            for (i64 i = at; i < count; ++i) rest_[i] = rest_[i + 1];
        }
        return {rows, people, count};
    }

    const Prices& p_;
    const Pool<Code>& pool_;
    const SecretsOf<Code>& s_;
    const ClusterLimits& limits_;
    Table<i32> inside_;
    i64 lo_, columns_;
    // Codes of quasi-identifiers and of sensitive values, by column and place.
    Grid<Code> codes_, secret_;
    // Places left, and rows of the cluster.
    Array<i64> rest_, members_;
    // By sensitive column and place, the closeness that it would add to the cluster's pairs (below 0: unknown value).
    Grid<double> brings_;
    // By place, ticks of the cluster with it, and by column those of each cell; `stale_` flags columns that are out of date.
    Array<i64> costs_;
    Grid<i64> shares_;
    Array<u8> stale_;
    // By index in `rest_`, mean range diversity and group diversity with it; buffers.
    Array<double> exposed_, diversity_;
    Array<i32> values_;
    Array<i64> ticks_;
    Grown e_;
    Grid<double> state_, then_;
};

// Algorithm 6, steps 3 to 6, on one subspace.
template <class Code>
void limit_subspace(const Task<Code>& task, const Result& result, i64 part) {
    const Found& found = result.found;
    const i64 lo = task.starts[part], hi = task.starts[part + 1];
    Subspace<Code> space(task, result.guard, lo, hi);
    for (i64 count = hi - lo; count;) {
        const Growth grown = space.grow_next(count);
        count = grown.count;
        i64 slot = -1;
        if (space.is_good(grown.people)) {
            slot = lo / task.limits.k + found.clusters[part]++;
            space.keep(result.made, result.guard, slot, grown.rows);
        }
        for (i64 i = 0; i < grown.rows; ++i) {
            const i64 row = space.member(i);
            found.ids[row] = i32(slot);
            if (slot < 0) found.queue[lo + found.left[part]++] = i32(row);
        }
    }
}

// Check the arguments of a kernel that looks at the subspaces from `first` to `last`.
template <class Code>
void require_limited(const char* kernel, const Task<Code>& task, const Result& result, i64 first, i64 last) {
    const i64 rows = task.pool.codes.rows, columns = task.secrets.codes.columns, slots = result.made.size.size;
    const Guard& guard = result.guard;
    require_size(kernel, "task.secrets.codes", task.secrets.codes.rows, rows);
    require_shape(kernel, "task.secrets.whole", task.secrets.whole, columns, 6);
    require_shape(kernel, "task.secrets.real", task.secrets.real, columns, 3);
    require_shape(kernel, "result.guard.inside", guard.inside, rows, columns);
    require_size(kernel, "result.guard.state", guard.state.tables, slots);
    require_size(kernel, "result.guard.state's rows", guard.state.rows, columns);
    require_size(kernel, "result.guard.state's columns", guard.state.columns, 3);
    require_size(kernel, "result.guard.last", guard.last.size, slots);
    require_size(kernel, "result.guard.before", guard.before.size, rows);
    require_subspaces(
        kernel, task, "task.limits.k", task.limits.k, "result.", result.found, result.made, first, last);
}

// Algorithm 6, steps 3 to 6, on the subspaces from `first` to `last`.
template <class Code>
void limit_subspaces(const Task<Code>& task, const Result& result, i64 first, i64 last) {
    require_limited("limit_subspaces", task, result, first, last);
    for (i64 part = first; part < smaller(last, task.parts()); ++part) limit_subspace(task, result, part);
}

// Places leftovers in the clusters that may take them (step 7).
template <class Code>
class LimitedJoin {
public:
    LimitedJoin(const Task<Code>& task, const Result& result, bool increment)
        : task_(task), result_(result), increment_(increment), codes_(task.pool.codes), then_(task.secrets.codes.columns, 3),
          ticks_(task.prices.columns()) {}

    // Find the best of the clusters from `first` to `last` that may take a row, if it is better than `best`.
    void find_best(i64 row, i64 first, i64 last, double& best, i64& slot) {
        const Prices& p = task_.prices;
        const SecretsOf<Code>& s = task_.secrets;
        const double guide = task_.limits.guide, one = double(p.one);
        const Made& made = result_.made;
        for (i64 c = first; c < last; ++c) {
            const double cost = double(cost_with(p, made.cells, c, codes_, row, made.now[c], ticks_)) / one;
            if (task_.limits.exceeds_utility(p, ticks_)) continue;
            const Table<const double> state = result_.guard.state[c];
            if (!task_.pool.subjects.size) {
                const double least = least_diversity(row, state);
                if (least == INFINITY || (!increment_ && guide * cost + (1.0 - guide) * least >= best)) continue;
            }
            consider(list_members(c), row, c);
            if (!is_protected(s.real, then_)) continue;
            double value = guide * cost + (1.0 - guide) * exposure(then_);
            if (increment_) value -= guide * (double(sum(made.now[c])) / one) + (1.0 - guide) * exposure(state);
            if (value < best - TOLERANCE) best = value, slot = c;
        }
    }

    // Put a row into a cluster.
    void take(i64 row, i64 slot) {
        const Guard& guard = result_.guard;
        const Span<const i64> members = list_members(slot);
        consider(members, row, slot);
        admit(task_.secrets, guard.inside, members, members.size, row, guard.state[slot], then_);
        guard.before[row] = guard.last[slot];
        guard.last[slot] = i32(row);
        take_row(task_.prices, result_.made, slot, codes_, row);
        result_.found.ids[row] = i32(slot);
    }

private:
    // The rows of a cluster.
    Span<const i64> list_members(i64 slot) {
        const i64 size = result_.made.size[slot];
        if (members_.size < size) members_.resize(2 * size);
        i64 row = result_.guard.last[slot];
        for (i64 i = 0; i < size - 1; ++i) {
            members_[i] = row;
            row = result_.guard.before[row];
        }
        members_[size - 1] = row;
        return members_.slice(0, size);
    }

    // Compute the state of a cluster after one more record.
    void consider(Span<const i64> members, i64 row, i64 slot) {
        const SecretsOf<Code>& s = task_.secrets;
        const Guard& guard = result_.guard;
        for (i64 a = 0; a < then_.rows; ++a) {
            for (i64 f = 0; f < 3; ++f) then_(a, f) = guard.state(slot, a, f);
            if (!counts(s.codes, guard.inside, task_.pool.subjects, members, members.size, row, a)) continue;
            then_(a, TOTAL) += pairs_with(s, guard.inside, members, members.size, row, a);
            then_(a, KNOWN) += 1.0;
            if (s.real(a, LARGEST_SHARE) < 1.0)
                then_(a, CROWD) = double(crowd_with(s, guard.inside, members, members.size, row, a, false));
        }
    }

    // A lower bound on the mean range diversity with one more record, without looking at pairs; infinite above a limit.
    double least_diversity(i64 row, Table<const double> state) const {
        const SecretsOf<Code>& s = task_.secrets;
        double mean = 0.0;
        for (i64 a = 0; a < state.rows; ++a) {
            const double more = s.codes(row, a) >= 0 ? 1.0 : 0.0;
            const double value = range_diversity(state(a, TOTAL) + more, state(a, KNOWN) + more);
            if (value > s.real(a, LIMIT) + TOLERANCE) return INFINITY;
            mean += value / double(state.rows);
        }
        return mean;
    }

    const Task<Code>& task_;
    const Result& result_;
    bool increment_;
    RecordCodes<Code> codes_;
    Grid<double> then_;
    Array<i64> ticks_, members_;
};

// Place the leftovers of the subspaces from `first` to `last`, one after another.
template <class Code>
void join_limited(const Task<Code>& task, const Result& result, i64 first, i64 last, bool everywhere, bool increment) {
    require_limited("join_limited", task, result, first, last);
    const Found& found = result.found;
    const i64 k = task.limits.k;
    LimitedJoin<Code> joining(task, result, increment);
    for (i64 part = first; part < smaller(last, task.parts()); ++part) {
        const i64 begin = everywhere ? 0 : larger(i64(0), part - 1);
        const i64 end = everywhere ? task.parts() : smaller(task.parts(), part + 2);
        for (i64 i = 0; i < found.left[part]; ++i) {
            const i64 row = found.queue[task.starts[part] + i];
            double best = INFINITY;
            i64 slot = -1;
            for (i64 q = begin; q < end; ++q) {
                const i64 at = task.starts[q] / k;
                joining.find_best(row, at, at + found.clusters[q], best, slot);
            }
            if (slot >= 0) joining.take(row, slot);
        }
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("limit_subspaces", "task, result, first, last", &limit_subspaces<i16>, &limit_subspaces<i32>);
    kernels.add(
        "join_limited", "task, result, first, last, everywhere, increment", &join_limited<i16>, &join_limited<i32>);
}

}  // namespace shoal
