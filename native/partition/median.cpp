// Median-based pre-partitioning (Loukides 2008, Algorithm 2): halve rows along their widest column, again and again.
#include "partition/mondrian.hpp"
#include "shared/bind.hpp"

namespace shoal {
namespace {

// Halve one part; of rows with the median value the first ones go left. Return the middle, or lo if it is too small.
template <class Code>
i64 halve(const Work<Code>& work, i64 lo, i64 hi, const Prices& p, i64 size) {
    const i64 half = (hi - lo) / 2;
    if (half < size) return lo;
    Array<Code> low(work.codes.columns), high(work.codes.columns);
    ranges(work.codes, lo, hi, low.span(), high.span());
    const i64 a = widest(widths_of(work.codes, lo, hi, p, Limits<Code>{low, high}));
    if (low[a] == high[a]) return lo + half;  // all rows are alike, and in order already
    const Median median = lower_median(work.codes, lo, hi, a, low[a], high[a], Once{});
    return move_rows(work, lo, hi, {a, median.value, half - median.below, half}, Once{}, Once{});
}

template <class Code>
i64 halve_part(const Work<Code>& work, i64 lo, i64 hi, const Prices& p, i64 size) {
    work.check("halve_part", p);
    require_number("halve_part", "lo", lo, 0, work.codes.rows);
    require_number("halve_part", "hi", hi, lo, work.codes.rows);
    require_number("halve_part", "size", size, 1, NO_LIMIT);
    return halve(work, lo, hi, p, size);
}

// Halve the part between two known starts to the end, and fill in the starts between them: 1, 3, 7, ... of them.
template <class Code>
void halve_parts(const Work<Code>& work, Span<i64> starts, i64 first, i64 last, const Prices& p, i64 size) {
    work.check("halve_parts", p);
    require_room("halve_parts", "starts", starts.size, 1);
    require_number("halve_parts", "first", first, 0, starts.size - 1);
    require_number("halve_parts", "last", last, first, starts.size - 1);
    i64 parts = 1;
    while (parts < last - first) parts *= 2;
    require_number("halve_parts", "last", last, first + parts, first + parts);
    const i64 ends[] = {starts[first], starts[last]};
    require_starts("halve_parts", "starts", {ends, 2}, work.codes.rows);
    require_number("halve_parts", "size", size, 1, NO_LIMIT);
    for (i64 step = last - first; step > 1; step /= 2)
        for (i64 at = first; at < last; at += step)
            starts[at + step / 2] = halve(work, starts[at], starts[at + step], p, size);
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("halve_part", "work, lo, hi, prices, size", &halve_part<i16>, &halve_part<i32>);
    kernels.add("halve_parts", "work, starts, first, last, prices, size", &halve_parts<i16>, &halve_parts<i32>);
}

}  // namespace shoal
