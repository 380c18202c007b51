"""Figures of attacks one by one: which a release has to give, what they may say, and which numbers fit each other."""

from __future__ import annotations

import math
from typing import Any

import pytest

from shoal.verify.checks import _is_interval, _is_share, _paired, _problem, wilson
from shoal.verify.figures import Counted, Template, drawn_rows, wanted_figures
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims

COUNTED = Counted(
    everybody=40, alone=0.25, rows=40, answers={"s": (38, 38)}, commonest={"s": 0.5}, single={"s": 0.1},
    best={"s": 0.6}, codes={"s": (40, 40)}, paths={"who": ((20, 20), 0.3)},
)  # fmt: skip


def claims_of(made: str, coded: str | None = None, role: str = "sensitive") -> Claims:
    columns = [
        Column.model_construct(name="q", role="quasi", type="categorical", cells="value"),
        Column.model_construct(
            name="who" if role == "pseudonym" else "s", role=role, type="categorical", cells="value", coded=coded
        ),
    ]
    told = {"suppressed": "drop", "order": "shuffled", "people": False}
    return Claims.model_construct(columns=tuple(columns), models=(), made=made, kind=made, **told)


def names(made: str, coded: str | None = None, role: str = "sensitive", redraw: int = 1, drawn: int = 1) -> list[str]:
    """Names of the figures that a release has to give."""
    manifest = {"redraw": redraw, "columns": [{"p": 1.0 / drawn}] * drawn}
    return [one.name for one in wanted_figures(manifest, claims_of(made, coded, role), COUNTED)]


def test_every_kind_has_a_closed_list() -> None:
    assert names("generalised") == names("microaggregated") == []
    assert names("perturbed") == ["unchanged", "unique-and-unchanged", "record-linkage"]
    assert names("bucketised") == ["uniqueness", "homogeneity of s", "relinking of s"]
    assert names("pseudonymised", "mapping") == ["unique", "frequency matching: s", "frequency matching: s"]
    assert names("generalised", "token", "pseudonym") == ["trajectories"]
    assert names("generalised", "shifted", "neutral") == ["gap patterns"]
    ranks = ["exactly", "within one unit", "within 5 % of the range"]
    assert names("generalised", "graded") == [f"rank matching, {what}: s" for what in ranks] * 2
    assert names("randomised")[:3] == ["unchanged", "unique-and-unchanged", "recovered"]
    assert names("randomised")[-4:] == ["linkage:s", "linkage-raw:s", "confident:s", "confident-right:s"]


def test_of_too_many_sets_of_columns_only_unchanged_records_are_counted() -> None:
    assert len(names("randomised", redraw=7, drawn=14)) == 11
    assert names("randomised", redraw=8, drawn=16) == ["unchanged", "unique-and-unchanged"]


def test_numbers_of_a_column_that_only_the_publisher_knows_are_attested() -> None:
    known, unknown = (wanted_figures({}, claims_of("bucketised"), one) for one in (COUNTED, COUNTED.of_sample(20)))
    assert [one.attested for one in known] == [False, False, True]
    assert [one.attested for one in unknown] == [False, True, True]
    assert [one.trials for one in unknown] == [(40, 40), (18, 20), (18, 20)]
    assert known[2].baseline == 0.6
    assert unknown[2].baseline is not None
    assert math.isnan(unknown[2].baseline)


@pytest.mark.parametrize("codes, drawn, wanted, optional", [
    (40, 20, 2, 0), (40, 14, 1, 0), (40, 1, 0, 0), (30, 20, 2, 1), (20, 20, 2, 2), (10, 20, 1, 1), (1, 20, 0, 0),
])  # fmt: skip
def test_a_sample_may_have_too_few_codes_for_two_sizes(codes: int, drawn: int, wanted: int, optional: int) -> None:
    """Of 40 rows ``drawn`` are attacked: these have from ``codes + drawn - 40`` codes to all."""
    counted = Counted(everybody=40, alone=0.0, rows=40, codes={"s": (codes, codes)}).of_sample(drawn)
    found = wanted_figures({}, claims_of("generalised", "mapping"), counted)
    assert (len(found), sum(one.optional for one in found)) == (wanted, optional)
    assert _paired(found, []) == ([], None if optional == wanted else "frequency matching: s")


@pytest.mark.parametrize("answers, right", [((38, 38), False), ((0, 38), True), ((0, 0), True)])
def test_nobody_to_attack_is_told_only_where_that_may_be(answers: tuple[int, int], right: bool) -> None:
    counted = Counted(everybody=40, alone=0.0, rows=40, answers={"s": answers})
    relinking = wanted_figures({}, claims_of("bucketised"), counted)[-1]
    given = {"value": 0.0, "baseline": 0.0, "interval": [0, 1], "name": relinking.name}
    given["sentence"] = "No value of 's' is known, so there is none to guess."
    for changes, fits in (
        ({}, right),
        ({"value": 0.3}, False),
        ({"baseline": 0.2}, False),
        ({"interval": [0, 0.5]}, False),
    ):
        forged = given | changes
        assert (_problem(relinking, forged, [(relinking, forged)], counted, None) is None) is fits


