// Histograms, sizes and rows of groups.
#include "count/histograms.hpp"

#include "count/ids.hpp"
#include "shared/bind.hpp"

namespace shoal {
namespace {

// Order rows by group, leaving out those with a negative id; `offsets` (groups + 1) tells where each group begins.
Array<i32> bucket_rows(Span<const i32> ids, Span<i64> offsets) {
    require_room("bucket_rows", "offsets", offsets.size, 1);
    const i64 groups = offsets.size - 1;
    offsets.fill(0);
    for (i32 id : ids)
        if (is_in_group("bucket_rows", id, groups)) ++offsets[id + 1];
    for (i64 g = 0; g < groups; ++g) offsets[g + 1] += offsets[g];
    Array<i64> next(offsets.slice(0, groups));
    Array<i32> rows(offsets[groups]);
    for (i64 i = 0; i < ids.size; ++i)
        if (ids[i] >= 0) rows[next[ids[i]]++] = i32(i);
    return rows;
}

using Entries = std::tuple<Array<i32>, Array<i64>>;

Entries histograms(Span<const i32> rows, Span<const i64> offsets, Span<const i32> values, i64 card, Span<i64> indptr) {
    require_starts("histograms", "offsets", offsets, rows.size);
    require_size("histograms", "indptr", indptr.size, offsets.size);
    require_number("histograms", "card", card, 0, NO_LIMIT);
    const i64 groups = offsets.size - 1;
    i64 largest = 0;
    for (i64 g = 0; g < groups; ++g) largest = larger(largest, offsets[g + 1] - offsets[g]);
    Array<i32> codes(rows.size);
    Array<i64> counts(rows.size), dense(card, 0);
    // All groups share one buffer, and groups of one row need none: most groups are small.
    Array<i32> buffer(largest);
    indptr[0] = 0;
    for (i64 g = 0; g < groups; ++g) {
        const i64 start = offsets[g], at = indptr[g], size = offsets[g + 1] - start;
        if (size == 1) {
            codes[at] = values[rows[start]];
            counts[at] = 1;
            indptr[g + 1] = at + 1;
            continue;
        }
        for (i64 i = 0; i < size; ++i) buffer[i] = values[rows[start + i]];
        indptr[g + 1] = at + count_segment(buffer.slice(0, size), card, dense, codes.from(at), counts.from(at));
    }
    codes.resize(indptr[groups]);
    counts.resize(indptr[groups]);
    return {std::move(codes), std::move(counts)};
}

// Count distinct subjects with each value instead of rows.
Entries subject_histograms(
    Span<const i32> rows, Span<const i64> offsets, Span<const i32> values, Span<const i32> subjects, i64 n_subjects,
    Span<i64> indptr
) {
    require_starts("subject_histograms", "offsets", offsets, rows.size);
    require_size("subject_histograms", "subjects", subjects.size, values.size);
    if (rows.size) require_number("subject_histograms", "n_subjects", n_subjects, 1, NO_LIMIT);
    require_size("subject_histograms", "indptr", indptr.size, offsets.size);
    const i64 groups = offsets.size - 1;
    Array<i32> codes(rows.size);
    Array<i64> counts(rows.size);
    indptr[0] = 0;
    for (i64 g = 0; g < groups; ++g) {
        const i64 at = indptr[g];
        Span<const i32> segment = rows.slice(offsets[g], offsets[g + 1]);
        indptr[g + 1] = at + pair_histogram(segment, values, subjects, n_subjects, codes.from(at), counts.from(at));
    }
    codes.resize(indptr[groups]);
    counts.resize(indptr[groups]);
    return {std::move(codes), std::move(counts)};
}

// Count the records of each group whose value is not flagged; with subjects, count people.
void known_sizes(
    Span<const i32> rows, Span<const i64> offsets, Span<const i32> subjects, Span<const u8> flags,
    Span<const i32> values, Span<i64> sizes
) {
    require_starts("known_sizes", "offsets", offsets, rows.size);
    require_size("known_sizes", "sizes", sizes.size, offsets.size - 1);
    if (subjects.size && flags.size) require_size("known_sizes", "values", values.size, subjects.size);
    for (i64 g = 0; g < sizes.size; ++g) {
        Span<const i32> segment = rows.slice(offsets[g], offsets[g + 1]);
        if (subjects.size) {
            sizes[g] = distinct_subjects(segment, subjects, flags, values);
            continue;
        }
        sizes[g] = 0;
        for (i32 row : segment) sizes[g] += flags.size == 0 || flags[values[row]] == 0;
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("bucket_rows", "ids, offsets", &bucket_rows);
    kernels.add("histograms", "rows, offsets, values, card, indptr", &histograms);
    kernels.add("subject_histograms", "rows, offsets, values, subjects, n_subjects, indptr", &subject_histograms);
    kernels.add("known_sizes", "rows, offsets, subjects, flags, values, sizes", &known_sizes);
}

}  // namespace shoal
