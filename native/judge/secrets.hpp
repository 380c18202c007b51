// Range diversity and range confidence of a growing cluster (Loukides 2008, Defs 5.1.2 to 5.1.4).
//
// A cluster's state is a row (TOTAL, KNOWN, CROWD) for each sensitive column: the sum of closeness over ordered pairs, the
// number of values that count, and the most of these in one sensitive range.
#pragma once
#include <cmath>
#include <tuple>

#include "judge/rules.hpp"

namespace shoal {

// Columns of `whole`, `real`, `policy` and of a state. See `Secrets` in shoal.kernels.judge.secrets for what they hold.
namespace secret {
enum Whole : i64 { KIND, CARD, REF_AT, TREE_AT, CODE_AT, NEAR_AT };
enum Real : i64 { SCALE, LIMIT, LARGEST_SHARE };
enum Policy : i64 { AXIS, LOW, HIGH, REACH };
enum State : i64 { TOTAL, KNOWN, CROWD };
}  // namespace secret

// Sensitive values of records (records, columns) of int16 or int32, and what the policies say of their codes.
template <class Code>
struct SecretsOf {
    Table<const Code> codes;
    Table<const i64> whole;
    Table<const double> real;
    Table<const i32> policy;
    Span<const double> ref;
    Span<const i32> tree;
    Span<double> near;

    void check(const char* kernel) const {
        require_size(kernel, "codes' columns", codes.columns, whole.rows);
        require_size(kernel, "whole's columns", whole.columns, 6);
        require_size(kernel, "real", real.rows, whole.rows);
        require_size(kernel, "real's columns", real.columns, 3);
        require_size(kernel, "policy's columns", policy.columns, 4);
        for (i64 a = 0; a < whole.rows; ++a) {
            using namespace secret;
            const i64 kind = whole(a, KIND), card = whole(a, CARD), near_at = whole(a, NEAR_AT);
            require_room(kernel, "policy", policy.rows, whole(a, CODE_AT) + card);
            require_room(kernel, "ref", ref.size, whole(a, REF_AT) + (kind == EQUAL ? 0 : card));
            if (kind == LEAVES) require_room(kernel, "tree", tree.size, whole(a, TREE_AT) + card);
            if (near_at >= 0) require_room(kernel, "near", near.size, near_at + card * card);
        }
    }

