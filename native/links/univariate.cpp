// Optimal microaggregation of one sorted column as a shortest path (Hansen & Mukherjee 2003).
#include "shared/bind.hpp"

namespace shoal {
namespace {

void shortest_path(Span<const double> values, i64 k, Span<i32> ids) {
    require_size("shortest_path", "ids", ids.size, values.size);
    require_number("shortest_path", "k", k, 1, NO_LIMIT / 2);
    const i64 n = values.size;
    if (n < 2 * k) {
        ids.fill(0);
        return;
    }
    Array<double> cost(n + 1, std::numeric_limits<double>::infinity());
    Array<i64> before(n + 1, 0);
    cost[0] = 0.0;
    for (i64 end = k; end <= n; ++end) {
        double mean = 0.0, spread = 0.0;
        const i64 longest = smaller(2 * k - 1, end);
        for (i64 size = 1; size <= longest; ++size) {
            // One value more at the front of the run: mean and spread by Welford's update.
            const double x = values[end - size], gap = x - mean;
            mean += gap / double(size);
            spread += gap * (x - mean);
            if (size >= k && cost[end - size] + spread < cost[end]) {
                cost[end] = cost[end - size] + spread;
                before[end] = end - size;
            }
        }
    }
    i32 group = 0;
    for (i64 end = n; end > 0; end = before[end]) ids.slice(before[end], end).fill(group++);
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("shortest_path", "values, k, ids", &shortest_path);
}

}  // namespace shoal
