"""What a manifest has to say about its release, and which warnings it has to have accepted."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims, Counted
from shoal.verify.report import Check
from shoal.verify.wording import check_words, needed_codes, not_protected, statement

QUASI = Column.model_construct(name="age", role="quasi", type="numeric", cells="interval")
SENSITIVE = Column.model_construct(name="disease", role="sensitive", type="categorical", cells="value")
JOB = SENSITIVE.model_copy(update={"name": "job"})
NEUTRAL = SENSITIVE.model_copy(update={"name": "ward", "role": "neutral"})
TOKEN = Column.model_construct(name="id", role="pseudonym", type="categorical", cells="value", coded="token")
SHIFTED = SENSITIVE.model_copy(update={"name": "seen", "type": "date", "coded": "shifted", "days": 3})
DIVERSE = {"name": "distinct-l", "l": 2}
ALWAYS = ["Whether a person", "People who appear", "An intruder with"]


def claims(*models: dict[str, Any], columns: tuple[Column, ...] = (QUASI, SENSITIVE), **more: Any) -> Claims:
    fixed = {"suppressed": "drop", "order": "shuffled", "people": False, "data": Counted(rows=9)} | more
    return Claims.model_construct(columns=columns, models=models, **fixed)


def begun(said: Claims, *codes: str, joinable: bool = False) -> list[str]:
    """How the sentences begin, without those of every release."""
    found = [" ".join(text.split()[:3]) for text in not_protected(said, codes, joinable=joinable)]
    assert found[-3:] == ALWAYS
    return found[:-3]


def test_a_generalised_release_has_little_to_add() -> None:
    assert begun(claims(DIVERSE)) == []
    assert begun(claims(columns=(QUASI,))) == []
    assert begun(claims(DIVERSE, made="generalised", kind="pseudonymised")) == []


@pytest.mark.parametrize("made, sentences", [
    ("randomised", ["Links to people:", "Sensitive values of"]),
    ("perturbed", ["Links to people:", "Sensitive values of"]),
    ("pseudonymised", ["Links to people:", "Coded values: codes"]),
    ("bucketised", ["Identity and membership:", "Values of a"]),
    ("microaggregated", ["The last member"]),
])  # fmt: skip
def test_kinds(made: str, sentences: list[str]) -> None:
    assert begun(claims(DIVERSE, made=made, kind=made)) == sentences


def test_tokens_and_shifted_dates() -> None:
    several, gaps = "People with several", "Gaps between the"
    assert begun(claims(DIVERSE, columns=(QUASI, SENSITIVE, TOKEN))) == [several]
    assert begun(claims(DIVERSE, columns=(QUASI, SENSITIVE, TOKEN)), joinable=True) == [several, "People in other"]
    assert begun(claims(DIVERSE, columns=(QUASI, SHIFTED))) == [gaps]
    assert begun(claims(DIVERSE, columns=(QUASI, SHIFTED)), joinable=True) == [gaps]
    assert begun(claims(DIVERSE, columns=(TOKEN, SHIFTED))) == [several, gaps]


def test_warnings_that_were_accepted() -> None:
    assert begun(claims(DIVERSE), "W-NO-K") == ["Identity: no model"]
    assert begun(claims(DIVERSE), "W-REPEAT") == ["People of earlier"]
    assert begun(claims(DIVERSE), "W-ORDER", "W-TIGHT") == []
    found = not_protected(claims(DIVERSE), ["W-UNMODELLED:job", "W-TEXT:note: more", "W-NAMES:b", "W-NAMES:a"])
    assert found[:-3] == [
        "The values of 'job' within a class: no model is set on it.",
        "Whatever the free text of 'note: more' says about anybody.",
        "People whose names stand in 'b' as words of the language.",
        "People whose names stand in 'a' as words of the language.",
    ]


def test_what_columns_and_rows_call_for() -> None:
    assert begun(claims(DIVERSE, counterfeits=1)) == ["Counts: some records"]
    assert begun(claims(DIVERSE, columns=(QUASI, SENSITIVE, NEUTRAL))) == ["Links through the"]
    alike = ["Sensitive values: a"]
    assert begun(claims()) == alike
    assert begun(claims({"name": "k", "k": 2}, {"name": "worst-group-utility", "u": 1})) == alike
    assert begun(claims({"name": "k", "k": 2}, DIVERSE)) == []
    assert begun(claims({"name": "k", "k": 2}, columns=(QUASI,))) == []


def test_what_models_leave_open() -> None:
    two = (QUASI, SENSITIVE, JOB)
    pairs, shares = {"name": "range-diversity", "p": 0.5}, {"name": "range-confidence", "p": 0.5}
    likely = (
        "A likely guess at the range of '{}': range diversity is a mean over pairs, so one sensitive range may hold "
    )
    assert [text[:47] for text in not_protected(claims(pairs, columns=two), ())[:-3]] == [
        likely.format("disease")[:47], likely.format("job")[:47],
    ]  # fmt: skip
    assert begun(claims(pairs, shares, columns=two)) == []
    (found,) = not_protected(claims(pairs, shares | {"on": "job"}, columns=two), ())[:-3]
    assert found == likely.format("disease") + "most of a class."
    (found,) = not_protected(claims({"name": "personalised", "p": 0.5, "on": ["job"]}, columns=two), ())[:-3]
    assert found.startswith("People who guard no value of 'job', and hints at guards:")
    (found,) = not_protected(claims({"name": "max-range", "limit": 0.5, "on": "job"}, columns=two), ())[:-3]
    assert found.startswith("What lies between the extremes of 'job':")
    assert begun(claims(shares, columns=two)) == []


def test_everything_at_once_comes_in_one_order() -> None:
    columns = (QUASI, SENSITIVE, TOKEN, NEUTRAL)
    model = {"name": "max-range", "limit": 0.5}
    assert begun(claims(model, columns=columns, counterfeits=2, made="microaggregated"), "W-NO-K") == [
        "The last member", "People with several", "Identity: no model", "Counts: some records", "Links through the",
        "What lies between",
    ]  # fmt: skip


# Statements


def test_statements_of_kinds() -> None:
    exact = claims({"name": "k", "k": 3}, DIVERSE, made="bucketised", kind="bucketised")
    assert statement(exact) == (
        "bucketised, quasi-identifiers exact; groups of at least 3 records, distinct 2-diverse on disease"
    )
    assert statement(claims(made="bucketised", kind="bucketised")) == "bucketised; no model holds"
    assert statement(claims(DIVERSE, kind="randomised", made="randomised")) == (
        "randomised; distinct 2-diverse on disease"
    )
    assert statement(claims()) == "no model"
    assert statement(claims({"name": "k", "k": 3})) == "3-anonymous"


# Codes

NO_K, OPEN = "W-NO-K", "W-UNMODELLED:disease"


@pytest.mark.parametrize("model, codes", [
    ({"name": "t-closeness", "t": 0.999}, [NO_K]),
    ({"name": "t-closeness", "t": 1}, [NO_K, OPEN]),
    ({"name": "t-closeness", "t": 1, "distance": "kl"}, [NO_K]),
    ({"name": "t-closeness", "t": 1, "distance": "equal"}, [NO_K, OPEN]),
    ({"name": "alpha-k-simple", "alpha": 1, "k": 2, "value": "a"}, [OPEN]),
    ({"name": "alpha-k-simple", "alpha": 0.9, "k": 2, "value": "a"}, []),
    ({"name": "alpha-k-general", "alpha": 1.0, "k": 2}, [OPEN]),
    ({"name": "alpha-k-general", "alpha": 0.9, "k": 2}, []),
    ({"name": "alpha-k-complete", "alpha": {}, "k": 2}, []),
    ({"name": "distinct-l", "l": 1}, [NO_K, OPEN]),
    ({"name": "distinct-l", "l": 2}, [NO_K]),
    ({"name": "entropy-l", "l": 1}, [NO_K, OPEN]),
    ({"name": "entropy-l", "l": 1.5}, [NO_K]),
    ({"name": "p-sensitive", "p": 1, "k": 2}, [OPEN]),
    ({"name": "p-sensitive", "p": 2, "k": 2}, []),
    ({"name": "m-invariance", "m": 2}, []),
    ({"name": "worst-group-utility", "u": 0.5}, [NO_K, OPEN]),
    ({"name": "variance", "v": 1}, [NO_K]),
])  # fmt: skip
def test_models_that_no_table_fails_cover_nothing(model: dict[str, Any], codes: list[str]) -> None:
    assert needed_codes(claims(model)) == codes


def checked(said: Claims, **changes: Any) -> list[Check]:
    codes = changes.get("acknowledged", needed_codes(said))
    words = {"statement": statement(said), "not_protected": not_protected(said, codes), "acknowledged": codes}
    return check_words(words | changes, said)


def test_what_such_a_release_says_passes() -> None:
    found = checked(claims({"name": "k", "k": 2}, order="kept"), acknowledged=["W-ORDER", OPEN])
    assert [(check.name, check.passed, check.detail) for check in found] == [
        ("statement", True, "The statement is what the models say."),
        ("not protected", True, "What is not protected is said in full."),
        ("refusals", True, "Everything that needs to be accepted is acknowledged."),
    ]


def test_either_may_be_said_of_a_key() -> None:
    tokens = claims(DIVERSE, columns=(QUASI, SENSITIVE, TOKEN))
    for joinable in (False, True):
        assert checked(tokens, not_protected=not_protected(tokens, [NO_K], joinable=joinable))[1].passed


@pytest.mark.parametrize("changes, place, detail", [
    ({"statement": "3-anonymous"}, 0, "The statement is not what the models say."),
    ({"statement": None}, 0, "The statement is not what the models say."),
    ({"not_protected": ALWAYS}, 1, "What is not protected is not what such a release has to say."),
    ({"not_protected": None}, 1, "What is not protected is not what such a release has to say."),
    ({"acknowledged": [OPEN]}, 2, "A release like this is refused unless 'W-ORDER' is acknowledged, and it is not."),
    ({"acknowledged": []}, 2, "A release like this is refused unless 'W-ORDER' is acknowledged, and it is not."),
    *(({"acknowledged": ["W-ORDER", OPEN, odd]}, 2, "The manifest acknowledges something that is no warning code.")
      for odd in ("W-SAFE", "safe", "W-NO-K:age", "W-TEXT", "W-TEXT:", "W-UNMODELLED", "")),
])  # fmt: skip
def test_what_no_such_release_says(changes: dict[str, Any], place: int, detail: str) -> None:
    found = checked(claims({"name": "k", "k": 2}, order="kept"), **changes)
    assert [check.passed for check in found] == [at != place for at in range(3)]
    assert found[place].detail == detail


def test_every_code_may_be_acknowledged() -> None:
    codes = ["W-NO-K", "W-ORDER", "W-TIGHT", "W-NEUTRAL", "W-RA-LINK", "W-PP-REV", "W-EXACT-QI", "W-TRAJECTORY",
             "W-REPEAT", "W-UNMODELLED:disease", "W-TEXT:note", "W-NAMES:note"]  # fmt: skip
    assert all(check.passed for check in checked(claims(), acknowledged=codes))


def test_a_manifest_that_acknowledges_nothing() -> None:
    said = claims({"name": "k", "k": 2}, columns=(QUASI,))
    words = {"statement": "2-anonymous", "not_protected": not_protected(said, ())}
    assert all(check.passed for check in check_words(words, said))
