// Judge one group, of rows or of cells of the frequency table, against rules.
#pragma once
#include "judge/rules.hpp"

namespace shoal {

// Sensitive attributes of rows. codes: (attributes, rows); people: 1 where an attribute is counted by subjects; subjects: one
// a row, empty where each row is a person.
struct Sensitive {
    Table<const i32> codes;
    Span<const u8> people;
    Span<const i32> subjects;
    i64 n_subjects;

    void check(const char* kernel) const {
        require_size(kernel, "people", people.size, codes.rows);
        if (!subjects.size) return;
        require_size(kernel, "subjects", subjects.size, codes.columns);
        require_number(kernel, "n_subjects", n_subjects, 1, NO_LIMIT);
    }

    using Fields = std::tuple<Table<const i32>, Span<const u8>, Span<const i32>, i64>;
    static constexpr const char* names = "codes, people, subjects, n_subjects";
};

// Histograms of the cells of a frequency table. codes, counts: one attribute after another; at: (attributes, cells + 1),
// where those of each cell begin; rows: the number of rows of each cell.
struct Tallies {
    Span<const i32> codes;
    Span<const i64> counts;
    Table<const i64> at;
    Span<const i64> rows;

    void check(const char* kernel) const {
        require_size(kernel, "counts", counts.size, codes.size);
        require_size(kernel, "at's columns", at.columns, rows.size + 1);
        // Only the ends: some kernels are called for a few of many cells.
        for (i64 a = 0; a < at.rows; ++a) {
            require_number(kernel, "at", at(a, 0), 0, codes.size);
            require_number(kernel, "at", at(a, rows.size), at(a, 0), codes.size);
        }
    }

    using Fields = std::tuple<Span<const i32>, Span<const i64>, Table<const i64>, Span<const i64>>;
    static constexpr const char* names = "codes, counts, at, rows";
};

// Rules, and the data of the rows or the cells that they judge: one of both. Without rules the number of rows decides alone.
struct Judged {
    Optional<Rules> rules;
    Optional<Sensitive> data;
    Optional<Tallies> tallies;

    void check(const char* kernel) const {
        const i64 attributes = rules ? rules->card.size : 0;
        if (data) require_size(kernel, "data.codes", data->codes.rows, attributes);
        if (tallies) require_size(kernel, "tallies.at", tallies->at.rows, attributes);
    }

    using Fields = std::tuple<Optional<Rules>, Optional<Sensitive>, Optional<Tallies>>;
    static constexpr const char* names = "rules, data, tallies";
};

// Whether the condition that starts at rule `r` fails; an averaged one leaves unknown attributes out.
bool failing(const Rules& rules, Span<const double> values, i64 r);

// Fill `values` with the value of every rule on some rows or cells.
void unit_values(Span<const i32> units, const Judged& judged, Span<double> values);

// Whether rows satisfy every rule that is not freed; cheap size failures come first.
bool segment_ok(
    Span<const i32> rows, const Rules& rules, const Sensitive& data, Span<const u8> freed, Span<double> values
);

// Whether some rows or cells satisfy every rule that is not freed.
bool units_ok(Span<const i32> units, const Judged& judged, Span<const u8> freed, Span<double> values);

}  // namespace shoal
