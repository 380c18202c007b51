// Minimal sample uniques: the smallest sets of keys on which a record is alone (Elliot, Manning & Ford 2002).
#include "shared/bind.hpp"

namespace shoal {
namespace {

constexpr i32 NOBODY = -1;
// Sets of keys are the bits of a number.
constexpr i64 MOST_KEYS = 63;
// Where items of one code go: behind those alone, nowhere, or from a place on (0 and above).
constexpr i32 ALONE = -1;
constexpr i32 GONE = -2;

// Groups of items that agree on some keys.
struct Groups {
    Span<i32> rows, starts;
    i64 count;
};

// Of one code among the items of a group.
struct Code {
    i32 items;
    i32 owner;  // NOBODY where there are several; later where its items go
    i32 could;  // items that could still be alone
};

// Split groups by one more key: groups of several owners into `made`, items with one owner into `alone`; return how many
// are alone. Without `keep` no groups are made.
i64 refine(
    Span<const i32> column, Span<const i32> owner, const Groups& groups, bool keep, Groups& made, Span<i32> alone,
    Span<Code> codes, Span<i32> touched
) {
    i64 single = 0;
    i32 place = 0;
    made.count = 0;
    for (i64 g = 0; g < groups.count; ++g) {
        Span<const i32> rows = groups.rows.slice(groups.starts[g], groups.starts[g + 1]);
        i64 values = 0;
        for (i32 row : rows) {
            const i32 code = column[row], mine = owner[row];
            Code& here = codes[code];
            if (here.items == 0) {
                touched[values++] = code;
                here.owner = mine;
                here.could = 0;
            } else if (here.owner != mine) {
                here.owner = NOBODY;
            }
            ++here.items;
            here.could += mine != NOBODY;
        }
        for (i32 code : touched.slice(0, values)) {
            Code& here = codes[code];
            if (here.owner != NOBODY) {
                here.owner = ALONE;
            } else if (!keep || here.could == 0) {
                here.owner = GONE;
            } else {
                here.owner = place;
                made.starts[made.count++] = place;
                place += here.items;
            }
            here.items = 0;
        }
        for (i32 row : rows) {
            i32& slot = codes[column[row]].owner;
            if (slot == ALONE) alone[single++] = row;
            else if (slot >= 0) made.rows[slot++] = row;
        }
    }
    made.starts[made.count] = place;
    return single;
}

// The sets found so far: item, keys as bits, and the item's set before it. They are in arrays of Python's as long as
// there is room.
struct Sets {
    Span<i32> items;
    Span<i64> masks, earlier;
    i64 count;
    Array<i32> own_items;
    Array<i64> own_masks, own_earlier;

    void add(i32 item, i64 mask, i64 before) {
        if (count == items.size) {
            grow(items, own_items);
            grow(masks, own_masks);
            grow(earlier, own_earlier);
        }
        items[count] = item, masks[count] = mask, earlier[count] = before;
        ++count;
    }

private:
    template <class T>
    static void grow(Span<T>& now, Array<T>& own) {
        Array<T> bigger(larger(i64(1), 2 * now.size));
        bigger.slice(0, now.size).copy(now);
        own = std::move(bigger);
        now = own.span();
    }
};

std::tuple<i64, Array<i32>, Array<i64>, Array<i64>> extend_uniques(
    Table<const i32> codes, Span<const i64> cards, Span<const i32> owner, i64 top, i64 most, Span<i64> last,
    Span<i32> items, Span<i64> masks, Span<i64> earlier, i64 found
) {
    const i64 n = owner.size;
    require_size("extend_uniques", "codes' columns", codes.columns, n);
    require_size("extend_uniques", "cards", cards.size, codes.rows);
    require_size("extend_uniques", "last", last.size, n);
    require_size("extend_uniques", "masks", masks.size, items.size);
    require_size("extend_uniques", "earlier", earlier.size, items.size);
    require_number("extend_uniques", "top", top, 0, smaller(codes.rows, MOST_KEYS) - 1);
    require_number("extend_uniques", "found", found, 0, items.size);
    require_number("extend_uniques", "most", most, 1, NO_LIMIT);
    most = smaller(most, codes.rows);
    Sets sets{items, masks, earlier, found, Array<i32>(0), Array<i64>(0), Array<i64>(0)};
    i64 largest = 0;
    for (i64 card : cards) largest = larger(largest, card);
    // Depth by depth: the groups, the next key to try and the key where trying ends.
    Grid<i32> rows(most + 1, n), starts(most + 1, larger(n, i64(1)) + 1);
    Array<i64> counts(most + 1, 0), ends(most + 1), tried(most + 1);
    Array<i32> alone(n), touched(largest);
    Array<Code> seen(largest, Code{0, 0, 0});
    for (i64 i = 0; i < n; ++i) rows(0, i) = i32(i);
    starts(0, 0) = 0, starts(0, 1) = i32(n), counts[0] = 1;
    // At the root only `top` is tried; below it every lower key, the lowest first.
    ends[0] = top + 1, tried[0] = top;
    i64 depth = 0, mask = 0;
    while (depth >= 0) {
        const i64 key = tried[depth];
        if (key >= ends[depth]) {
            if (--depth >= 0) mask ^= i64(1) << (tried[depth] - 1);
            continue;
        }
        tried[depth] = key + 1;
        const i64 here = mask | (i64(1) << key);
        const bool keep = key > 0 && depth + 1 < most;
        const Groups groups{rows[depth], starts[depth], counts[depth]};
        Groups made{rows[depth + 1], starts[depth + 1], 0};
        const i64 single = refine(codes[key], owner, groups, keep, made, alone, seen, touched);
        counts[depth + 1] = made.count;
        for (i32 row : alone.slice(0, single)) {
            // A set inside this one makes this one not minimal.
            i64 at = last[row];
            while (at >= 0 && (sets.masks[at] & here) != sets.masks[at]) at = sets.earlier[at];
            if (at >= 0) continue;
            sets.add(row, here, last[row]);
            last[row] = sets.count - 1;
        }
        if (made.count > 0) {
            ++depth;
            mask = here;
            ends[depth] = key, tried[depth] = 0;
        }
    }
    return {sets.count, std::move(sets.own_items), std::move(sets.own_masks), std::move(sets.own_earlier)};
}

}  // namespace

SHOAL_KERNELS {
    kernels.add("extend_uniques", "codes, cards, owner, top, most, last, items, masks, earlier, found", &extend_uniques);
}

}  // namespace shoal