    using Fields = std::tuple<
        Table<const Code>, Table<const i64>, Table<const double>, Table<const i32>, Span<const double>, Span<const i32>,
        Span<double>>;
    static constexpr const char* names = "codes, whole, real, policy, ref, tree, near";
};

// Closeness of two codes, counted once for each of them whose range holds the other.
template <class S>
double compute_closeness(const S& s, i64 a, i64 x, i64 y) {
    using namespace secret;
    const i64 at = s.whole(a, CODE_AT);
    const i32 here = s.policy(at + x, AXIS), there = s.policy(at + y, AXIS);
    double both = 0.0;
    if (s.policy(at + x, LOW) <= there && there <= s.policy(at + x, HIGH)) both += 1.0;
    if (s.policy(at + y, LOW) <= here && here <= s.policy(at + y, HIGH)) both += 1.0;
    if (both <= 0.0 || x == y) return both;
    const i64 ref = s.whole(a, REF_AT);
    const double scale = s.real(a, SCALE);
    if (s.whole(a, KIND) == EQUAL) return both * (1.0 - scale);
    if (s.whole(a, KIND) == POSITIONS) return both * (1.0 - std::fabs(s.ref[ref + x] - s.ref[ref + y]) * scale);
    const i64 tree = s.whole(a, TREE_AT);
    i64 up = tree;
    while (s.tree[up + x] != s.tree[up + y]) up += s.whole(a, CARD);
    return both * (1.0 - (s.ref[ref + up - tree + x] - 1.0) * scale);
}

// Closeness of two codes, looked up where the column has a table of it.
template <class S>
double closeness_of(const S& s, i64 a, i64 x, i64 y) {
    const i64 at = s.whole(a, secret::NEAR_AT);
    return at >= 0 ? s.near[at + x * s.whole(a, secret::CARD) + y] : compute_closeness(s, a, x, y);
}

// Add member `one` to the pairs that each of the first `count` others would bring; `out` is by record, as `codes` is.
template <class S, class Code, class Other>
void add_closeness(const S& s, i64 a, Span<const Code> codes, i64 one, Span<const Other> others, i64 count, Span<double> out) {
    const i64 x = codes[one];
    for (i64 i = 0; i < count; ++i) {
        const i64 y = codes[others[i]];
        if (y >= 0) out[others[i]] += closeness_of(s, a, x, y);
    }
}

// What a row whose value counts adds to the sum over ordered pairs; `inside` is 0 for members whose value does not count.
template <class S, class Inside, class Member>
double pairs_with(const S& s, Table<Inside> inside, Span<Member> members, i64 size, i64 row, i64 a) {
    const i64 x = s.codes(row, a);
    double total = 1.0;
    for (i64 i = 0; i < size; ++i) {
        const i64 j = members[i];
        if (inside(j, a)) total += closeness_of(s, a, x, s.codes(j, a));
    }
    return total;
}

// Whether a row's value counts beside the members': it is known, and counted once for each person.
template <class Code, class Inside, class Subject, class Member>
bool counts(
    Table<const Code> codes, Table<Inside> inside, Span<Subject> subjects, Span<Member> members, i64 size, i64 row, i64 a
) {
    if (codes(row, a) < 0) return false;
    if (!subjects.size) return true;
    for (i64 i = 0; i < size; ++i) {
        const i64 j = members[i];
        if (subjects[j] == subjects[row] && codes(j, a) == codes(row, a) && inside(j, a)) return false;
    }
    return true;
}

// The most members in one range once a row has joined; `keep` writes the changes to `inside`.
//
// `inside` holds for each member how many lie in the longest range that holds its value and none below.
template <class S, class Inside, class Member>
i64 crowd_with(const S& s, Table<Inside> inside, Span<Member> members, i64 size, i64 row, i64 a, bool keep) {
    using namespace secret;
    const i64 code_at = s.whole(a, CODE_AT), at = code_at + s.codes(row, a);
    const i64 here = s.policy(at, AXIS), end = s.policy(at, REACH);
    i64 own = 1, most = 0;
    for (i64 i = 0; i < size; ++i) {
        const i64 j = members[i];
        if (!inside(j, a)) continue;
        const i64 other = code_at + s.codes(j, a), there = s.policy(other, AXIS);
        const i64 crowd = inside(j, a) + (there <= here && here <= s.policy(other, REACH));
        own += here <= there && there <= end;
        if (keep) inside(j, a) = Inside(crowd);
        most = larger(most, crowd);
    }
    if (keep) inside(row, a) = Inside(own);
    return larger(most, own);
}

// Range diversity: the mean over ordered pairs; 0 where nothing is known.
inline double range_diversity(double total, double known) { return known != 0.0 ? total / (known * known) : 0.0; }

// The mean range diversity of a cluster's state.
inline double exposure(Table<const double> state) {
    double sum = 0.0;
    for (i64 a = 0; a < state.rows; ++a)
        sum += range_diversity(state(a, secret::TOTAL), state(a, secret::KNOWN)) / double(state.rows);
    return sum;
}

// Whether a cluster's state keeps every limit.
inline bool is_protected(Table<const double> real, Table<const double> state) {
    using namespace secret;
    for (i64 a = 0; a < state.rows; ++a) {
        const double known = state(a, KNOWN);
        if (range_diversity(state(a, TOTAL), known) > real(a, LIMIT) + TOLERANCE) return false;
        const double share = real(a, LARGEST_SHARE);
        if (known != 0.0 && share < 1.0 && state(a, CROWD) / known > share + TOLERANCE) return false;
    }
    return true;
}

// Make `then`, the state after one more record, the cluster's state.
template <class S, class Inside, class Member>
void admit(
    const S& s, Table<Inside> inside, Span<Member> members, i64 size, i64 row, Table<double> state, Table<const double> then
) {
    using namespace secret;
    for (i64 a = 0; a < state.rows; ++a) {
        const bool joins = then(a, KNOWN) > state(a, KNOWN);
        inside(row, a) = Inside(joins);
        if (joins && s.real(a, LARGEST_SHARE) < 1.0) crowd_with(s, inside, members, size, row, a, true);
        for (i64 f = 0; f < 3; ++f) state(a, f) = then(a, f);
    }
}

}  // namespace shoal
