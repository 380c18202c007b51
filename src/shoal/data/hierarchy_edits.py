"""Edits of a hierarchy, each a new one: labels renamed, moved, merged, split; levels added and dropped.

``apply_edit`` reads them as sentences, as ``shoal hierarchy edit`` takes them::

    rename OLD to NEW
    move LABEL under PARENT
    merge LABEL, LABEL as NEW
    split LABEL into NEW: CHILD, CHILD; NEW: CHILD
    add level above 0: NEW = LABEL, LABEL; NEW = LABEL
    drop level 1

A label with blanks, commas or other marks in it may be written in double quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.data.hierarchy import MISSING, Hierarchy
from shoal.errors import HierarchyError
from shoal.params import nearest

_VERBS = ("rename", "move", "merge", "split", "add", "drop")
_FORMS = {
    "rename": "rename OLD to NEW",
    "move": "move LABEL under PARENT",
    "merge": "merge LABEL, LABEL as NEW",
    "split": "split LABEL into NEW: CHILD, CHILD; NEW: CHILD",
    "add": "add level above 0: NEW = LABEL, LABEL; NEW = LABEL",
    "drop": "drop level 1",
}
_TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([,;:=])|([^\s,;:="]+))')
Token = tuple[str, bool]  # the text, and whether it stood in quotes


def rename(tree: Hierarchy, old: str, new: str) -> Hierarchy:
    """Call a node otherwise, on every level where it stands; values keep their names.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "mammal", "*"], ["dog", "mammal", "*"], ["carp", "fish", "*"]])
    >>> rename(tree, "fish", "fishes").labels[1]
    ('mammal', 'fishes')
    """
    levels = _levels_of(tree, old)
    if levels[0] == 0:
        _refuse_value(tree, old)
    if levels[-1] == tree.height:
        raise HierarchyError(f"'{old}' is the root of the hierarchy of '{tree.name}', which keeps its name.")
    return _made(tree, [[new if label == old else label for label in path] for path in tree.rows()])


def move(tree: Hierarchy, label: str, under: str) -> Hierarchy:
    """Put a node, with all below it, under another parent.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "mammal", "*"], ["newt", "fish", "*"], ["carp", "fish", "*"]])
    >>> move(tree, "newt", "mammal").labels[0]
    ('cat', 'newt', 'carp')
    """
    below, above = _levels_of(tree, label), _levels_of(tree, under)
    parent = above[-1] if label == under else above[0]
    here = max((level for level in below if level < parent), default=None)
    if here is None:
        raise HierarchyError(
            f"'{under}' is not above the level of '{label}' in the hierarchy of '{tree.name}': name a parent."
        )
    paths = tree.rows()
    target = next(path for path in paths if path[parent] == under)
    # Between the two levels it stands alone, so that nothing else moves with it.
    moved = [
        [*path[: here + 1], *[label] * (parent - here - 1), *target[parent:]] if path[here] == label else path
        for path in paths
    ]
    return _made(tree, moved)


def merge(tree: Hierarchy, labels: Sequence[str], new: str) -> Hierarchy:
    """Make one node of several of a level; it is where the first of them was. Values get one above them.

    Examples
    --------
    >>> rows = [["a", "x", "top", "*"], ["b", "y", "top", "*"], ["c", "z", "rest", "*"]]
    >>> merge(Hierarchy.from_rows("v", rows), ["x", "z"], "xz").rows()[1]
    ['c', 'xz', 'top', '*']
    """
    if len(set(labels)) < 2:
        raise HierarchyError(f"A merge in the hierarchy of '{tree.name}' needs two labels or more.")
    common = set.intersection(*(set(_levels_of(tree, label)) for label in labels))
    if not common:
        raise HierarchyError(
            f"The labels to merge in the hierarchy of '{tree.name}' stand on no level together: name those of one."
        )
    level = max(common)
    if level == 0:
        return add_level(tree, 0, {new: labels})
    paths = tree.rows()
    target = next(path for path in paths if path[level] == labels[0])
    wanted = set(labels)
    return _made(
        tree, [[*path[:level], new, *target[level + 1 :]] if path[level] in wanted else path for path in paths]
    )


def split(tree: Hierarchy, label: str, parts: Mapping[str, Sequence[str]]) -> Hierarchy:
    """Part a node into several, by its children; those not named stay with the old label.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "pet", "*"], ["dog", "pet", "*"], ["carp", "pet", "*"], ["ox", "*"]])
    >>> split(tree, "pet", {"mammal": ["cat", "dog"], "fish": ["carp"]}).labels[1]
    ('mammal', 'fish', 'ox')
    """
    levels = _levels_of(tree, label)
    level = levels[0]
    if level == 0:
        raise HierarchyError(f"'{label}' is a value of '{tree.name}', which has nothing below it to part by.")
    if level == tree.height:
        raise HierarchyError(f"'{label}' is the root of the hierarchy of '{tree.name}': add a level below it instead.")
    paths = tree.rows()
    place = _places(tree, parts)
    children = {one for path in paths if path[level] == label for one in path[:level]}
    for child in place:
        if child not in children:
            raise HierarchyError(f"'{child}' is not below '{label}' in the hierarchy of '{tree.name}': name children.")

    def part(path: list[str]) -> str:
        return next((place[one] for one in path[:level] if one in place), label)

    return _made(
        tree, [[*path[:level], part(path), *path[level + 1 :]] if path[level] == label else path for path in paths]
    )


def add_level(tree: Hierarchy, above: int, groups: Mapping[str, Sequence[str]]) -> Hierarchy:
    """Put one more level above one that there is; labels in no group stay as they are.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "*"], ["dog", "*"], ["carp", "*"]])
    >>> add_level(tree, 0, {"mammal": ["cat", "dog"]}).rows()[0]
    ['cat', 'mammal', '*']
    """
    if not 0 <= above < tree.height:
        raise HierarchyError(f"A level of '{tree.name}' can be added above 0 to {tree.height - 1}: got {above}.")
    place = _places(tree, groups)
    for label in place:
        if label not in tree.labels[above]:
            where = f"level {above} of the hierarchy of '{tree.name}'"
            raise HierarchyError(f"'{label}' is not on {where}: {_near(tree, label)}")
    paths = tree.rows()
    return _made(tree, [[*one[: above + 1], place.get(one[above], one[above]), *one[above + 1 :]] for one in paths])


def drop_level(tree: Hierarchy, level: int) -> Hierarchy:
    """Leave out a level between the values and the root.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "mammal", "*"], ["carp", "fish", "*"]])
    >>> drop_level(tree, 1).rows()
    [['cat', '*'], ['carp', '*']]
    """
    if not 0 < level < tree.height:
        raise HierarchyError(
            f"Level {level} of the hierarchy of '{tree.name}' cannot be dropped: those between the values (0) and the "
            f"root ({tree.height}) can."
        )
    return _made(tree, [[*path[:level], *path[level + 1 :]] for path in tree.rows()])


def apply_edit(tree: Hierarchy, sentence: str) -> Hierarchy:
    """Do what a sentence says, such as ``rename mammal to mammals``.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "*"], ["dog", "*"], ["carp", "*"]])
    >>> apply_edit(tree, "merge cat, dog as 'mammal'".replace("'", '"')).labels[1]
    ('mammal', 'carp')
    """
    tokens = _tokens(sentence)
    verb = tokens[0][0].lower() if tokens and not tokens[0][1] else ""
    rest = tokens[1:]
    match verb:
        case "rename":
            return rename(tree, *_two(verb, rest, "to"))
        case "move":
            return move(tree, *_two(verb, rest, "under"))
        case "merge":
            labels, new = _cut(verb, rest, "as")
            return merge(tree, _list(verb, labels), _one(verb, new))
        case "split":
            label, parts = _cut(verb, rest, "into")
            return split(tree, _one(verb, label), _groups(verb, parts, ":"))
        case "add":
            place, groups = _cut(verb, rest, ":")
            return add_level(tree, _level(verb, place, ("level", "above")), _groups(verb, groups, "="))
        case "drop":
            return drop_level(tree, _level(verb, rest, ("level",)))
    near = nearest(verb, _VERBS) if verb else None
    hint = f"did you mean '{_FORMS[near]}'?" if near else f"an edit begins with {', '.join(_VERBS)}."
    raise HierarchyError(f"The edit '{sentence}' is not understood: {hint}")


def _made(tree: Hierarchy, rows: Sequence[Sequence[str]]) -> Hierarchy:
    """What comes of an edit: no longer what a rule says."""
    made = Hierarchy.from_rows(tree.name, rows)
    return made.with_missing() if MISSING in tree.leaf_code else made


def _levels_of(tree: Hierarchy, label: str) -> list[int]:
    levels = [level for level, labels in enumerate(tree.labels) if label in labels]
    if not levels:
        raise HierarchyError(f"There is no '{label}' in the hierarchy of '{tree.name}': {_near(tree, label)}")
    return levels


def _near(tree: Hierarchy, label: str) -> str:
    near = nearest(label, tree.node_labels)
    return f"did you mean '{near}'?" if near else "look at its labels with 'shoal hierarchy show'."


def _refuse_value(tree: Hierarchy, label: str) -> None:
    raise HierarchyError(
        f"'{label}' is a value of '{tree.name}', which the data must meet again: rename labels above it only."
    )


def _places(tree: Hierarchy, groups: Mapping[str, Sequence[str]]) -> dict[str, str]:
    place: dict[str, str] = {}
    for new, labels in groups.items():
        for label in labels:
            if label in place:
                raise HierarchyError(f"'{label}' is named twice in an edit of '{tree.name}': name it once.")
            place[label] = new
    return place


def _tokens(sentence: str) -> list[Token]:
    found, at, text = [], 0, sentence.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise HierarchyError(f"The edit '{sentence}' has a quotation mark without its other: close it.")
        quoted, mark, word = match.groups()
        found.append((re.sub(r"\\(.)", r"\1", quoted), True) if quoted is not None else (mark or word, False))
        at = match.end()
    return found


def _fail(verb: str) -> HierarchyError:
    return HierarchyError(f"An edit that begins with '{verb}' is written as: {_FORMS[verb]}.")


def _cut(verb: str, tokens: Sequence[Token], word: str) -> tuple[list[Token], list[Token]]:
    places = [place for place, token in enumerate(tokens) if token == (word, False)]
    if not places:
        raise _fail(verb)
    return list(tokens[: places[0]]), list(tokens[places[0] + 1 :])


def _two(verb: str, tokens: Sequence[Token], word: str) -> tuple[str, str]:
    first, second = _cut(verb, tokens, word)
    return _one(verb, first), _one(verb, second)


def _one(verb: str, tokens: Sequence[Token]) -> str:
    """Words that are one label: blanks between them need no quotes."""
    if not tokens or (len(tokens) > 1 and any(quoted for _, quoted in tokens)):
        raise _fail(verb)
    if any(token in [(mark, False) for mark in ",;:="] for token in tokens):
        raise _fail(verb)
    return " ".join(text for text, _ in tokens)


def _list(verb: str, tokens: Sequence[Token], mark: str = ",") -> list[str]:
    return [_one(verb, part) for part in _parts(tokens, mark)]


def _parts(tokens: Sequence[Token], mark: str) -> list[list[Token]]:
    found: list[list[Token]] = [[]]
    for token in tokens:
        if token == (mark, False):
            found.append([])
        else:
            found[-1].append(token)
    return found


def _groups(verb: str, tokens: Sequence[Token], mark: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part in _parts(tokens, ";"):
        new, labels = _cut(verb, part, mark)
        found.setdefault(_one(verb, new), []).extend(_list(verb, labels))
    return found


def _level(verb: str, tokens: Sequence[Token], words: Sequence[str]) -> int:
    texts = [text for text, _ in tokens]
    if texts[:-1] != list(words) or not texts[-1:] or not texts[-1].isdecimal():
        raise _fail(verb)
    return int(texts[-1])


# ----------------------------------------
# What the levels of a hierarchy would do to a column, and the tree as text with how many records are where.


@dataclass(frozen=True, kw_only=True)
class LevelCost:
    """One level of a hierarchy, were the whole column published on it.

    Attributes
    ----------
    labels, used
        Labels that it has, and those that some record would get.
    fewest, most
        Records of the rarest and of the commonest label in use.
    loss
        Mean over the records of (leaves under the label - 1)/(all leaves - 1), as the measure ``lm`` prices it.
    kept
        Share of the column's entropy that its labels keep.
    examples
        Its first labels in use.
    """

    level: int
    labels: int
    used: int
    fewest: int
    most: int
    loss: float
    kept: float
    examples: tuple[str, ...]


def level_costs(tree: Hierarchy, counts: Mapping[str, int], examples: int = 3) -> list[LevelCost]:
    """What each level would cost, from the values themselves to the root.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "mammal", "*"], ["dog", "mammal", "*"], ["carp", "fish", "*"]])
    >>> [(cost.labels, cost.fewest, round(cost.loss, 2)) for cost in level_costs(tree, {"cat": 3, "dog": 2, "carp": 5})]
    [(3, 2, 0.0), (2, 5, 0.25), (1, 10, 1.0)]
    """
    weights = leaf_weights(tree, counts)
    total = max(int(weights.sum()), 1)
    whole = _entropy(weights)
    found = []
    for level, labels in enumerate(tree.labels):
        nodes = np.bincount(tree.ancestors[level], weights, minlength=len(labels)).astype(np.int64)
        used = nodes[nodes > 0]
        leaves = tree.leaf_counts[level] - 1.0
        found.append(
            LevelCost(
                level=level, labels=len(labels), used=int(used.size), fewest=int(used.min(initial=total)),
                most=int(used.max(initial=0)), loss=float(leaves @ weights) / total / max(tree.n_leaves - 1, 1),
                kept=_entropy(nodes) / whole if whole else 1.0,
                examples=tuple(label for label, count in zip(labels, nodes, strict=True) if count)[:examples],
            )  # fmt: skip
        )
    return found


def leaf_weights(tree: Hierarchy, counts: Mapping[str, int]) -> np.ndarray:
    """Records of every leaf, int64."""
    return np.array([counts.get(label, 0) for label in tree.labels[0]], dtype=np.int64)


def outline(
    tree: Hierarchy, counts: Mapping[str, int] | None = None, *, deepest: int | None = None, most: int = 20
) -> list[tuple[str, int, int]]:
    """The tree as lines: a drawn label, how many values are below it, and how many records.

    A node with one child of the same label is drawn once. ``most`` children of a node are drawn, those with most
    records first where records are known; ``deepest`` levels below the root.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "mammal", "*"], ["dog", "mammal", "*"], ["carp", "*"]])
    >>> print(*(line for line, _, _ in outline(tree)), sep="\\n")
    *
    ├─ mammal
    │  ├─ cat
    │  └─ dog
    └─ carp
    """
    weights = leaf_weights(tree, counts or {})
    return list(_drawn(tree, weights, (tree.height, 0), "", "", -1 if deepest is None else deepest, most))


def _drawn(
    tree: Hierarchy, weights: np.ndarray, node: tuple[int, int], head: str, stem: str, deepest: int, most: int
) -> Iterator[tuple[str, int, int]]:
    level, place = node
    below = np.flatnonzero(tree.ancestors[level] == place)
    yield f"{head}{tree.labels[level][place]}", below.size, int(weights[below].sum())
    if deepest == 0:
        return
    level, children = _children(tree, level, below)
    if weights[below].any():
        records = {child: int(weights[below][tree.ancestors[level][below] == child].sum()) for child in children}
        children = sorted(children, key=lambda child: -records[child])
    shown, rest = (children, []) if len(children) <= most else (children[: most - 1], children[most - 1 :])
    for at, child in enumerate(shown):
        last = at == len(shown) - 1 and not rest
        mark, more = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _drawn(tree, weights, (level, child), f"{stem}{mark}", f"{stem}{more}", deepest - 1, most)
    if rest:
        others = below[np.isin(tree.ancestors[level][below], rest)]
        yield f"{stem}└─ … {len(rest):,} more", others.size, int(weights[others].sum())


def _children(tree: Hierarchy, level: int, below: np.ndarray) -> tuple[int, list[int]]:
    """The next lower level on which a node's label is another, and the nodes there."""
    here = tree.labels[level][tree.ancestors[level][below[0]]]
    while level > 0:
        level -= 1
        found: list[int] = np.unique(tree.ancestors[level][below]).tolist()
        if len(found) > 1 or tree.labels[level][found[0]] != here:
            return level, found
    return 0, []


def _entropy(counts: Sequence[int] | np.ndarray) -> float:
    found = np.asarray(counts, dtype=np.float64)
    shares = found[found > 0] / max(found.sum(), 1.0)
    return float(-(shares * np.log2(shares)).sum())
