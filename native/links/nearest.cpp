// Nearest centres of points that have numbers and codes.
#include "shared/bind.hpp"

namespace shoal {
namespace {

// Sums that differ by rounding alone are ties.
constexpr double ROUNDING = 1e-9;

void nearest_block(
    Table<const double> points, Table<const i32> codes, Table<const double> centres, Table<const i32> labels,
    Span<const double> sizes, Span<i32> first, Span<double> best, Span<double> tied, i64 start, i64 stop
) {
    require_size("nearest_block", "codes", codes.rows, points.rows);
    require_size("nearest_block", "centres' columns", centres.columns, points.columns);
    require_size("nearest_block", "labels' columns", labels.columns, codes.columns);
    require_size("nearest_block", "labels", labels.rows, centres.rows);
    require_size("nearest_block", "sizes", sizes.size, centres.rows);
    require_size("nearest_block", "first", first.size, points.rows);
    require_size("nearest_block", "best", best.size, points.rows);
    require_size("nearest_block", "tied", tied.size, points.rows);
    require_range("nearest_block", start, stop, points.rows);
    for (i64 i = start; i < stop; ++i) {
        Span<const double> point = points[i];
        Span<const i32> code = codes[i];
        i32 nearest = -1;
        double least = std::numeric_limits<double>::infinity(), weight = 0.0;
        for (i64 c = 0; c < centres.rows; ++c) {
            const double limit = least + ROUNDING;
            Span<const double> centre = centres[c];
            Span<const i32> label = labels[c];
            double distance = 0.0;
            for (i64 j = 0; j < label.size; ++j)
                if (code[j] != label[j]) distance += 1.0;
            for (i64 j = 0; j < centre.size; ++j) {
                const double step = point[j] - centre[j];
                if (step == step) distance += step * step;
                if (distance > limit) break;
            }
            if (distance > limit) continue;
            if (distance < least - ROUNDING) nearest = i32(c), weight = 0.0;
            least = smaller(least, distance);
            weight += sizes[c];
        }
        first[i] = nearest, best[i] = least, tied[i] = weight;
    }
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("nearest_block", "points, codes, centres, labels, sizes, first, best, tied, start, stop", &nearest_block);
}

}  // namespace shoal
