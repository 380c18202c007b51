// Count one node of a generalisation lattice on the frequency table.
//
// Combinations of leaf codes are stored sorted, so that neighbours fall into the same class at most nodes, and the slots
// of the tables below are in the cache.
#pragma once
#include <tuple>

#include "shared/bind.hpp"

namespace shoal {

// A hash table of classes. table: class in each of at least twice as many slots as there are combinations; keys: key of
// each class.
struct Slots {
    Span<i32> table;
    Span<u64> keys;

    using Fields = std::tuple<Span<i32>, Span<u64>>;
    static constexpr const char* names = "table, keys";
};

// Levels of the attributes. cards: (attributes, levels), nodes of each level; row_at: where an attribute's rows of codes
// start, and where the last one's end; card_at: where its leaf codes start in the list of all attributes'; labels: (levels,
// leaf codes), node of each leaf code.
struct LatticeLayout {
    Table<const i64> cards;
    Span<const i64> row_at, card_at;
    Table<const i32> labels;

    i64 attributes() const { return cards.rows; }
    i64 levels(i64 a) const { return row_at[a + 1] - row_at[a]; }
    i64 all_levels() const { return row_at[attributes()]; }
    i64 all_codes() const { return card_at[attributes()]; }

    void check(const char* kernel) const {
        require_size(kernel, "row_at", row_at.size, attributes() + 1);
        require_starts(kernel, "row_at", row_at, NO_LIMIT);
        require_size(kernel, "card_at", card_at.size, attributes() + 1);
        require_starts(kernel, "card_at", card_at, labels.columns);
        require_size(kernel, "labels", labels.rows, cards.columns);
        for (i64 a = 0; a < attributes(); ++a) require_room(kernel, "labels", labels.rows, levels(a));
    }

    // Refuse levels that an attribute does not have.
    void require_levels(const char* kernel, Span<const i64> given) const {
        require_size(kernel, "levels", given.size, attributes());
        for (i64 a = 0; a < attributes(); ++a) require_number(kernel, "levels", given[a], 0, levels(a) - 1);
    }

    using Fields = std::tuple<Table<const i64>, Span<const i64>, Span<const i64>, Table<const i32>>;
    static constexpr const char* names = "cards, row_at, card_at, labels";
};

// Buffers, one entry a combination: narrow and wide keys, class, and size and first combination of a class.
struct Room {
    Span<i32> narrow;
    Span<i64> wide;
    Span<i32> class_of;
    Span<i64> sizes;
    Span<i32> first;

    using Fields = std::tuple<Span<i32>, Span<i64>, Span<i32>, Span<i64>, Span<i32>>;
    static constexpr const char* names = "narrow, wide, class_of, sizes, first";
};

// Mixed-radix key of every combination at a node whose attributes use the given rows of `codes`.
//
// Keys of 32 bits where they fit: the compiler then handles twice as many combinations at once.
template <class Key>
void node_keys(Table<const i32> codes, Span<const i64> rows, Span<const i64> cards, Span<Key> keys) {
    constexpr i64 BLOCK = 2048;
    for (i64 start = 0; start < keys.size; start += BLOCK) {
        Span<Key> block = keys.slice(start, smaller(keys.size, start + BLOCK));
        block.fill(0);
        for (i64 j = 0; j < rows.size; ++j) {
            const i32* row = codes[rows[j]].data + start;
            Key card = Key(cards[j]);
            for (i64 i = 0; i < block.size; ++i) block.data[i] = block.data[i] * card + row[i];
        }
    }
}

// Number the classes by first appearance and add up their rows; return how many there are.
template <class Key>
i64 number_classes(Span<const Key> keys, i64 space, const Slots& slots, Span<const i64> weight, const Room& room) {
    constexpr i64 DENSE = 4;  // keys that are at most so many times as many as combinations are their own slots
    bool dense = space <= smaller(slots.table.size, DENSE * keys.size);
    i64 bits = 4;
    while (i64(1) << bits < 2 * keys.size) ++bits;
    Span<i32> table = slots.table.slice(0, dense ? space : i64(1) << bits);
    table.fill(-1);
    u64 mask = u64(table.size - 1), shift = u64(64 - bits);
    i32 found = 0;
    for (i64 i = 0; i < keys.size; ++i) {
        u64 key = u64(keys[i]), slot = dense ? key : (key * 0x9E3779B97F4A7C15u) >> shift;
        i32 group = table[i64(slot)];
        if (!dense) {
            while (group >= 0 && slots.keys[group] != key) {
                slot = (slot + 1) & mask;
                group = table[i64(slot)];
            }
        }
        if (group < 0) {
            group = found++;
            table[i64(slot)] = group;
            slots.keys[group] = key;
            room.sizes[group] = 0;
            room.first[group] = i32(i);
        }
        room.class_of[i] = group;
        room.sizes[group] += weight[i];
    }
    return found;
}

// Number the classes that some rows of `codes` make; -1 when their keys do not fit into 64 bits.
inline i64 count_rows(
    Table<const i32> codes, Span<const i64> rows, Span<const i64> cards, Span<const i64> weight, const Slots& slots,
    const Room& room
) {
    constexpr i64 SPACE = i64(1) << 62;
    i64 space = 1;
    for (i64 card : cards) {
        if (space > SPACE / card) return -1;
        space *= card;
    }
    if (space < i64(1) << 31) {
        Span<i32> narrow = room.narrow.slice(0, weight.size);
        node_keys(codes, rows, cards, narrow);
        return number_classes<i32>(narrow, space, slots, weight, room);
    }
    Span<i64> wide = room.wide.slice(0, weight.size);
    node_keys(codes, rows, cards, wide);
    return number_classes<i64>(wide, space, slots, weight, room);
}

// Number a node's classes; -1 when its keys do not fit into 64 bits.
inline i64 count_node(
    Table<const i32> codes, Span<const i64> weight, const LatticeLayout& layout, Span<const i64> levels, const Slots& slots,
    const Room& room
) {
    Array<i64> rows(levels.size), cards(levels.size);
    i64 used = 0;
    for (i64 a = 0; a < levels.size; ++a) {
        i64 card = layout.cards(a, levels[a]);
        if (card <= 1) continue;
        rows[used] = layout.row_at[a] + levels[a];
        cards[used++] = card;
    }
    return count_rows(codes, rows.slice(0, used), cards.slice(0, used), weight, slots, room);
}

}  // namespace shoal
