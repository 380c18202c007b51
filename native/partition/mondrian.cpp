// Mondrian: cut a set of rows in two along one column, again and again.
//
// Where equal rows stay together, cells of the frequency table can be cut in their place, each counting as often as it has
// rows: the parts are the same.
#include "partition/mondrian.hpp"

#include "judge/segments.hpp"
#include "partition/aims.hpp"
#include "shared/bind.hpp"

namespace shoal {
namespace {

constexpr i64 CANDIDATES = 32;

// k: rows each side needs at least; relaxed: rows equal to the median may go to either side; fallback: try "below" when
// "up to" the median leaves a side empty.
struct Options {
    i64 k;
    bool relaxed, fallback;

    using Fields = std::tuple<i64, bool, bool>;
    static constexpr const char* names = "k, relaxed, fallback";
};

// Whether both sides listed in `spare_order` satisfy the rules.
bool allowed(Span<const i32> spare_order, i64 lo, i64 middle, i64 hi, const Optional<Judged>& judged, Span<const u8> freed) {
    Array<double> values(judged->rules->op.size);
    return units_ok(spare_order.slice(lo, middle), *judged, freed, values)
        && units_ok(spare_order.slice(middle, hi), *judged, freed, values);
}

// Flag rules that a cut need not keep: those that merging does not preserve and that fail here already.
Array<u8> freed_rules(Span<const i32> units, const Optional<Judged>& judged) {
    const Rules& rules = *judged->rules;
    Array<u8> freed(rules.op.size, 0);
    if (rules.strict_parent.any()) {
        Array<double> values(rules.op.size);
        unit_values(units, *judged, values);
        for (i64 r = 0; r < rules.op.size; ++r) freed[r] = rules.strict_parent[r] && failing(rules, values, r);
    }
    return freed;
}

// A cut at the median of one column.
template <class Code, class W>
Cut median_cut(const Work<Code>& work, i64 lo, i64 hi, i64 a, Limits<Code> limits, bool relaxed, bool below_only, W weights) {
    Median median = lower_median(work.codes, lo, hi, a, limits.low[a], limits.high[a], weights);
    if (relaxed) return {a, median.value, (hi - lo) / 2 - median.below, (hi - lo) / 2};
    if (below_only) return {a, median.value, 0, median.below};
    i64 left = median.below;
    for (i64 i = lo; i < hi; ++i) left += work.codes(i, a) == median.value ? weights.times(i) : 0;
    return {a, median.value, NEVER, left};
}

// Take the first allowed cut in order of preference; return the middle, or lo when none is allowed.
//
// The best cuts between values come first if asked for (with an aim, those with the best scores), then medians of the
// widest columns (for `best` only in relaxed mode, where ties may still be halved).
template <class Code, class W>
i64 cut_once(
    const Work<Code>& work, i64 lo, i64 hi, const Prices& p, const Optional<Judged>& judged, Options options, bool best,
    const Optional<Aim>& aim, W weights, W spare_weights
) {
    i64 n = weights.total(lo, hi), m = work.codes.columns;
    if (n < 2 * options.k) return lo;
    Array<Code> low(m), high(m);
    ranges(work.codes, lo, hi, low.span(), high.span());
    Limits<Code> limits{low, high};
    Array<u8> freed = judged ? freed_rules(work.order.slice(lo, hi), judged) : Array<u8>(0);
    Priced found{Array<i64>(0), Array<i64>(0), Array<i64>(0)};
    if (best) {
        const Held held = ranked(work.codes, work.spare, lo, hi, limits, weights);
        found = best_cuts(held, n, work.spare, lo, hi, p, options.k);
    }
    Array<i64> scores = aim ? aim_scores<Code>(work.codes, work.order, lo, hi, *aim, found.columns, found.values)
                                  : Array<i64>(found.losses.size, 0);
    Array<i64> widths = !best || options.relaxed ? widths_of(work.codes, lo, hi, p, limits) : Array<i64>(m, 0);
    i64 tries = 0;
    bool again = false;
    while (true) {
        Cut cut;
        i64 pick = first_cut(scores, found.losses);
        if (pick >= 0 && tries < CANDIDATES) {
            found.losses[pick] = NEVER;
            ++tries;
            cut = {found.columns[pick], found.values[pick], NEVER, options.k};
        } else {
            i64 a = widest(widths);
            if (widths[a] <= 0) return lo;
            cut = median_cut(work, lo, hi, a, limits, options.relaxed, again, weights);
            again = options.fallback && !options.relaxed && !again;
            if (!again) widths[a] = 0;
        }
        if (cut.left < options.k || n - cut.left < options.k) continue;
        if (judged) {
            i64 middle = left_rows(work, lo, hi, cut);
            if (!allowed(work.spare_order, lo, middle, hi, judged, freed)) continue;
        }
        return move_rows(work, lo, hi, cut, weights, spare_weights);
    }
}

template <class Code, class W>
void cut_all(
    const Work<Code>& work, Span<const i64> starts, const Prices& p, const Optional<Judged>& judged, Options options, bool best,
    const Optional<Aim>& aim, bool once, Span<i64> middles, W weights, W spare_weights
) {
    struct { i64 a, b; } stack[128];
    for (i64 part = 0; part < middles.size; ++part) {
        middles[part] = starts[part];
        if (starts[part] == starts[part + 1]) continue;
        stack[0] = {starts[part], starts[part + 1]};
        bool first = true;
        for (i64 depth = 1; depth;) {
            auto [a, b] = stack[--depth];
            i64 middle = cut_once(work, a, b, p, judged, options, best, aim, weights, spare_weights);
            if (first) middles[part] = middle;
            first = false;
            if (once) break;
            if (middle == a) {
                work.ends[b - 1] = 1;
                continue;
            }
            // The smaller side goes first, which keeps the stack logarithmic.
            i64 larger = middle - a > b - middle ? 0 : 1;
            stack[depth + larger] = {a, middle};
            stack[depth + 1 - larger] = {middle, b};
            depth += 2;
        }
    }
}

template <class Code>
void cut_parts(
    const Work<Code>& work, Span<const i64> starts, const Prices& p, const Optional<Judged>& judged, const Options& options,
    bool best, const Optional<Aim>& aim, bool once, Span<i64> middles
) {
    work.check("cut_parts", p);
    require_size("cut_parts", "work.ends", work.ends.size, work.codes.rows);
    require_starts("cut_parts", "starts", starts, work.codes.rows);
    require_size("cut_parts", "middles", middles.size, starts.size - 1);
    if (aim) aim->check("cut_parts", work.codes.rows);
    require_number("cut_parts", "options.k", options.k, 1, NO_LIMIT);
    if (work.weights && work.spare_weights) {
        Weights weights{*work.weights}, spare{*work.spare_weights};
        cut_all(work, starts, p, judged, options, best, aim, once, middles, weights, spare);
    } else {
        cut_all(work, starts, p, judged, options, best, aim, once, middles, Once{}, Once{});
    }
}

// All cuts of the rows from `lo` to `hi`.
std::tuple<Array<i64>, Array<i64>, Array<i64>> probe_best_cuts(
    Table<i32> codes, i64 lo, i64 hi, const Prices& p, i64 k, Optional<Span<i64>> weights
) {
    Array<i32> low(codes.columns), high(codes.columns);
    Grid<i32> places(codes.rows, codes.columns);
    ranges(codes, lo, hi, low.span(), high.span());
    Limits<i32> limits{low, high};
    const Held held = weights ? ranked(codes, places.table(), lo, hi, limits, Weights{*weights})
                              : ranked(codes, places.table(), lo, hi, limits, Once{});
    const i64 rows = weights ? Weights{*weights}.total(lo, hi) : hi - lo;
    Priced found = best_cuts(held, rows, places.table(), lo, hi, p, k);
    return {std::move(found.losses), std::move(found.columns), std::move(found.values)};
}

std::tuple<i64, i64> probe_median(
    Table<i32> codes, i64 lo, i64 hi, i64 first, i64 last, Optional<Span<i64>> weights
) {
    Median median = weights ? lower_median(codes, lo, hi, 0, first, last, Weights{*weights})
                            : lower_median(codes, lo, hi, 0, first, last, Once{});
    return {median.value, median.below};
}

}  // namespace

SHOAL_KERNELS {
    kernels.add(
        "cut_parts", "work, starts, prices, judged, options, best, aim, once, middles", &cut_parts<i16>, &cut_parts<i32>);
    kernels.add("probe_best_cuts", "codes, lo, hi, prices, k, weights", &probe_best_cuts);
    kernels.add("probe_median", "codes, lo, hi, first, last, weights", &probe_median);
}

}  // namespace shoal
