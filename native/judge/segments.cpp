// Judge one group, of rows or of cells of the frequency table, against rules.
#include "judge/segments.hpp"

#include "count/histograms.hpp"
#include "shared/bind.hpp"

namespace shoal {
namespace {

// Fill in the values of the rules that look at no attribute.
void size_values(const Rules& rules, i64 size, Span<double> values) {
    for (i64 r = 0; r < rules.op.size; ++r) {
        if (rules.op[r] == SIZE) values[r] = double(size);
        else if (rules.op[r] == EXTENT) values[r] = NAN;  // smaller groups have smaller extents: the rule cannot fail
    }
}

// Count the records of a histogram whose value is known.
i64 count_known(const Rules& rules, i64 attr, Histogram h) {
    Span<const u8> flags = rules.flags(attr);
    i64 known = 0;
    for (i64 i = 0; i < h.size(); ++i)
        if (flags[h.codes[i]] == 0) known += h.counts[i];
    return known;
}

// Fill in the values of the rules that look at one attribute, given its histogram.
void attribute_values(const Rules& rules, i64 attr, Histogram h, i64 known, Span<double> values) {
    for (i64 r = 0; r < rules.op.size; ++r)
        if (rules.attr[r] == attr) values[r] = rule_value(rule_view(rules, r), h, double(known));
}

// Fill `values` with the value of every rule on these rows (NaN: no known value).
void rule_values(Span<const i32> rows, const Rules& rules, const Sensitive& data, Span<double> values) {
    Array<i32> codes(rows.size);
    Array<i64> counts(rows.size);
    size_values(rules, data.subjects.size ? distinct_subjects(rows, data.subjects, {}, {}) : rows.size, values);
    for (i64 attr = 0; attr < data.codes.rows; ++attr) {
        Span<const i32> mine = data.codes[attr];
        i64 found, known;
        if (data.people[attr] && data.subjects.size) {
            found = pair_histogram(rows, mine, data.subjects, data.n_subjects, codes, counts);
            known = distinct_subjects(rows, data.subjects, rules.flags(attr), mine);
        } else {
            i64 card = rules.card[attr];
            // The dense table is only worth its zeros for segments larger than the domain.
            Array<i64> dense(rows.size > card ? card : 0, 0);
            Array<i32> own(rows.size);
            for (i64 i = 0; i < rows.size; ++i) own[i] = mine[rows[i]];
            found = count_segment(own.span(), card, dense, codes, counts);
            known = count_known(rules, attr, {codes.slice(0, found), counts.slice(0, found)});
        }
        attribute_values(rules, attr, {codes.slice(0, found), counts.slice(0, found)}, known, values);
    }
}

// Whether every condition holds that is not freed.
bool all_hold(const Rules& rules, Span<const u8> freed, Span<const double> values) {
    for (i64 r = 0; r < rules.op.size; ++r)
        if (!freed[r] && failing(rules, values, r)) return false;
    return true;
}

// Up to so many different values are searched for one by one, before all rows are counted.
constexpr i64 FEW = 8;

// Whether these rows have `needed` different known values, which are few: often the first rows tell.
bool has_values(Span<const i32> rows, Span<const i32> values, Span<const u8> flags, double needed) {
    i32 seen[FEW];
    i64 found = 0;
    for (i32 row : rows) {
        i32 value = values[row];
        if (flags[value]) continue;
        bool fresh = true;
        for (i64 i = 0; i < found; ++i) fresh = fresh && seen[i] != value;
        if (fresh) {
            seen[found++] = value;
            if (found >= needed) return true;
        }
    }
    return false;
}

// Whether a look at few rows shows that every rule holds: sizes do already, and other rules ask for few values.
bool holds_quickly(Span<const i32> rows, const Rules& rules, const Sensitive& data) {
    if (data.subjects.size) return false;
    for (i64 r = 0; r < rules.op.size; ++r) {
        if (rules.op[r] == SIZE || rules.op[r] == EXTENT) continue;
        bool plain = rules.op[r] == DISTINCT && rules.sense[r] == AT_LEAST && rules.combine[r] == 1;
        if (!plain || rules.limit[r] > FEW) return false;
        i64 attr = rules.attr[r];
        if (!has_values(rows, data.codes[attr], rules.flags(attr), rules.limit[r])) return false;
    }
    return true;
}

bool too_small(const Rules& rules, i64 rows) {
    for (i64 r = 0; r < rules.op.size; ++r)
        if (rules.op[r] == SIZE && rows < rules.limit[r]) return true;
    return false;
}

// Merge the histograms of some cells, which have so many entries; return the number of different codes.
i64 merge_cells(
    Span<const i32> cells, const Tallies& data, i64 attr, i64 card, i64 entries, Span<i32> codes, Span<i64> counts
) {
    i64 found = 0;
    // As for rows, the dense table is only worth its zeros for segments larger than the domain.
    if (entries > card) {
        Array<i64> dense(card, 0);
        for (i32 cell : cells)
            for (i64 e = data.at(attr, cell); e < data.at(attr, cell + 1); ++e) dense[data.codes[e]] += data.counts[e];
        for (i64 code = 0; code < card; ++code)
            if (dense[code]) {
                codes[found] = i32(code);
                counts[found++] = dense[code];
            }
        return found;
    }
    Array<i64> keys(entries);
    for (i32 cell : cells)
        for (i64 e = data.at(attr, cell); e < data.at(attr, cell + 1); ++e)
            keys[found++] = (i64(data.codes[e]) << 32) + data.counts[e];
    sort_small(keys.span());
    found = 0;
    for (i64 key : keys) {
        i32 code = i32(key >> 32);
        if (found == 0 || codes[found - 1] != code) {
            codes[found] = code;
            counts[found++] = 0;
        }
        counts[found - 1] += key & 0xFFFFFFFF;
    }
    return found;
}

i64 rows_of(Span<const i32> cells, const Tallies& data) {
    i64 rows = 0;
    for (i32 cell : cells) rows += data.rows[cell];
    return rows;
}

// Fill `values` with the value of every rule on cells of so many rows (NaN: no known value).
void cell_values(Span<const i32> cells, i64 rows, const Rules& rules, const Tallies& data, Span<double> values) {
    size_values(rules, rows, values);
    for (i64 attr = 0; attr < data.at.rows; ++attr) {
        i64 card = rules.card[attr], entries = 0;
        for (i32 cell : cells) entries += data.at(attr, cell + 1) - data.at(attr, cell);
        Array<i32> codes(smaller(entries, card));
        Array<i64> counts(smaller(entries, card));
        i64 found = merge_cells(cells, data, attr, card, entries, codes, counts);
        Histogram h{codes.slice(0, found), counts.slice(0, found)};
        attribute_values(rules, attr, h, count_known(rules, attr, h), values);
    }
}

}  // namespace

bool failing(const Rules& rules, Span<const double> values, i64 r) {
    if (rules.combine[r] == 0) return false;
    double total = 0.0;
    i64 known = 0;
    for (i64 i = r; i < r + rules.combine[r]; ++i)
        if (!std::isnan(values[i])) {
            total += values[i];
            ++known;
        }
    return known > 0 && !passes(total / double(known), rules.sense[r], rules.limit[r]);
}

void unit_values(Span<const i32> units, const Judged& judged, Span<double> values) {
    if (judged.data) rule_values(units, *judged.rules, *judged.data, values);
    if (judged.tallies) cell_values(units, rows_of(units, *judged.tallies), *judged.rules, *judged.tallies, values);
}

bool segment_ok(
    Span<const i32> rows, const Rules& rules, const Sensitive& data, Span<const u8> freed, Span<double> values
) {
    if (too_small(rules, rows.size)) return false;
    if (holds_quickly(rows, rules, data)) return true;
    rule_values(rows, rules, data, values);
    return all_hold(rules, freed, values);
}

bool units_ok(Span<const i32> units, const Judged& judged, Span<const u8> freed, Span<double> values) {
    const Rules& rules = *judged.rules;
    if (judged.data && !segment_ok(units, rules, *judged.data, freed, values)) return false;
    if (!judged.tallies) return true;
    const i64 rows = rows_of(units, *judged.tallies);
    if (too_small(rules, rows)) return false;
    cell_values(units, rows, rules, *judged.tallies, values);
    return all_hold(rules, freed, values);
}

namespace {

void probe_values(Span<const i32> units, Judged judged, Span<double> values) {
    require_size("probe_rule_values", "values", values.size, judged.rules->op.size);
    unit_values(units, judged, values);
}

bool probe_ok(Span<const i32> units, Judged judged, Span<const u8> freed, Span<double> values) {
    require_size("probe_rules_hold", "freed", freed.size, judged.rules->op.size);
    require_size("probe_rules_hold", "values", values.size, judged.rules->op.size);
    return units_ok(units, judged, freed, values);
}

bool probe_failing(Rules rules, Span<const double> values, i64 r) {
    require_size("probe_failing", "values", values.size, rules.op.size);
    require_number("probe_failing", "rule", r, 0, rules.op.size - 1);
    return failing(rules, values, r);
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("probe_rule_values", "units, judged, values", &probe_values);
    kernels.add("probe_rules_hold", "units, judged, freed, values", &probe_ok);
    kernels.add("probe_failing", "rules, values, rule", &probe_failing);
}

}  // namespace shoal
