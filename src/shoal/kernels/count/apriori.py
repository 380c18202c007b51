"""k^m-anonymity of sets of items, class by class: how few share up to m items, and what becomes of the items.

The method is apriori anonymisation (Terrovitis, Mamoulis & Kalnis, VLDB 2008) on one class at a time: combinations of
1, 2, ..., m labels are counted in turn, and a label of each that too few records share is raised to its parent with
everything below that, or suppressed, whichever loses less.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel

GONE = -1  # an item that is suppressed


@kernel
def _labels_of(items: np.ndarray, start: int, stop: int, label: np.ndarray, out: np.ndarray) -> int:
    """The different labels of one cell, ascending, into ``out``; returns how many."""
    count = 0
    for at in range(start, stop):
        mine = label[items[at]]
        if mine < 0:
            continue
        place = count
        while place > 0 and out[place - 1] > mine:
            place -= 1
        if place > 0 and out[place - 1] == mine:
            continue
        for move in range(count, place, -1):
            out[move] = out[move - 1]
        out[place] = mine
        count += 1
    return count


@kernel
def _choose(n: int, size: int) -> int:
    found = 1
    for i in range(size):
        found = found * (n - i) // (i + 1)
    return found


@kernel
def _combine(labels: np.ndarray, count: int, size: int, base: int, keys: np.ndarray, at: int) -> int:
    """Every combination of ``size`` labels as one number, from ``keys[at]`` on; returns where they end."""
    if count < size:
        return at
    place = np.arange(size)
    while True:
        key = np.int64(0)
        for i in range(size):
            key = key * base + labels[place[i]]
        keys[at] = key
        at += 1
        moved = size - 1
        while moved >= 0 and place[moved] == count - size + moved:
            moved -= 1
        if moved < 0:
            return at
        place[moved] += 1
        for i in range(moved + 1, size):
            place[i] = place[i - 1] + 1


@kernel
def _supports(
    ptr: np.ndarray, items: np.ndarray, counts: np.ndarray, span: tuple, label: np.ndarray, size: int, base: int
) -> tuple:
    """Combinations of ``size`` labels in the cells of one class, ascending, and the records that share each."""
    first, last = span
    widest = 0
    for cell in range(first, last):
        widest = max(widest, ptr[cell + 1] - ptr[cell])
    labels = np.empty(widest, dtype=np.int64)
    total = 0
    for cell in range(first, last):
        total += _choose(_labels_of(items, ptr[cell], ptr[cell + 1], label, labels), size)
    keys, weight, at = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64), 0
    for cell in range(first, last):
        end = _combine(labels, _labels_of(items, ptr[cell], ptr[cell + 1], label, labels), size, base, keys, at)
        weight[at:end] = counts[cell]
        at = end
    order = np.argsort(keys)
    found, shared, n = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64), 0
    for place in order:
        if n and found[n - 1] == keys[place]:
            shared[n - 1] += weight[place]
        else:
            found[n], shared[n] = keys[place], weight[place]
            n += 1
    return found[:n], shared[:n]


@kernel
def fewest_sharing(
    groups: np.ndarray, ptr: np.ndarray, items: np.ndarray, counts: np.ndarray, labels: int, m: int
) -> np.ndarray:
    """The fewest records of each class that share up to m labels that one of them has; 0 where none has any.

    Parameters
    ----------
    groups
        int64 (classes + 1): the cells of each class.
    ptr, items
        The labels of cell c are ``items[ptr[c]:ptr[c + 1]]``, negative ones none.
    counts
        Records of each cell.
    labels
        Number of labels.
    """
    out = np.zeros(groups.size - 1, dtype=np.int64)
    same = np.arange(labels)
    negative = np.empty(items.size, dtype=np.int64)
    for i in range(items.size):
        negative[i] = labels if items[i] < 0 else items[i]
    label = np.append(same, -1)
    for group in range(out.size):
        for size in range(1, m + 1):
            found, shared = _supports(
                ptr, negative, counts, (groups[group], groups[group + 1]), label, size, labels + 1
            )
            if shared.size:
                least = shared.min()
                out[group] = least if out[group] == 0 else min(out[group], least)
    return out


@kernel
def _under(label: int, node: int, parent: np.ndarray) -> bool:
    """Whether a label is a node or lies below it."""
    while label >= 0 and label != node:
        label = parent[label]
    return label == node


@kernel
def _loss(here: np.ndarray, node: int, parent: np.ndarray, leaves: np.ndarray, weight: np.ndarray) -> int:
    """What it costs to raise everything below a node to it, in leaves and records."""
    lost = 0
    for label in here:
        if weight[label] and _under(label, node, parent):
            lost += weight[label] * (leaves[node] - leaves[label])
    return lost


@kernel
def _raise(
    key: int, size: int, base: int, here: np.ndarray, parent: np.ndarray, leaves: np.ndarray, weight: np.ndarray,
    changed: np.ndarray,
) -> tuple:  # fmt: skip
    """Which label of a combination is raised, and to what (GONE: suppressed), -2 where one has changed already."""
    best, chosen, to = np.int64(-1), -2, GONE
    whole = leaves[-1]
    for _ in range(size):
        label = key % base
        key //= base
        if changed[label] == changed[-1]:
            return -2, GONE
        up = parent[label]
        lost = weight[label] * (whole + 1 - leaves[label])
        node = GONE
        if up >= 0:
            raised = _loss(here, up, parent, leaves, weight)
            if raised <= lost:
                lost, node = raised, up
        if chosen == -2 or lost < best:
            best, chosen, to = lost, label, node
    return chosen, to


@kernel
def anonymise_items(
    groups: np.ndarray, ptr: np.ndarray, items: np.ndarray, counts: np.ndarray, parent: np.ndarray,
    leaves: np.ndarray, k: int, m: int,
) -> np.ndarray:  # fmt: skip
    """What becomes of each item of each cell: a node, or GONE; in every class each item becomes the same.

    Parameters
    ----------
    groups, ptr, items, counts
        As for `fewest_sharing`; items are leaves of the tree, whose nodes they are numbered with.
    parent, leaves
        The node above each, -1 at the top, and how many leaves lie below; the last node is the top.
    k, m
        Up to m items that a record has are shared by k records of its class at least.
    """
    out = np.empty(items.size, dtype=np.int64)
    base = parent.size
    label, weight = np.arange(base), np.zeros(base, dtype=np.int64)
    changed = np.zeros(base + 1, dtype=np.int64)  # in which pass a label changed; behind them the pass that it is
    for group in range(groups.size - 1):
        first, last = groups[group], groups[group + 1]
        mine = np.unique(items[ptr[first] : ptr[last]])
        for size in range(1, m + 1):
            while True:
                keys, shared = _supports(ptr, items, counts, (first, last), label, size, base)
                few = keys[shared < k]
                if few.size == 0:
                    break
                singles, often = _supports(ptr, items, counts, (first, last), label, 1, base)
                weight[singles] = often
                changed[base] += 1
                for key in few:
                    old, new = _raise(key, size, base, singles, parent, leaves, weight, changed)
                    if old == -2:
                        continue
                    for item in mine:
                        now = label[item]
                        if now >= 0 and (now == old or (new >= 0 and _under(now, new, parent))):
                            changed[now] = changed[base]
                            label[item] = new
                    if new >= 0:
                        changed[new] = changed[base]
        for at in range(ptr[first], ptr[last]):
            out[at] = label[items[at]]
        for item in mine:
            label[item] = item
    return out
