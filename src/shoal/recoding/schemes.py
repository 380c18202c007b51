"""Which single-dimensional recoding models a mapping of values to labels belongs to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from shoal.data.hierarchy import Hierarchy
from shoal.errors import ParameterError

Labels = Mapping[str, str | Collection[str]]


def recoding_kinds(mapping: Labels, hierarchy: Hierarchy | None, order: Sequence[str]) -> list[str]:
    """Name the models that a recoding of one attribute satisfies, most special first.

    A label is text (a hierarchy node, or a name of its own) or a set of values. It covers the leaves of its
    node or the members of its set; a name of its own covers the values mapped to it. The models nest:
    each of the names implies those after it when ``order`` is the leaf order of the hierarchy.

    Parameters
    ----------
    mapping
        Label of each observed value.
    hierarchy
        The attribute's hierarchy, or None.
    order
        A total order that holds every observed value.

    Returns
    -------
    list of str
        Those that hold of ``full-domain`` (Samarati: all labels on one level), ``full-subtree`` (Iyengar: a
        used node takes every observed leaf below it), ``ordered-set-partition`` (Bayardo & Agrawal: blocks
        are runs of the order) and ``unordered-set-partition`` (Li & Li: any partition).

    References
    ----------
    Loukides 2008, Sec. 2.1.3 and Figs 2.8-2.10.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "mammal"], ["dog", "mammal"], ["carp", "fish"]])
    >>> recoding_kinds({"cat": "mammal", "dog": "mammal", "carp": "carp"}, tree, ["cat", "dog", "carp"])
    ['full-subtree', 'ordered-set-partition', 'unordered-set-partition']
    """
    labels = {value: _frozen(label) for value, label in mapping.items()}
    rank = {value: place for place, value in enumerate(order)}
    _check(labels, hierarchy, rank)
    blocks: dict[str | frozenset[str], set[str]] = {}
    for value, label in labels.items():
        blocks.setdefault(label, set()).add(value)
    covers = _node_covers(labels, hierarchy) if hierarchy else {}
    is_partition = all(_stands_for(label, block, labels, covers) for label, block in blocks.items())
    found = []
    if hierarchy is not None and _is_full_domain(labels, hierarchy):
        found.append("full-domain")
    if hierarchy is not None and is_partition and blocks.keys() <= covers.keys():
        found.append("full-subtree")
    if is_partition and _are_runs(blocks.values(), sorted(labels, key=rank.__getitem__)):
        found.append("ordered-set-partition")
    if is_partition:
        found.append("unordered-set-partition")
    return found


def _frozen(label: str | Collection[str]) -> str | frozenset[str]:
    return label if isinstance(label, str) else frozenset(label)


def _check(values: Collection[str], hierarchy: Hierarchy | None, order: Collection[str]) -> None:
    if not values:
        raise ParameterError("A recoding needs at least one value.")
    for where, known in (("order", order), ("hierarchy", hierarchy.leaf_code if hierarchy else values)):
        absent = sum(value not in known for value in values)
        if absent:
            raise ParameterError(f"The {where} of the recoding lacks {absent:,} of its values: add them.")


def _is_full_domain(labels: Mapping[str, str | frozenset[str]], hierarchy: Hierarchy) -> bool:
    # Padding puts one label on several levels, so each level is tried instead of looking the label's up.
    leaves = np.array([hierarchy.leaf_code[value] for value in labels])
    return any(
        all(names[node] == label for node, label in zip(nodes[leaves].tolist(), labels.values(), strict=True))
        for names, nodes in zip(hierarchy.labels, hierarchy.ancestors, strict=True)
    )


def _node_covers(values: Collection[str], hierarchy: Hierarchy) -> dict[str, set[str]]:
    """The observed values under each node."""
    covers: dict[str, set[str]] = {label: set() for label in hierarchy.node_labels}
    for names, nodes in zip(hierarchy.labels, hierarchy.ancestors, strict=True):
        for value in values:
            covers[names[nodes[hierarchy.leaf_code[value]]]].add(value)
    return covers


def _stands_for(
    label: str | frozenset[str], block: set[str], values: Collection[str], covers: Mapping[str, set[str]]
) -> bool:
    """Whether the values mapped to a label are exactly the observed ones that it covers."""
    if isinstance(label, frozenset):
        return block <= label and sum(value in values for value in label) == len(block)
    return label not in covers or covers[label] == block


def _are_runs(blocks: Collection[set[str]], ranked: list[str]) -> bool:
    place = {value: number for number, value in enumerate(ranked)}
    return all(
        max(map(place.__getitem__, block)) - min(map(place.__getitem__, block)) + 1 == len(block)
        for block in blocks
    )