def test_names_of_columns_are_no_patterns() -> None:
    odd = Template(name="x", sentence="The {column} is {share}.", column="{share}.*", trials=(1, 1))
    assert odd.pattern(False).fullmatch("The {share}.* is 5.0%.")
    assert not odd.pattern(False).fullmatch("The 5.0%.* is 5.0%.")
    assert not odd.pattern(False).fullmatch("The {share}.* is 5.0%. Safe.")


@pytest.mark.parametrize("share, trials", [(0.0, 1), (0.0, 40), (0.3333, 3), (0.5, 40), (1.0, 7), (0.0417, 2400)])
def test_an_interval_fits_its_own_trials_only(share: float, trials: int) -> None:
    ends = [round(end, 4) for end in wilson(share, trials)]
    assert _is_interval(share, ends, (trials, trials))
    assert _is_interval(share, ends, (0, 10_000))
    assert not _is_interval(share, ends, (trials * 2, trials * 2))
    assert not _is_interval(share, [ends[0], ends[1] / 2], (trials, trials))


def test_without_anybody_to_attack_nothing_is_known() -> None:
    assert wilson(0.0, 0) == (0.0, 1.0)
    assert _is_interval(0.0, [0, 1], (0, 0))
    assert not _is_interval(0.0, [0, 0.5], (0, 0))
    assert not _is_interval(0.4, [0, 1], (0, 0))
    assert not _is_interval(0.4, [0, 1], (0, 20))


@pytest.mark.parametrize("value, trials, right", [
    (0.25, 4, True), (0.3333, 3, True), (0.6667, 3, True), (0.5, 3, False), (0.01, 40, False), (0.5, 0, True),
])  # fmt: skip
def test_a_share_is_a_whole_number_of_its_trials(value: float, trials: int, right: bool) -> None:
    assert _is_share(value, trials) is right


def figure(**changes: Any) -> dict[str, Any]:
    told = "25.0% of the records are released exactly as they were."
    given = {"name": "unchanged", "value": 0.25, "baseline": None, "sentence": told, "interval": [0.1419, 0.4019]}
    return given | changes


@pytest.mark.parametrize("changes, said", [
    ({}, None),
    ({"sentence": "24.9% of the records are released exactly as they were."}, "tells another number"),
    ({"value": 0.2504}, "The interval of the figure"),
    ({"value": 0.2507}, "tells another number"),
    ({"sentence": "25.0% of the records are safe."}, "is not the one that such a figure has"),
    ({"baseline": 0.1}, "The baseline of the figure 'unchanged'"),
    ({"interval": [0.0, 1.0]}, "The interval of the figure 'unchanged'"),
])  # fmt: skip
def test_parts_of_a_figure_fit_each_other(changes: dict[str, Any], said: str | None) -> None:
    (wanted, *_) = wanted_figures({}, claims_of("perturbed"), COUNTED)
    given = figure(**changes)
    found = _problem(wanted, given, [(wanted, given)], COUNTED, None)
    assert found is None if said is None else said in str(found)


@pytest.mark.parametrize("people, ends, right", [
    (20, [0.1455, 0.519], True), (10, [0.1078, 0.6032], False), (30, [0.1666, 0.4788], False),
])  # fmt: skip
def test_people_with_tokens_are_as_many_as_the_release_has(people: int, ends: list[float], right: bool) -> None:
    (wanted,) = wanted_figures({}, claims_of("generalised", "token", "pseudonym"), COUNTED)
    told = f"30.0% of the {people} people with a token have a combination of records that nobody else has."
    given = figure(name=wanted.name, value=0.3, interval=ends, baseline=round(1 / people, 4), sentence=told)
    assert (_problem(wanted, given, [(wanted, given)], COUNTED, None) is None) is right


def test_figures_are_found_by_their_names() -> None:
    wanted = wanted_figures({}, claims_of("perturbed"), COUNTED)
    assert _paired(wanted, [figure()])[1] == "unique-and-unchanged"
    every = [figure(name=one.name) for one in reversed(wanted)]
    assert [one["name"] for _, one in _paired(wanted, every)[0]] == [one.name for one in wanted]


def test_a_sample_is_read_off_the_sentences() -> None:
    told = "Something. Measured on a sample of 1,024 of the 4,096 records. More."
    assert drawn_rows([figure(), figure(sentence=told)]) == (1024, 4096)
    assert drawn_rows([figure()]) is None
