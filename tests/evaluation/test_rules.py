"""Association rules against every set of items there is."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ParameterError
from shoal.utility.association_rules import AssociationRules, Strength
from shoal.utility.reading import Feature, Reading, read_published, read_release
from tests.evaluation.test_estimate import entry
from tests.evaluation.test_reading import EXACT, people, released


def naive(reading: Reading, target: str, spec: AssociationRules, original: bool) -> dict[Any, Strength]:
    """Every rule, by looking at every row for every set of items."""

    def holds(feature: Feature, code: int) -> np.ndarray:
        if original:
            return (feature.original == code).astype(float)
        return feature.shares()[feature.cell, code]

    ill = reading.features[target]
    found = {}
    for size in range(1, len(reading.quasi) + 1):
        for names in combinations(reading.quasi, size):
            features = [reading.features[name] for name in names]
            for codes in product(*(range(len(one.values)) for one in features)):
                chance = np.prod([holds(one, code) for one, code in zip(features, codes, strict=True)], axis=0)
                for code, text in enumerate(ill.values):
                    support, items = (chance * holds(ill, code)).mean(), chance.mean()
                    often = items if spec.support_of == "antecedent" else support
                    if support > 0 and often >= spec.support - 1e-9 and support >= (spec.confidence - 1e-9) * items:
                        key = tuple((one.name, one.values[at]) for one, at in zip(features, codes, strict=True))
                        found[key, text] = Strength(support, items)
    return found


def small(kind: str) -> Reading:
    frame = people(120).with_columns(age=pl.col("age") // 10)
    algorithm = {
        "generalised": shoal.Mondrian(k=8), "bucketised": shoal.Anatomy(l=3, on="disease"),
        "randomised": shoal.RandomAnonymisation(),
    }[kind]  # fmt: skip
    roles = {"quasi": ["age", "sex", "job"], "neutral": ["ward", "size"], "drop": ["born", "weight"]}
    return read_release(released(algorithm, frame, read=roles))


@pytest.mark.parametrize("of, support", [("rule", 0.03), ("antecedent", 0.08)])
@pytest.mark.parametrize("kind", ["generalised", "bucketised", "randomised"])
def test_every_rule_is_found(kind: str, of: str, support: float) -> None:
    reading = small(kind)
    spec = AssociationRules(support=support, confidence=0.2, longest=None, support_of=of)
    for original, mined in zip((True, False), spec.mined(reading, "disease"), strict=True):
        expected = naive(reading, "disease", spec, original)
        assert mined.rules.keys() == expected.keys()
        assert mined.rules
        for rule, strength in expected.items():
            assert mined.rules[rule].support == pytest.approx(strength.support, abs=1e-12)
            assert mined.rules[rule].items == pytest.approx(strength.items, abs=1e-12)


def test_sensitive_cells_of_several_values_count_by_their_shares() -> None:
    """As in a personalised release, where a value may be lifted to a label."""
    original = pl.DataFrame({"sex": ["f", "f", "m", "m"], "ill": ["flu", "cold", "gout", "flu"]})
    frame = original.with_columns(ill=pl.Series(["airways", "cold", "gout", "*"]))
    tree = [["flu", "airways", "*"], ["cold", "airways", "*"], ["gout", "joints", "*"]]
    columns = [
        entry("sex", "quasi", "categorical", "value"),
        entry("ill", "sensitive", "categorical", "label") | {"hierarchy": tree},
    ]
    reading = read_published(frame, {"kind": "generalised", "columns": columns}, original)
    spec = AssociationRules(support=0.05, confidence=0.1)
    mined = spec.mined(reading, "ill")[1]
    assert mined.rules.keys() == naive(reading, "ill", spec, False).keys()
    assert mined.rules[(("sex", "f"),), "cold"].support == pytest.approx(1.5 / 4)


def test_findings_add_up() -> None:
    reading = small("generalised")
    spec = AssociationRules(support=0.03, confidence=0.2, longest=2)
    ours, theirs = spec.mined(reading, "disease")
    recovered, artificial, items = spec.run(reading)
    kept = ours.rules.keys() & theirs.rules.keys()
    assert recovered.value == len(kept) / len(ours.rules)
    assert artificial.value == len(theirs.rules) - len(kept)
    assert items.value is not None
    by_length = recovered.also["by length"]
    assert set(by_length) == {"1", "2"}
    assert sum(one["kept"] for one in by_length.values()) == len(kept)
    assert sum(one["rules"] for one in by_length.values()) == len(ours.rules)
    assert recovered.baseline is not None
    assert 0 <= recovered.baseline <= 1


def test_what_is_not_generalised_keeps_every_rule() -> None:
    reading = read_release(released(shoal.NoAlgorithm(), people(120), read=EXACT))
    recovered, artificial, items = AssociationRules(support=0.05, confidence=0.2).run(reading)
    assert (recovered.value, artificial.value, items.value) == (1.0, 0.0, 1.0)


def test_without_rules_there_is_nothing_to_recover() -> None:
    recovered = AssociationRules(support=0.9).run(small("generalised"))[0]
    assert recovered.value is None
    assert "no rule" in recovered.sentence


def test_rules_need_a_sensitive_attribute() -> None:
    with pytest.raises(ParameterError, match="sensitive"):
        AssociationRules(on="sex").run(small("randomised"))
    coded = replace(read_release(released(shoal.TableTransform(), people())), after=None, before=None, coded=())
    assert "both" in str(AssociationRules().refusal(coded))


def test_items_can_have_the_support_alone() -> None:
    """Definition 9: a rare value follows from common items, which no support of both allows for."""
    original = pl.DataFrame({"sex": ["f"] * 10 + ["m"] * 10, "ill": ["flu"] * 8 + ["gout"] * 2 + ["cold"] * 10})
    columns = [entry("sex", "quasi", "categorical", "value"), entry("ill", "sensitive", "categorical", "value")]
    reading = read_published(original, {"kind": "generalised", "columns": columns}, original)
    both, items = (
        AssociationRules(support=0.3, confidence=0.2, support_of=of).mined(reading, "ill")[0]
        for of in ("rule", "antecedent")
    )
    rare = ((("sex", "f"),), "gout")
    assert rare not in both.rules
    assert items.rules[rare] == Strength(pytest.approx(0.1), pytest.approx(0.5))
    assert items.items == both.items
    found = AssociationRules(support=0.3, confidence=0.2, support_of="antecedent").run(reading)[0]
    assert (found.value, found.baseline) == (1.0, pytest.approx(2 / 3))
    assert "support 0.3 of the items" in found.sentence
