"""What figures about classes mean for releases that are not generalised, and what measures them instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_BY_KIND = {
    "randomised": (
        "Quasi-identifiers of this release were redrawn at random, so records of a class only happen to agree: figures "
        "about finding people count what is written, and do not say how likely somebody is found. The attacks "
        "'posterior' and 'ra-linkage' measure that, from the recipe.",
        "Figures about sensitive values are of classes that the noise made, so they bound nobody's guess: 'ra-linkage' "
        "measures it.",
    ),
    "pseudonymised": (
        "Quasi-identifiers of this release are published as they are: figures about finding people are those of the "
        "raw data. What codes give away they do not show: the attacks 'rank-matching' and 'frequency-matching' do.",
    ),
    "bucketised": (
        "Quasi-identifiers of this release are published as they are: figures about finding people are those of the "
        "raw data, and say who can be seen to be in it.",
        "Sensitive values are known by group and not by record, so they are left out here: the attacks 'homogeneity', "
        "'background' and 'relinking' measure what groups give away.",
    ),
    "microaggregated": (
        "Cells of this release are means, medians or modes, which nobody need have: figures about finding people hold "
        "for somebody who knows the person's class, and figures about the population hold for nobody. The attack "
        "'nearest' measures how often the nearest class is the right one.",
    ),
}
_TOKENS = (
    "Tokens link the rows of a person, and these figures look at one row at a time: the share of people whose history "
    "stands alone is among the measured figures of the manifest."
)
_CODED = "Some columns are coded: the attacks 'rank-matching' and 'frequency-matching' measure what codes give away."


def what_classes_mean(manifest: Mapping[str, Any]) -> list[str]:
    """Sentences to read before the figures of a release; none where it is generalised and nothing is coded."""
    made = manifest.get("made", manifest["kind"])
    codes = {column.get("coded") for column in manifest["columns"]}
    found = list(_BY_KIND.get(made, ()))
    if made != "pseudonymised" and codes & {"graded", "mapping"}:
        found.append(_CODED)
    return [*found, _TOKENS] if "token" in codes else found
