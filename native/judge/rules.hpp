// Rules: the conditions on one group that models are made of.
//
// A rule looks at one attribute's sparse histogram (codes ascending) and gives a value to compare with a limit.
// Judging whole tables and growing groups call the same functions, so a model is computed in one way only.
#pragma once
#include <cmath>
#include <tuple>

#include "shared/bind.hpp"

namespace shoal {

enum Op : i64 {
    SIZE, DISTINCT, ENTROPY, TAIL, SHARE, TOTAL_VARIATION, KL, ORDERED, TREE_DISTANCE, SPREAD, VARIANCE, WINDOW,
    CLOSENESS, RANGE_PAIRS, RANGE_SHARE, EXTENT
};
enum Sense : i64 { AT_LEAST, AT_MOST, BELOW };
constexpr double TOLERANCE = 1e-12;

// How close two values are: by their distance, by the leaves under their common ancestor, or equal or not.
enum Closeness : i64 { POSITIONS, LEAVES, EQUAL };

// All rules of a judge, one entry each. See `Rules` in shoal.kernels.judge.rules for the fields.
struct Rules {
    Span<const i64> op, attr, sense;
    Span<const double> limit, p0, p1;
    Span<const i64> combine, strict_parent;
    Span<const double> ref;
    Table<const i64> ref_at;
    Span<const i32> tree;
    Span<const i64> tree_at;
    Span<const u8> unknown;
    Span<const i64> unknown_at, card;
    Span<const u8> people;

    // One flag a code of an attribute: 1 for an unknown value.
    Span<const u8> flags(i64 a) const { return unknown.slice(unknown_at[a], unknown_at[a + 1]); }

    void check(const char* kernel) const;

    using Ints = Span<const i64>;
    using Reals = Span<const double>;
    using Flags = Span<const u8>;
    using Fields = std::tuple<
        Ints, Ints, Ints, Reals, Reals, Reals, Ints, Ints, Reals, Table<const i64>, Span<const i32>, Ints, Flags, Ints, Ints,
        Flags>;
    static constexpr const char* names =
        "op, attr, sense, limit, p0, p1, combine, strict_parent, ref, ref_at, tree, tree_at, unknown, unknown_at, card, "
        "people";
};

// One rule with its own references.
//
// mixed: the attribute has unknown values. two: the reference differs with them. ref, full: the reference without and with
// them. shared: where one value is shared by all people of a group, only that value counts.
struct RuleView {
    i64 op, sense;
    double p0, p1;
    i64 card;
    bool mixed, two, shared;
    Span<const u8> flags;
    Span<const double> ref, full;
    Span<const i32> tree;

    void check(const char* kernel) const;

    using Reals = Span<const double>;
    using Fields = std::tuple<i64, i64, double, double, i64, bool, bool, bool, Span<const u8>, Reals, Reals, Span<const i32>>;
    static constexpr const char* names = "op, sense, p0, p1, card, mixed, two, shared, flags, ref, full, tree";
};

// A sparse histogram: codes in ascending order, and the count of each.
struct Histogram {
    Span<const i32> codes;
    Span<const i64> counts;

    i64 size() const { return codes.size; }
    Histogram entry(i64 i) const { return slice(i, i + 1); }
    Histogram slice(i64 a, i64 b) const { return {codes.slice(a, b), counts.slice(a, b)}; }
};

// Compare with an absolute tolerance; the strict comparison has none.
inline bool passes(double value, i64 sense, double limit) {
    if (sense == AT_LEAST) return value >= limit - TOLERANCE;
    if (sense == AT_MOST) return value <= limit + TOLERANCE;
    return value < limit;
}

// Half the sum of absolute differences; values absent from the group add their share of the table.
double variation(Histogram h, double total, Span<const double> q);

// One rule of many: it is smaller to pass on.
RuleView rule_view(const Rules& rules, i64 r);

// Value of a rule on one histogram; `known` is the number of records with a known value.
//
// Where people are counted and all of a group share a value, a diversity is that of this value alone. NaN means that the
// group has no known value, which passes every rule.
double rule_value(const RuleView& view, Histogram h, double known);

}  // namespace shoal
