// Numbers of groups, one a row.
#pragma once
#include "shared/bind.hpp"

namespace shoal {

// Whether a row is in a group; negative ids are in none. Refuse an id beyond the groups. One comparison a row.
inline bool is_in_group(const char* kernel, i64 id, i64 groups) {
    if (u64(id) < u64(groups)) return true;
    if (id >= 0) require_number(kernel, "ids", id, -1, groups - 1);
    return false;
}

}  // namespace shoal
