"""Every refusal of a manifest in its own words, and the nearest manifest that is accepted."""

from __future__ import annotations

import re
from typing import Any

import pytest

from shoal.errors import VerificationError
from shoal.verify.manifest import read_claims
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims
from tests.verify.cases import manifest

SENSITIVE = {"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"}
NUMBER = SENSITIVE | {"name": "n", "type": "numeric"}
QUASI = {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"}
EXACT = QUASI | {"cells": "value"}
LABEL = QUASI | {"cells": "label"}
TREE = [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]
TOKEN = {"name": "id", "role": "pseudonym", "type": "categorical", "cells": "value", "coded": "token"}
WHERE = "The manifest's column"


def read(columns: list[Any], *models: dict[str, Any], **changes: Any) -> Claims:
    return read_claims(manifest([], []) | {"columns": columns, "models": list(models)} | changes)


def refused(message: str, columns: list[Any], *models: dict[str, Any], **changes: Any) -> None:
    with pytest.raises(VerificationError, match=f"^{re.escape(message)}$"):
        read(columns, *models, **changes)


ACCEPTED: list[dict[str, Any]] = [
    QUASI, EXACT, SENSITIVE, NUMBER, LABEL | {"hierarchy": TREE}, LABEL | {"hierarchy": [["a"]]},
    LABEL | {"hierarchy": [("a", "*")]}, LABEL | {"hierarchy": [["a", "x", "*"], [None, "y", "*"]]},
    LABEL | {"hierarchy": [[None, "x", "*"], [None, "y", "*"], [None, None, "*"]]},
    LABEL | {"hierarchy": TREE, "whole": True}, NUMBER | {"domain": ["3", "3"]}, NUMBER | {"domain": ("0", "9")},
    NUMBER | {"domain": None},
    QUASI | {"type": "numeric", "cells": "interval"}, QUASI | {"type": "date", "cells": "interval"},
    QUASI | {"type": "date", "cells": "representative"}, QUASI | {"type": "ordinal"},
    QUASI | {"type": "ordinal", "cells": "interval", "order": ["lo", "hi"]},
    QUASI | {"type": "numeric", "cells": "bounds", "columns": ["q from", "q to"]},
    QUASI | {"type": "date", "cells": "bounds", "columns": ["q from", "q to"]},
    SENSITIVE | {"type": "ordinal", "order": ["lo", "hi"]}, SENSITIVE | {"cells": "label", "hierarchy": TREE},
    SENSITIVE | {"non_answers": []}, SENSITIVE | {"non_answers": ("refused",)}, {**SENSITIVE, "role": "neutral"},
    {**SENSITIVE, "role": "neutral", "type": "ordinal"},
]  # fmt: skip


@pytest.mark.parametrize("column", ACCEPTED)
def test_columns_that_are_read(column: dict[str, Any]) -> None:
    (found,) = read([column]).columns
    assert (found.name, found.role, found.type) == (column["name"], column["role"], column["type"])
    assert list(found.files) == column.get("columns", [column["name"]])
    assert list(found.non_answers) == list(column.get("non_answers", []))
    assert found.coded is None
    assert found.days is None
    assert (found.answers, found.whole) == (False, column.get("whole", False))


def test_what_is_not_said_is_not_so() -> None:
    """Only the manifest makes a hierarchy whole or every code an answer, and rows made up."""
    bare = Column.model_construct(name="q", role="quasi", type="categorical", cells="value")
    assert (bare.answers, bare.whole, bare.files) == (False, False, ("q",))
    assert read([EXACT]).counterfeits == 0


def test_what_a_column_is_read_as() -> None:
    coded = [NUMBER | {"coded": kind} for kind in ("graded", "mapping", "token")]
    assert [read([column], kind="pseudonymised", made="generalised").columns[0].reads for column in coded] == [
        "numeric", "categorical", "categorical",
    ]  # fmt: skip
    moved = read([NUMBER | {"type": "date", "coded": "shifted", "days": 30}]).columns[0]
    assert (moved.reads, moved.days) == ("date", 30)
    assert read([NUMBER | {"cells": "label", "hierarchy": [["1", "*"]]}]).columns[0].reads == "categorical"
    assert read([LABEL | {"type": "numeric", "hierarchy": [["1", "*"]]}]).columns[0].reads == "numeric"
    assert read([NUMBER]).columns[0].reads == "numeric"


def test_domains_are_numbers_or_days() -> None:
    assert read([NUMBER | {"domain": ["-1.5", "9"]}]).columns[0].domain == (-1.5, 9.0)
    assert read([NUMBER | {"domain": [0, 9]}]).columns[0].domain == (0.0, 9.0)
    assert read([NUMBER | {"type": "date", "domain": ["1970-01-02", "1970-02-01"]}]).columns[0].domain == (1.0, 31.0)
    idle = "Column 1 of the manifest has a 'domain' that says nothing about it."
    refused(idle, [SENSITIVE | {"domain": ["0", "9"]}])


BOUNDS = "needs the names of two 'columns' exactly when its cells are 'bounds'."
REFUSED: list[tuple[dict[str, Any], str]] = [
    (QUASI | {"cells": "bounds", "type": "numeric"}, BOUNDS),
    (QUASI | {"cells": "bounds", "type": "numeric", "columns": ["a"]}, BOUNDS),
    (QUASI | {"cells": "bounds", "type": "numeric", "columns": ["a", "b", "c"]}, BOUNDS),
    (QUASI | {"cells": "bounds", "columns": ["a", "b"]}, "is categorical, so its cells cannot be bounds."),
    (QUASI | {"several": "[,]"}, "has several values in a cell written in a way that is not known."),
    (QUASI | {"type": "numeric", "cells": "interval", "several": "{|}"},
     "has several values in a cell written in a way that is not known."),
    (SENSITIVE | {"cells": "set"}, "is sensitive, so its cells must be of kind 'value'."),
    (SENSITIVE | {"role": "neutral", "cells": "label", "hierarchy": TREE},
     "is neutral, so its cells must be of kind 'value'."),
    (SENSITIVE | {"cells": "label", "hierarchy": TREE, "coded": "mapping"},
     "is sensitive, so its cells must be of kind 'value'."),
    (EXACT | {"coded": "mapping"}, "is a quasi-identifier, so it cannot be coded."),
    (TOKEN | {"name": "q", "coded": "mapping"}, "is a pseudonym, so it must be coded as tokens."),
    (LABEL, "has label cells but no hierarchy."),
    (QUASI | {"cells": "interval"}, "is categorical, so its cells cannot be intervals or representatives."),
    (QUASI | {"cells": "representative"}, "is categorical, so its cells cannot be intervals or representatives."),
    (QUASI | {"type": "ordinal", "cells": "interval"}, "is ordinal but has no order."),
    (QUASI | {"type": "ordinal", "cells": "representative"}, "is ordinal but has no order."),
    (SENSITIVE | {"type": "ordinal"}, "is ordinal but has no order."),
    (SENSITIVE | {"non_answers": "no"}, "needs a list of texts as its 'non_answers'."),
    (SENSITIVE | {"non_answers": ["no", 1]}, "needs a list of texts as its 'non_answers'."),
    (SENSITIVE | {"non_answers": ["no", "yes", "no"]}, "repeats an entry of its 'non_answers'."),
    (NUMBER | {"domain": ["1", "2", "3"]}, "needs two ends as its 'domain'."),
    (NUMBER | {"domain": "12"}, "needs two ends as its 'domain'."),
    (NUMBER | {"domain": ["2", "1"]}, "has a 'domain' whose ends are not in order or not readable."),
    (NUMBER | {"domain": ["one", "2"]}, "has a 'domain' whose ends are not in order or not readable."),
    (NUMBER | {"domain": ["1", "two"]}, "has a 'domain' whose ends are not in order or not readable."),
    (LABEL | {"hierarchy": 3}, "has a hierarchy that is not a list of rows."),
    (LABEL | {"hierarchy": []}, "has a hierarchy that is not a list of rows."),
    (LABEL | {"hierarchy": [["a", "*"], "b*"]}, "has a hierarchy that is not a list of rows."),
    (LABEL | {"hierarchy": [[]]}, "has a hierarchy whose rows differ in length or hold other things than texts."),
    (LABEL | {"hierarchy": [["a", "*"], ["b", "x", "*"]]},
     "has a hierarchy whose rows differ in length or hold other things than texts."),
    (LABEL | {"hierarchy": [["a", "*"], ["b", 3]]},
     "has a hierarchy whose rows differ in length or hold other things than texts."),
    (LABEL | {"whole": True, "hierarchy": [["a", "x", "*"], [None, "y", "*"]]},
     "has a hierarchy whose rows differ in length or hold other things than texts."),
    (LABEL | {"hierarchy": [["a", "*"], ["b", None]]}, "has a hierarchy with more than one root."),
    (LABEL | {"hierarchy": [["a", None]]}, "has a hierarchy with more than one root."),
    (LABEL | {"hierarchy": [["a", "*"], ["a", "*"]]}, "has a hierarchy with the same leaf twice."),
    (LABEL | {"hierarchy": [["a", "*"], ["b", "+"]]}, "has a hierarchy with more than one root."),
    (LABEL | {"hierarchy": [["a", "b", "*"], ["b", "c", "*"]]},
     "has a hierarchy with a label that names two different sets of leaves."),
    (LABEL | {"hierarchy": [["a", "x", "*"], ["x", "y", "*"], ["c", "x", "*"]]},
     "has a hierarchy with a label that names two different sets of leaves."),
    (LABEL | {"hierarchy": [["a", "x", "u", "*"], ["b", "x", "v", "*"]]},
     "has a hierarchy with a label that has two parents."),
    (LABEL | {"hierarchy": [["a", "x", "u", "*"], ["b", "x", "v", "*"], ["c", "y", "v", "*"]]},
     "has a hierarchy with a label that has two parents."),
]  # fmt: skip


@pytest.mark.parametrize("column, message", REFUSED)
def test_columns_that_are_refused(column: dict[str, Any], message: str) -> None:
    coded = "coded" in column and column["role"] != "quasi"
    form = {"kind": "pseudonymised", "made": "generalised"} if coded else {}
    refused(f"{WHERE} '{column['name']}' {message}", [column], **form)


def test_entries_that_are_no_columns() -> None:
    refused("Column 2 of the manifest has no name.", [QUASI, 3])
    with pytest.raises(VerificationError, match="'days'"):
        read([NUMBER | {"type": "date", "coded": "shifted"}])
    with pytest.raises(VerificationError, match="'coded'"):
        read([NUMBER | {"coded": "hidden"}])
    refused("The manifest lists the column 'q' twice.", [QUASI, SENSITIVE | {"name": "q"}])
    bounds = QUASI | {"name": "b", "type": "numeric", "cells": "bounds", "columns": ["q", "to"]}
    refused("The manifest lists the column 'q' twice.", [QUASI, bounds])
    refused("The manifest lists the column 'q' twice.", [QUASI, SENSITIVE, QUASI, SENSITIVE])
    with pytest.raises(VerificationError, match="^The manifest is not a JSON object.$"):
        read_claims([manifest()])  # type: ignore[arg-type]
    assert read([QUASI | {"name": "quasi"}]).names == ["quasi"]
    rename = "A sensitive column called 'quasi' cannot be verified: rename it."
    refused(rename, [SENSITIVE | {"name": "quasi"}])
    refused(rename, [QUASI, SENSITIVE | {"name": "quasi"}, NUMBER])


@pytest.mark.parametrize("rows", [-1, 1.5, True, "3"])
def test_rows_are_a_whole_number(rows: Any) -> None:
    refused("The 'data' of the manifest must give its number of rows.", [QUASI], data={"rows": rows})


def test_rows_that_are_read() -> None:
    assert read([QUASI], data={"rows": 0}).rows == 0
    assert read([QUASI], data={"rows": 7}).rows == 7
    assert read([QUASI]).rows is None
    refused("The 'data' of the manifest is of the wrong kind.", [QUASI], data=3)


# Kinds


def test_the_kind_is_that_of_its_columns() -> None:
    coded = NUMBER | {"coded": "mapping"}
    shifted = NUMBER | {"type": "date", "coded": "shifted", "days": 3}
    assert read([QUASI, SENSITIVE]).made == "generalised"
    assert read([QUASI, shifted]).kind == "generalised"
    assert read([QUASI, coded], kind="pseudonymised", made="generalised").made == "generalised"
    assert read([EXACT, coded], kind="pseudonymised").made == "pseudonymised"
    assert read([EXACT, TOKEN], kind="pseudonymised", made="randomised").made == "randomised"
    calls = "The manifest calls a release {}, and its columns are not coded accordingly."
    refused(calls.format("generalised"), [QUASI, coded])
    refused(calls.format("randomised"), [EXACT, SENSITIVE], kind="randomised", made="microaggregated")
    refused(calls.format("pseudonymised"), [EXACT, SENSITIVE], kind="pseudonymised", made="randomised")
    cells = "The manifest's cells of quasi-identifiers are not those of a {} release."
    refused(cells.format("randomised"), [QUASI], kind="randomised")
    refused(cells.format("pseudonymised"), [QUASI, coded], kind="pseudonymised")
    refused(cells.format("randomised"), [EXACT, QUASI | {"name": "r"}], kind="randomised")
    assert read([EXACT, SENSITIVE | {"cells": "label", "hierarchy": TREE}], kind="randomised").made == "randomised"
    with pytest.raises(VerificationError, match="'kind'"):
        read([QUASI], kind="hidden")
    with pytest.raises(VerificationError, match="'made'"):
        read([QUASI], made="hidden")


def test_the_files_of_two_tables() -> None:
    columns = [EXACT, SENSITIVE, NUMBER]
    two = read(columns, kind="bucketised", group="g", publication="tables")
    assert (two.files, two.apart) == (["q", "g"], ["g", "s", "n"])
    one = read(columns, kind="bucketised", group="g", publication="permuted")
    assert (one.files, one.apart) == (["q", "s", "n", "g"], [])
    plain = read(columns)
    assert (plain.files, plain.apart, plain.group, plain.publication) == (["q", "s", "n"], [], None, None)
    refused("The manifest lists the column 's' twice.", columns, kind="bucketised", group="s", publication="tables")


def test_counterfeits_need_a_model_that_they_serve() -> None:
    model = {"name": "m-invariance", "m": 2, "on": "s"}
    alone = "The manifest has counterfeit rows, and no model that they could serve."
    assert read([QUASI, SENSITIVE]).counterfeits == 0
    assert read([QUASI, SENSITIVE], model, {"name": "k", "k": 2}, counterfeits=2).counterfeits == 2
    refused(alone, [QUASI, SENSITIVE], {"name": "k", "k": 2}, counterfeits=2)
    refused(alone, [QUASI, SENSITIVE], counterfeits=1)
    more = "The manifest's 'counterfeits' are not a number of rows of the release."
    for rows in (0, 1, 7):
        assert read([QUASI, SENSITIVE], model, counterfeits=rows, data={"rows": rows}).counterfeits == rows
        refused(more, [QUASI, SENSITIVE], model, counterfeits=rows + 1, data={"rows": rows})
    refused(more, [QUASI, SENSITIVE], model, counterfeits=-1)


# What models are claimed on

COLUMNS = [QUASI, SENSITIVE, NUMBER, NUMBER | {"name": "d", "type": "date"},
           SENSITIVE | {"name": "o", "type": "ordinal", "order": ["lo", "hi"]},
           SENSITIVE | {"name": "t", "hierarchy": TREE}]  # fmt: skip
TOGETHER = "The manifest's model '{}' is claimed on several columns together."
ONE_NUMBER = "The manifest's model '{}' is claimed on something that is not one numeric column."


@pytest.mark.parametrize(
    "model",
    [
        {"name": "distinct-l", "l": 2}, {"name": "distinct-l", "l": 2, "on": ["s", "n"]},
        {"name": "distinct-l", "l": 2, "on": ("s", "n")}, {"name": "m-invariance", "m": 2},
        {"name": "alpha-k-simple", "alpha": 0.5, "k": 2, "value": "a", "on": ["s"]},
        {"name": "variance", "v": 1, "on": "n"}, {"name": "variance", "v": 1, "on": ["d"]},
        {"name": "t-closeness", "t": 1, "distance": "ordered", "on": "n"},
        {"name": "t-closeness", "t": 1, "distance": "ordered", "on": "o"},
        {"name": "t-closeness", "t": 1, "distance": "hierarchical", "on": "t"},
        {"name": "t-closeness", "t": 1, "on": ["s", "o"]}, {"name": "personalised", "p": 0.5, "on": "t"},
        {"name": "personalised", "p": 0.5, "on": ["t"]}, {"name": "k", "k": 2},
        {"name": "worst-group-utility", "u": 1},
    ],
)  # fmt: skip
def test_targets_that_are_read(model: dict[str, Any]) -> None:
    assert read(COLUMNS, model).models == (model,)


@pytest.mark.parametrize(
    "model, message",
    [
        *(({"name": name, **rest, "on": ["s", "o"]}, TOGETHER.format(name)) for name, rest in (
            ("alpha-k-simple", {"alpha": 0.5, "k": 2, "value": "a"}), ("alpha-k-complete", {"alpha": {}, "k": 2}),
            ("m-invariance", {"m": 2}), ("range-diversity", {"p": 1}), ("range-confidence", {"p": 1}))),
        *(({"name": name, **rest, "on": on}, ONE_NUMBER.format(name)) for on in ("s", "o", ["n", "d"])
          for name, rest in (("k-e", {"k": 2, "e": 1}), ("variance", {"v": 1}), ("eps-m", {"eps": 1, "m": 2}))),
        ({"name": "variance", "v": 1}, ONE_NUMBER.format("variance")),
        ({"name": "personalised", "p": 1, "on": "s"},
         "The manifest's model 'personalised' is not claimed on one column with a hierarchy."),
        ({"name": "personalised", "p": 1, "on": ["t", "s"]},
         "The manifest's model 'personalised' is not claimed on one column with a hierarchy."),
        ({"name": "t-closeness", "t": 1, "distance": "ordered", "on": "s"},
         "The manifest claims an ordered distance on 's', which has no order."),
        ({"name": "t-closeness", "t": 1, "distance": "ordered", "on": ["n", "o"]},
         "The manifest claims an ordered distance on 'n', which has no order."),
        ({"name": "t-closeness", "t": 1, "distance": "hierarchical", "on": "n"},
         "The manifest claims a hierarchical distance on 'n', which has no hierarchy."),
        ({"name": "t-closeness", "t": 1, "distance": "hierarchical", "on": ["t", "s"]},
         "The manifest claims a hierarchical distance on 't', which has no hierarchy."),
        ({"name": "distinct-l", "l": 2, "on": ["s", "x"]},
         "The manifest's model 'distinct-l' does not name sensitive columns of the release."),
        ({"name": "distinct-l", "l": 2, "on": 3},
         "The manifest's model 'distinct-l' does not name sensitive columns of the release."),
        ({"name": "distinct-l", "l": 2, "on": None},
         "The manifest's model 'distinct-l' does not name sensitive columns of the release."),
        ({"name": "distinct-l", "l": 2, "on": ["s", "s"]},
         "The manifest's model 'distinct-l' names a sensitive column twice."),
    ],
)  # fmt: skip
def test_targets_that_are_refused(model: dict[str, Any], message: str) -> None:
    refused(message, COLUMNS, model)


@pytest.mark.parametrize("made", ["randomised", "pseudonymised", "microaggregated", "bucketised"])
def test_exact_values_have_no_share_of_a_domain_to_promise(made: str) -> None:
    """The cells of a class of a bucketised release are not even its quasi-identifiers."""
    form = {"kind": made} | ({"group": "g", "publication": "tables"} if made == "bucketised" else {})
    message = f"The manifest claims worst-group-utility, and a {made} release generalises nothing."
    refused(message, [EXACT, SENSITIVE], {"name": "worst-group-utility", "u": 1}, **form)
    assert read([EXACT, SENSITIVE], {"name": "k", "k": 1}, **form).models
    assert read([EXACT, SENSITIVE], {"name": "worst-group-utility", "u": 1}).models


def test_a_coded_column_keeps_its_hierarchy_to_itself() -> None:
    coded = [EXACT, SENSITIVE | {"coded": "mapping"}]
    form = {"kind": "pseudonymised"}
    assert read(coded, {"name": "personalised", "p": 1, "on": "s"}, **form).models
    assert read(coded, {"name": "t-closeness", "t": 1, "distance": "hierarchical", "on": "s"}, **form).models
    ordinal = [EXACT, SENSITIVE | {"coded": "graded", "type": "ordinal"}]
    assert read(ordinal, **form).columns[1].order is None


@pytest.mark.parametrize("sets", [[], [["q"]], [["q"], []], [["q"], ["s"]]])
def test_sets_of_quasi_identifiers_are_several_and_all_of_them(sets: Any) -> None:
    message = "The manifest's 'quasi_sets' must be two or more, and together all of its quasi-identifiers."
    refused(message, [QUASI, QUASI | {"name": "r"}, SENSITIVE], quasi_sets=sets)


def test_sets_of_quasi_identifiers_are_generalised() -> None:
    columns = [EXACT, EXACT | {"name": "r"}, SENSITIVE]
    refused("The manifest's 'quasi_sets' are for generalised releases.", columns, kind="randomised",
            quasi_sets=[["q"], ["r"]])  # fmt: skip
    assert read(columns, quasi_sets=[["q"], ["r"]]).sets == (("q",), ("r",))


def test_only_items_have_a_mark() -> None:
    items = SENSITIVE | {"cells": "items", "several": ";"}
    assert [column.mark for column in read([items, QUASI | {"several": "{|}"}]).columns] == [";", None]
