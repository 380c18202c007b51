// Range diversity of groups that change (Loukides 2008, Def. 5.1.4), in whole ticks.
//
// Pairs are counted in whole steps of closeness, so that a group's figure depends on its members, never on the order in
// which they came. Records are counted, also where people have several.
#pragma once
#include "judge/secrets.hpp"
#include "shared/bind.hpp"

namespace shoal {

// See `Exposure` in shoal.kernels.cluster.exposure for the fields.
struct Exposure {
    SecretsOf<i32> secrets;
    Span<const double> unit;
    i64 full;
    Span<i64> steps;
    Span<const i64> step_at;
    Table<i64> total, known, brings;
    Span<const i64> bring_at;
    Table<i64> own;

    i64 columns() const { return unit.size; }
    i64 card(i64 a) const { return secrets.whole(a, secret::CARD); }
    // A column of few values lists the steps of all pairs of them.
    bool is_listed(i64 a) const { return step_at[a] >= 0; }
    bool all_listed() const {
        for (i64 a = 0; a < columns(); ++a)
            if (!is_listed(a)) return false;
        return true;
    }
    i64 code(i64 row, i64 a) const { return secrets.codes(row, a); }
    i64 listed_steps(i64 a, i64 x, i64 y) const { return steps[step_at[a] + x * card(a) + y]; }
    i64 compute_steps(i64 a, i64 x, i64 y) const { return i64(closeness_of(secrets, a, x, y) * double(full) + 0.5); }
    // Steps that two known values add to all ordered pairs.
    i64 steps_of(i64 a, i64 x, i64 y) const { return is_listed(a) ? listed_steps(a, x, y) : compute_steps(a, x, y); }

    using Ints = Span<const i64>;
    using Fields = std::tuple<
        SecretsOf<i32>, Span<const double>, i64, Span<i64>, Ints, Table<i64>, Table<i64>, Table<i64>, Ints, Table<i64>>;
    static constexpr const char* names =
        "secrets, unit, full, steps, step_at, total, known, brings, bring_at, own";

    // `path` is that of these fields, with a dot.
    void check(const char* kernel, const std::string& path, i64 records, i64 groups) const {
        require_shape(kernel, path + "secrets.codes", secrets.codes, records, columns());
        require_shape(kernel, path + "secrets.whole", secrets.whole, columns(), 6);
        require_shape(kernel, path + "secrets.real", secrets.real, columns(), 3);
        require_shape(kernel, path + "total", total, groups, columns());
        require_shape(kernel, path + "known", known, groups, columns());
        require_shape(kernel, path + "own", own, records, columns());
        require_size(kernel, (path + "brings").c_str(), brings.rows, groups);
        require_size(kernel, (path + "step_at").c_str(), step_at.size, columns());
        require_size(kernel, (path + "bring_at").c_str(), bring_at.size, columns());
        for (i64 a = 0; a < columns(); ++a) {
            if (!is_listed(a)) continue;
            require_room(kernel, (path + "steps").c_str(), steps.size, step_at[a] + card(a) * card(a));
            require_number(kernel, (path + "bring_at").c_str(), bring_at[a], 0, brings.columns - card(a));
        }
    }
};

// Range diversity of a column in ticks, from the steps of all ordered pairs and the number of values.
inline i64 diversity(double unit, i64 full, i64 total, i64 known) {
    return known == 0 ? 0 : i64(double(total) / double(known * known * full) * unit + 0.5);
}

// Steps that a value has with some records other than `skip`, in a column of many values.
inline i64 steps_with(const Exposure& e, i64 a, i64 x, Span<const i64> rows, i64 skip) {
    i64 total = 0;
    for (i64 row : rows)
        if (row != skip && e.code(row, a) >= 0) total += e.steps_of(a, x, e.code(row, a));
    return total;
}

// Ticks of a group of these records without `skip` and with `extra` (-1: none).
inline i64 exposed(const Exposure& e, i64 g, Span<const i64> rows, i64 skip, i64 extra) {
    i64 ticks = 0;
    for (i64 a = 0; a < e.columns(); ++a) {
        i64 total = e.total(g, a), known = e.known(g, a);
        const i64 x = skip >= 0 ? e.code(skip, a) : -1, y = extra >= 0 ? e.code(extra, a) : -1;
        if (x >= 0) {
            total -= e.full + e.own(skip, a);
            --known;
        }
        if (y >= 0) {
            ++known;
            total += e.full;
            if (!e.is_listed(a)) {
                total += steps_with(e, a, y, rows, skip);
            } else {
                total += e.brings(g, e.bring_at[a] + y);
                if (x >= 0) total -= e.listed_steps(a, x, y);
            }
        }
        ticks += diversity(e.unit[a], e.full, total, known);
    }
    return ticks;
}

// A lower bound of `exposed` that looks at no pairs: as if no record had any steps with `extra`.
inline i64 least_exposed(const Exposure& e, i64 g, i64 skip, i64 extra) {
    i64 ticks = 0;
    for (i64 a = 0; a < e.columns(); ++a) {
        i64 total = e.total(g, a), known = e.known(g, a);
        if (e.code(skip, a) >= 0) {
            total -= e.full + e.own(skip, a);
            --known;
        }
        if (e.code(extra, a) >= 0) {
            total += e.full;
            ++known;
        }
        ticks += diversity(e.unit[a], e.full, total, known);
    }
    return ticks;
}

// Count the steps of every value with a group, and of its records with the others.
inline void recount_listed(const Exposure& e, i64 g, i64 a, Span<const i64> rows) {
    const i64 card = e.card(a);
    const Span<i64> brings = e.brings[g].slice(e.bring_at[a], e.bring_at[a] + card);
    brings.fill(0);
    for (i64 row : rows) {
        const i64 x = e.code(row, a);
        if (x < 0) continue;
        const Span<const i64> steps = e.steps.from(e.step_at[a] + x * card);
        for (i64 y = 0; y < card; ++y) brings[y] += steps[y];
    }
    for (i64 row : rows) {
        const i64 x = e.code(row, a);
        e.own(row, a) = x >= 0 ? brings[x] - e.listed_steps(a, x, x) : 0;
    }
}

// Count the pairs of a group anew; return its ticks.
inline i64 recount(const Exposure& e, i64 g, Span<const i64> rows) {
    for (i64 a = 0; a < e.columns(); ++a) {
        if (e.is_listed(a)) recount_listed(e, g, a, rows);
        i64 both = 0, known = 0;
        for (i64 row : rows) {
            const i64 x = e.code(row, a);
            if (x < 0) continue;
            if (!e.is_listed(a)) e.own(row, a) = steps_with(e, a, x, rows, row);
            both += e.own(row, a);
            ++known;
        }
        // Every pair was met from both of its ends, and counts both ways in either.
        e.total(g, a) = floor_div(both, 2) + known * e.full;
        e.known(g, a) = known;
    }
    return exposed(e, g, rows, -1, -1);
}

}  // namespace shoal
