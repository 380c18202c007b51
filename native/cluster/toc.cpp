// Threshold-based greedy clustering of subspaces (Loukides 2008, Algorithms 1 and 5).
//
// The objective mr_wtd of a cluster is `base` + the ticks of its cells. Those of sensitive columns are negative, because
// values far apart protect.
#include "cluster/pools.hpp"
#include "judge/rules.hpp"
#include "price/many.hpp"
#include "shared/bind.hpp"
#include "shared/heap.hpp"

namespace shoal {
namespace {

// See `Aim` and `Task` in shoal.kernels.cluster.toc for the fields.
struct Threshold {
    i64 base;
    double delta;
    i64 k, most;
    bool linked;

    using Fields = std::tuple<i64, double, i64, i64, bool>;
    static constexpr const char* names = "base, delta, k, most, linked";
};

template <class Code>
struct Task {
    Pool<Code> pool;
    Span<const i64> starts;
    Prices prices;
    Threshold aim;

    i64 parts() const { return starts.size - 1; }
    // The largest sum of ticks that a cluster may have.
    double limit() const { return (aim.delta + TOLERANCE) * double(prices.one) - double(aim.base); }

    using Fields = std::tuple<Pool<Code>, Span<const i64>, Prices, Threshold>;
    static constexpr const char* names = "pool, starts, prices, aim";
};

struct Size {
    i64 rows, people;
};

// Append records in order of their distance to the seed until one does not fit.
template <class Code>
Size grow_from_seed(const Task<Code>& task, i64 lo, Span<i64> heap, i64 size, Span<i64> members, const Grown& e) {
    const Prices& p = task.prices;
    const RecordCodes<Code> codes(task.pool.codes);
    const double limit = task.limit();
    i64 rows = 1, people = 1;
    while (size && people < task.aim.most) {
        const i64 row = lo + pop_heap(heap, size) % PLACES;
        --size;
        if (double(cost_with(p, e.cells, 0, codes, row, e.now, e.then)) > limit) break;
        extend_all(p, e.cells, 0, codes, row);
        e.now.span().copy(e.then);
        people += is_new(task.pool.subjects, members, rows, row);
        members[rows++] = row;
    }
    return {rows, people};
}

// Take in the record with which the cluster costs least until one does not fit.
template <class Code>
Size grow_linked(
    const Task<Code>& task, i64 lo, Table<const Code> codes, Span<const i64> rest, Span<u8> taken, Span<i64> members,
    const Grown& e, Span<i32> values, Span<i64> ticks
) {
    const Prices& p = task.prices;
    const double limit = task.limit();
    Array<i64> costs(rest.size);
    i64 rows = 1, people = 1;
    while (people < task.aim.most) {
        costs.fill(0);
        costs_with(p, e.cells, 0, codes, rest, values, ticks, costs.span());
        i64 best = -1;
        for (i64 i = 0; i < rest.size; ++i)
            if (!taken[rest[i]] && (best < 0 || costs[i] < costs[best])) best = i;
        if (best < 0 || double(costs[best]) > limit) break;
        const i64 place = rest[best];
        cost_with(p, e.cells, 0, codes, place, e.now, e.then);
        extend_all(p, e.cells, 0, codes, place);
        e.now.span().copy(e.then);
        people += is_new(task.pool.subjects, members, rows, lo + place);
        members[rows++] = lo + place;
        taken[place] = 1;
    }
    return {rows, people};
}

// Algorithm 1 on one subspace.
template <class Code>
void cluster_subspace(const Task<Code>& task, const Found& found, const Made& made, i64 part) {
    const Prices& p = task.prices;
    const Threshold& aim = task.aim;
    const i64 lo = task.starts[part], hi = task.starts[part + 1];
    i64 count = hi - lo;
    const Grid<Code> grid = by_column(task.pool.codes, lo, hi);
    const Table<const Code> codes = grid;
    Array<i64> rest(count), heap(count), members(count), ticks(count);
    Array<i32> values(count);
    Array<u8> taken(count, 0);
    for (i64 i = 0; i < count; ++i) rest[i] = i;
    const Grown e(p);
    while (count) {
        const i64 seed = take_seed(task.pool.turn, lo, rest, count);
        --count;
        const Span<const i64> others = rest.slice(0, count);
        open_group(p, e.cells, 0, codes, seed, e.now);
        members[0] = lo + seed;
        Size size;
        if (aim.linked) {
            size = grow_linked<Code>(task, lo, codes, others, taken, members, e, values, ticks);
        } else {
            for (i64 i = 0; i < count; ++i) heap[i] = aim.base;
            costs_with(p, e.cells, 0, codes, others, values.span(), ticks.span(), heap.span());
            for (i64 i = 0; i < count; ++i) heap[i] = ticks_key(heap[i], rest[i]);
            make_heap(heap, count);
            size = grow_from_seed(task, lo, heap, count, members, e);
        }
        i64 slot = -1;
        if (size.people >= aim.k) {
            slot = lo / aim.k + found.clusters[part]++;
            keep_cluster(made, slot, e, size.rows);
        }
        for (i64 i = 0; i < size.rows; ++i) {
            taken[members[i] - lo] = 1;
            found.ids[members[i]] = i32(slot);
            if (slot < 0) found.queue[lo + found.left[part]++] = i32(members[i]);
        }
        i64 kept = 0;
        for (i64 i = 0; i < count; ++i)
            if (!taken[rest[i]]) rest[kept++] = rest[i];
        count = kept;
    }
}

// Algorithm 1 on the subspaces from `first` to `last`.
template <class Code>
void cluster_subspaces(const Task<Code>& task, const Found& found, const Made& made, i64 first, i64 last) {
    require_subspaces("cluster_subspaces", task, "task.aim.k", task.aim.k, "", found, made, first, last);
    for (i64 part = first; part < smaller(last, task.parts()); ++part) cluster_subspace(task, found, made, part);
}

// Put the leftovers of a subspace into the best clusters of every `step`-th subspace from part - reach to part + reach.
//
// One leftover after another; of equal clusters the first takes it.
template <class Code>
void join_best(const Task<Code>& task, const Found& found, const Made& made, i64 part, i64 reach, i64 step, bool increment) {
    const Prices& p = task.prices;
    const RecordCodes<Code> codes(task.pool.codes);
    Array<i64> then(p.columns());
    for (i64 i = 0; i < found.left[part]; ++i) {
        const i64 row = found.queue[task.starts[part] + i];
        i64 best = 0, at = -1;
        for (i64 q = part - reach; q <= part + reach; q += step) {
            if (q < 0 || q >= task.parts()) continue;
            const i64 first = task.starts[q] / task.aim.k;
            for (i64 c = first; c < first + found.clusters[q]; ++c) {
                i64 value = cost_with(p, made.cells, c, codes, row, made.now[c], then);
                if (increment) value -= sum(made.now[c]);
                if (at < 0 || value < best) best = value, at = c;
            }
        }
        found.ids[row] = i32(at);
        if (at >= 0) take_row(p, made, at, codes, row);
    }
}

// Number of subspaces from each one to the nearest with a cluster.
void count_far(Span<const i64> clusters, Span<i64> far) {
    require_size("count_far", "far", far.size, clusters.size);
    i64 last = -clusters.size;
    for (i64 part = 0; part < clusters.size; ++part) {
        if (clusters[part]) last = part;
        far[part] = part - last;
    }
    last = 2 * clusters.size;
    for (i64 part = clusters.size - 1; part >= 0; --part) {
        if (clusters[part]) last = part;
        far[part] = smaller(far[part], last - part);
    }
}

// Place the leftovers of the subspaces from `first` to `last` that have clusters near them.
template <class Code>
void join_near(
    const Task<Code>& task, const Found& found, const Made& made, Span<const i64> far, i64 first, i64 last, bool increment
) {
    require_subspaces("join_near", task, "task.aim.k", task.aim.k, "", found, made, first, last);
    require_size("join_near", "far", far.size, task.parts());
    for (i64 part = first; part < smaller(last, task.parts()); ++part)
        if (far[part] <= 1) join_best(task, found, made, part, 1, 1, increment);
}

// Place the leftovers of subspaces without clusters near them, or of all subspaces, one after another.
template <class Code>
void join_far(
    const Task<Code>& task, const Found& found, const Made& made, Span<const i64> far, bool everywhere, bool increment
) {
    require_subspaces("join_far", task, "task.aim.k", task.aim.k, "", found, made, 0, NO_LIMIT);
    require_size("join_far", "far", far.size, task.parts());
    for (i64 part = 0; part < task.parts(); ++part) {
        if (everywhere) join_best(task, found, made, part, task.parts(), 1, increment);
        else if (far[part] > 1) join_best(task, found, made, part, far[part], 2 * far[part], increment);
    }
}

// Add to `out` the ticks of each column over all clusters, not weighted by their rows.
void price_clusters(Prices plain, Made made, Span<i64> out) {
    require_size("price_clusters", "out", out.size, plain.columns());
    made.check("price_clusters", "", plain);
    for (i64 c = 0; c < made.size.size; ++c)
        if (made.size[c])
            for (i64 a = 0; a < out.size; ++a) out[a] += own_cell(plain, made.cells, c, a);
}

}  // namespace

SHOAL_KERNELS {
    kernels.add(
        "cluster_subspaces", "task, found, made, first, last", &cluster_subspaces<i16>, &cluster_subspaces<i32>);
    kernels.add("count_far", "clusters, far", &count_far);
    kernels.add("join_near", "task, found, made, far, first, last, increment", &join_near<i16>, &join_near<i32>);
    kernels.add("join_far", "task, found, made, far, everywhere, increment", &join_far<i16>, &join_far<i32>);
    kernels.add("price_clusters", "prices, made, out", &price_clusters);
}

}  // namespace shoal
