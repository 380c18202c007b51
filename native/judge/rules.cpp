// Values of rules: for one group, and for all groups of compressed histograms.
#include "judge/rules.hpp"

#include <algorithm>

#include "judge/ranges.hpp"

namespace shoal {

double variation(Histogram h, double total, Span<const double> q) {
    double gap = 0.0, covered = 0.0;
    for (i64 i = 0; i < h.size(); ++i) {
        double share = q[h.codes[i]];
        gap += std::fabs(h.counts[i] / total - share);
        covered += share;
    }
    return 0.5 * (gap + larger(0.0, 1.0 - covered));
}

namespace {

double entropy(Histogram h, double total) {
    double entropy = 0.0;
    for (i64 count : h.counts) {
        double share = count / total;
        entropy -= share * std::log(share);
    }
    return entropy;
}

// Largest count over the sum from the l-th largest on; infinite when that sum is nothing.
double tail_ratio(Histogram h, double total, i64 l) {
    if (h.size() < l) return INFINITY;
    Array<i64> ordered(h.counts);
    std::sort(ordered.begin(), ordered.end(), [](i64 a, i64 b) { return a > b; });
    double tail = total;
    for (i64 i = 0; i < l - 1; ++i) tail -= ordered[i];
    return ordered[0] / tail;
}

double divergence(Histogram h, double total, Span<const double> q) {
    double value = 0.0;
    for (i64 i = 0; i < h.size(); ++i) {
        double share = q[h.codes[i]];
        if (share <= 0.0) return INFINITY;
        double p = h.counts[i] / total;
        value += p * std::log(p / share);
    }
    return larger(0.0, value);
}

// Earth mover's distance over ranks.
//
// `ref` holds, for the M values present in the table: the position of each code (card entries), M, the cumulative
// shares (M), and their prefix sums (M + 1), so that a stretch where the group's cumulative share stands still costs one
// binary search.
double ordered_distance(Histogram h, double total, Span<const double> ref, i64 card) {
    i64 m = i64(ref[card]);
    if (m <= 1) return 0.0;
    Span<const double> cumulative = ref.slice(card + 1, card + 1 + m), prefix = ref.slice(card + 1 + m, card + 2 + 2 * m);
    double distance = 0.0, share = 0.0;
    i64 start = 0;
    for (i64 i = 0; i <= h.size(); ++i) {
        i64 stop = smaller(i < h.size() ? i64(ref[h.codes[i]]) : m - 1, m - 1);
        if (stop > start) {
            i64 cross = start + searchsorted(cumulative.slice(start, stop), share);
            distance += share * (cross - start) - (prefix[cross] - prefix[start]);
            distance += (prefix[stop] - prefix[cross]) - share * (stop - cross);
            start = stop;
        }
        if (i < h.size()) share += h.counts[i] / total;
    }
    return distance / (m - 1);
}

// Hierarchical earth mover's distance: at every node, the smaller of what its children have over and under.
//
// `tree` is (levels, card), flattened: the node of each code a level; `q` the table's share of each node, a level after
// another, card entries each. Only nodes above the group's values can hold an excess.
double tree_distance(Histogram h, double total, Span<const double> q, Span<const i32> tree, i64 card) {
    i64 levels = tree.size / card, live = h.size();
    Array<i32> codes(live), nodes(live);
    Array<double> shares(live);
    for (i64 i = 0; i < live; ++i) {
        codes[i] = nodes[i] = h.codes[i];
        shares[i] = h.counts[i] / total;
    }
    double distance = 0.0;
    for (i64 level = 1; level < levels; ++level) {
        i64 found = 0;
        double over = 0.0;
        auto cost = [&] {  // of the node that was collected last
            double under = over - (shares[found - 1] - q[level * card + nodes[found - 1]]);
            return double(level) / double(levels - 1) * larger(0.0, smaller(over, under));
        };
        for (i64 i = 0; i < live; ++i) {
            i32 parent = tree[level * card + codes[i]];
            double excess = larger(0.0, shares[i] - q[(level - 1) * card + nodes[i]]);
            if (i == 0 || parent != tree[level * card + codes[found - 1]]) {
                if (i != 0) distance += cost();
                over = excess;
                codes[found] = codes[i];
                nodes[found] = parent;
                shares[found] = shares[i];
                ++found;
            } else {
                over += excess;
                shares[found - 1] += shares[i];
            }
        }
        if (found) distance += cost();
        live = found;
    }
    return distance;
}

// Largest share of the group within eps of one of its own records.
double window(Histogram h, double total, double eps, bool relative, Span<const double> ref) {
    double worst = 0.0;
    for (i64 i = 0; i < h.size(); ++i) {
        double centre = ref[h.codes[i]], reach = relative ? eps * std::fabs(centre) : eps, near = 0.0;
        reach += TOLERANCE * larger(1.0, reach);
        auto is_near = [&](i64 j) { return std::fabs(ref[h.codes[j]] - centre) <= reach; };
        for (i64 j = i; j >= 0 && is_near(j); --j) near += double(h.counts[j]);
        for (i64 j = i + 1; j < h.size() && is_near(j); ++j) near += double(h.counts[j]);
        worst = larger(worst, near / total);
    }
    return worst;
}

double variance(Histogram h, double total, Span<const double> ref) {
    double mean = 0.0, value = 0.0;
    for (i64 i = 0; i < h.size(); ++i) mean += h.counts[i] * ref[h.codes[i]];
    mean /= total;
    for (i64 i = 0; i < h.size(); ++i) {
        double off = ref[h.codes[i]] - mean;
        value += h.counts[i] * (off * off);
    }
    return value / total;
}

// S-diversity: one minus the spread of the values over their domain (kind 0 positions, 1 tree, 2 count).
double closeness(
    Span<const i32> codes, i64 kind, double scale, Span<const double> ref, Span<const i32> tree, i64 card
) {
    if (scale <= 0.0) return 1.0;
    i32 first = codes[0], last = codes[codes.size - 1];
    if (kind == 0) return 1.0 - (ref[last] - ref[first]) / scale;
    if (kind == 2) return 1.0 - (codes.size - 1) / scale;
    i64 level = 0;
    while (tree[level * card + first] != tree[level * card + last]) ++level;
    return 1.0 - (ref[level * card + first] - 1.0) / scale;
}

// Whether a rule is about how different the values of a group are.
bool is_diversity(i64 op) {
    return op == DISTINCT || op == ENTROPY || op == TAIL || op == SPREAD || op == CLOSENESS || op == RANGE_PAIRS;
}

// Whether a rule must hold with unknown values present as well as removed.
bool both_ways(i64 op) {
    return op == ENTROPY || op == TAIL || op == TOTAL_VARIATION || op == KL || op == ORDERED || op == TREE_DISTANCE;
}

double evaluate(const RuleView& view, Histogram h, double denominator, Span<const double> ref) {
    double total = 0.0;
    for (i64 count : h.counts) total += double(count);
    switch (view.op) {
        case DISTINCT: return double(h.size());
        case SHARE: {
            double worst = 0.0;
            for (i64 i = 0; i < h.size(); ++i) worst = larger(worst, h.counts[i] / (denominator * ref[h.codes[i]]));
            return worst;
        }
        case SPREAD: return ref[h.codes[h.size() - 1]] - ref[h.codes[0]];
        case CLOSENESS: return closeness(h.codes, i64(view.p1), view.p0, ref, view.tree, view.card);
        case RANGE_SHARE: return range_share(h.codes, h.counts, denominator, view.p1 > 0.0, ref, view.card);
        case ENTROPY: return entropy(h, total);
        case RANGE_PAIRS: return pair_share(h.codes, h.counts, total, i64(view.p1), view.p0, ref, view.tree, view.card);
        case TAIL: return tail_ratio(h, total, i64(view.p0));
        case TOTAL_VARIATION: return variation(h, total, ref);
        case KL: return divergence(h, total, ref);
        case ORDERED: return ordered_distance(h, total, ref, view.card);
        case TREE_DISTANCE: return tree_distance(h, total, ref, view.tree, view.card);
        case VARIANCE: return variance(h, total, ref);
        default: return window(h, total, view.p0, view.p1 > 0.0, ref);
    }
}

double worse(const RuleView& view, double a, double b) { return view.sense == AT_LEAST ? smaller(a, b) : larger(a, b); }

// Whether a rule looks at how close values are in a tree, or by their places.
bool is_near(const RuleView& view, Closeness kind) {
    return (view.op == CLOSENESS || view.op == RANGE_PAIRS) && view.p0 > 0.0 && i64(view.p1) == kind;
}

// Entries that a rule reads of its references at least.
i64 count_references(const RuleView& view) {
    const i64 card = view.card, places = is_near(view, POSITIONS) ? card : is_near(view, LEAVES) ? view.tree.size : 0;
    switch (view.op) {
        case DISTINCT: case ENTROPY: case TAIL: return 0;
        case CLOSENESS: return places;
        case RANGE_PAIRS: return 3 * card + places;
        case RANGE_SHARE: return 2 * card;
        case ORDERED: return card + 1;
        case TREE_DISTANCE: return view.tree.size;
        default: return card;
    }
}

void require_references(const char* kernel, const char* argument, const RuleView& view, Span<const double> ref) {
    require_room(kernel, argument, ref.size, count_references(view));
    if (view.op == ORDERED) require_room(kernel, argument, ref.size, view.card + 2 + 2 * i64(ref[view.card]));
}

}  // namespace

void RuleView::check(const char* kernel) const {
    require_number(kernel, "op", op, DISTINCT, RANGE_SHARE);
    require_size(kernel, "flags", flags.size, card);
    if (op == TREE_DISTANCE) require_number(kernel, "card", card, 1, NO_LIMIT);
    if (op == TREE_DISTANCE || is_near(*this, LEAVES)) require_room(kernel, "tree", tree.size, card);
    require_references(kernel, "ref", *this, ref);
    require_references(kernel, "full", *this, full);
}

void Rules::check(const char* kernel) const {
    require_size(kernel, "attr", attr.size, op.size);
    require_size(kernel, "sense", sense.size, op.size);
    require_size(kernel, "limit", limit.size, op.size);
    require_size(kernel, "p0", p0.size, op.size);
    require_size(kernel, "p1", p1.size, op.size);
    require_size(kernel, "combine", combine.size, op.size);
    require_size(kernel, "strict_parent", strict_parent.size, op.size);
    require_size(kernel, "ref_at", ref_at.rows, op.size);
    require_size(kernel, "ref_at's columns", ref_at.columns, 3);
    if (op.size) require_starts(kernel, "ref_at", ref_at.flat(), ref.size);
    require_size(kernel, "tree_at", tree_at.size, op.size + 1);
    require_starts(kernel, "tree_at", tree_at, tree.size);
    require_size(kernel, "people", people.size, card.size);
    require_size(kernel, "unknown_at", unknown_at.size, card.size + 1);
    require_starts(kernel, "unknown_at", unknown_at, unknown.size);
    for (i64 r = 0; r < op.size; ++r) {
        require_number(kernel, "attr", attr[r], -1, card.size - 1);
        require_number(kernel, "combine", combine[r], 0, op.size - r);
        if (attr[r] >= 0) rule_view(*this, r).check(kernel);
    }
}

RuleView rule_view(const Rules& rules, i64 r) {
    i64 attr = rules.attr[r], known_at = rules.ref_at(r, 1);
    Span<const double> ref = rules.ref.slice(known_at, rules.ref_at(r, 2));
    Span<const double> full = rules.ref.slice(rules.ref_at(r, 0), known_at);
    Span<const u8> flags = rules.flags(attr);
    return {
        rules.op[r], rules.sense[r], rules.p0[r], rules.p1[r], rules.card[attr], flags.any(), full.size > 0,
        rules.people[attr] != 0 && is_diversity(rules.op[r]), flags, ref, full.size > 0 ? full : ref,
        rules.tree.slice(rules.tree_at[r], rules.tree_at[r + 1]),
    };
}

double rule_value(const RuleView& view, Histogram h, double known) {
    if (h.size() == 0) return NAN;
    if (view.shared)
        for (i64 i = 0; i < h.size(); ++i)
            if (double(h.counts[i]) == known && view.flags[h.codes[i]] == 0) return evaluate(view, h.entry(i), known, view.ref);
    bool unknown = false;
    if (view.mixed)
        for (i32 code : h.codes) unknown = unknown || view.flags[code] != 0;
    if (!unknown) {
        double value = evaluate(view, h, known, view.ref);
        // A table with unknown values elsewhere compares with both of its distributions.
        return view.two ? worse(view, value, evaluate(view, h, known, view.full)) : value;
    }
    Array<i32> codes(h.size());
    Array<i64> counts(h.size());
    i64 kept = 0;
    for (i64 i = 0; i < h.size(); ++i)
        if (view.flags[h.codes[i]] == 0) {
            codes[kept] = h.codes[i];
            counts[kept++] = h.counts[i];
        }
    if (kept == 0) return NAN;
    double value = evaluate(view, {codes.slice(0, kept), counts.slice(0, kept)}, known, view.ref);
    return both_ways(view.op) ? worse(view, value, evaluate(view, h, known, view.full)) : value;
}

namespace {

void judge_groups(
    const char* kernel, RuleView view, Span<const i64> indptr, Span<const i32> codes, Span<const i64> counts, Span<const i64> known,
    Span<double> values
) {
    require_size(kernel, "indptr", indptr.size, values.size + 1);
    require_starts(kernel, "indptr", indptr, codes.size);
    require_size(kernel, "counts", counts.size, codes.size);
    require_size(kernel, "known", known.size, values.size);
    const Histogram all{codes, counts};
    for (i64 g = 0; g < values.size; ++g)
        values[g] = rule_value(view, all.slice(indptr[g], indptr[g + 1]), double(known[g]));
}

void judge_view(
    RuleView view, Span<const i64> indptr, Span<const i32> codes, Span<const i64> counts, Span<const i64> known,
    Span<double> values
) {
    judge_groups("judge_view", view, indptr, codes, counts, known, values);
}

void judge_rule(
    Rules rules, i64 r, Span<const i64> indptr, Span<const i32> codes, Span<const i64> counts, Span<const i64> known,
    Span<double> values
) {
    require_number("judge_rule", "rule", r, 0, rules.op.size - 1);
    require_number("judge_rule", "rules.attr", rules.attr[r], 0, rules.card.size - 1);
    judge_groups("judge_rule", rule_view(rules, r), indptr, codes, counts, known, values);
}

double probe_pair_share(
    Span<const i32> codes, Span<const i64> counts, double total, i64 kind, double scale, Span<const double> ref,
    Span<const i32> tree, i64 card
) {
    return pair_share(codes, counts, total, kind, scale, ref, tree, card);
}

double probe_range_share(
    Span<const i32> codes, Span<const i64> counts, double known, bool sort, Span<const double> ref, i64 card
) {
    return range_share(codes, counts, known, sort, ref, card);
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("judge_view", "view, indptr, codes, counts, known, values", &judge_view);
    kernels.add("judge_rule", "rules, rule, indptr, codes, counts, known, values", &judge_rule);
    kernels.add("probe_pair_share", "codes, counts, total, kind, scale, ref, tree, card", &probe_pair_share);
    kernels.add("probe_range_share", "codes, counts, known, sort, ref, card", &probe_range_share);
}

}  // namespace shoal
