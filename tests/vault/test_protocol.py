"""Results that were really mined on a coded release: read, checked, refused or turned back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from random import Random

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import InputError, ParameterError, ShoalError
from shoal.io.census import generate
from shoal.recoding.grading import GradingTable
from shoal.recoding.secrets import MappingTable, Secret
from shoal.vault.leaks import Known, gain, leaks
from shoal.vault.protocol.decision import Examined, Policy, answer, examine
from shoal.vault.protocol.recount import Counter
from shoal.vault.protocol.statements import Released
from shoal.vault.protocol.submission import FORMS, Submission, read_results

# Ages 15 to 45 are 1 + (age - 15)/30, ages 46 to 90 are 2 + (age - 46)/44, maxima .999.
AGES = GradingTable("age", bounds=[(Decimal(15), Decimal(45)), (Decimal(46), Decimal(90))], names=[1, 2], rule="paper",
                    decimals=0)  # fmt: skip
WIDE = Policy(waiting=0.5, budget=0.6, together=0.8)  # of four diseases, one is half of what is to be known
ILLS = MappingTable("disease", {"Flu": "illness_3", "Ulcer": "illness_12", "Asthma": "illness_1", "Gout": "illness_7"})


@pytest.fixture(scope="module")
def small() -> Counter:
    """1,200 people: the old have gout, the young flu; women work less."""
    draw = np.random.default_rng(1)
    age = draw.integers(15, 91, 1200)
    sick = np.where(draw.random(1200) < 0.8, np.where(age < 42, "Flu", "Gout"), draw.choice(["Ulcer", "Asthma"], 1200))
    sex = draw.choice(["F", "M"], 1200)
    frame = pl.DataFrame({
        "age": AGES.encode(pl.Series(age)), "disease": ILLS.encode(pl.Series(sick)), "sex": sex,
        "hours": np.where(sex == "F", 30, 40) + draw.integers(0, 5, 1200),
        "work": np.where(age < 42, "private", "state"),
    })  # fmt: skip
    return Counter(Released.of(frame, {"age": "grading", "disease": "mapping"}))


def ask(counter: Counter, text: str, policy: Policy | None = None, **more: object) -> Examined:
    kinds = {key: more.pop(key) for key in ("form", "target", "aliases") if key in more}
    return examine(Submission(text=text, **kinds), counter, policy or WIDE, **more)  # type: ignore[arg-type]


def told(found: Examined, secrets: Sequence[Secret] = (AGES, ILLS)) -> str:
    return answer(found, secrets).text


def count(counter: Counter, expression: pl.Expr) -> int:
    return counter.released.frame.filter(expression).height


YOUNG = pl.col("age") < 1.9
FLU = pl.col("disease") == "illness_3"


def forms(counter: Counter) -> dict[str, tuple[str, str]]:
    """The same true rule in everybody's notation, and what its answer begins with."""
    n, young, flu = counter.n, count(counter, YOUNG), count(counter, FLU)
    both = count(counter, YOUNG & FLU)
    old, gout = n - young, count(counter, ~YOUNG & (pl.col("disease") == "illness_7"))
    share, conf, lift = both / n, both / young, both / young / (flu / n)
    rule = "IF age < 42 THEN disease = Flu"
    others = counter.released.frame.filter(YOUNG)["disease"].value_counts().sort("disease")["count"].to_list()
    weights = ", ".join(f"{each:.2f}" for each in others)
    return {
        "the paper's": (f"Rule4 IF H-age < 1.9\n      THEN disease = illness_3 (confidence {conf:.2f})", rule),
        "words": (f"if age < 1.9 then disease = illness_3, support {100 * share:.1f} %, conf {100 * conf:.0f}%", rule),
        "scikit-learn": (
            f"|--- age <= 1.89\n|   |--- weights: [{weights}] class: illness_3\n"
            f"|--- age >  1.89\n|   |--- class: illness_7", "IF age <= 41 THEN disease = Flu"),
        "J48": (
            f"age < 1.9: illness_3 ({young}.0/{young - both}.0)\nage >= 1.9\n|   sex = F: illness_7 (3.0)", rule),
        "JRip": (f"JRIP rules:\n\n(age < 1.9) => disease=illness_3 ({young}.0/{young - both}.0)\n"
                 f" => disease=illness_7 ({old}.0/{old - gout}.0)", rule),
        "PART": (f"PART decision list\n\nage < 1.9 AND\nage > 0.5: illness_3 ({young}.0/{young - both}.0)", rule),
        "Apriori": (f" 1. age='(-inf-1.89]' {young} ==> disease=illness_3 {both}    <conf:({conf:.2f})> "
                    f"lift:({lift:.2f}) lev:(0.02) [2] conv:(1.3)", "IF age <= 41 THEN disease = Flu"),
        "rpart": (f"1) root {n} 500 illness_3 (0.5 0.5)\n  2) age< 1.9 {young} {young - both} illness_3 (0.8 0.2) *\n"
                  f"  3) age>=1.9 {old} {old - gout} illness_7 (0.1 0.9) *", rule),
        "partykit": ("Model formula:\ndisease ~ age + sex\n\nFitted party:\n[1] root\n"
                     f"|   [2] age <= 1.89: illness_3 (n = {young}, err = {100 - 100 * conf:.1f}%)\n"
                     f"|   [3] age > 1.89: illness_7 (n = {old}, err = {100 - 100 * gout / old:.1f}%)",
                     "IF age <= 41 THEN disease = Flu"),
        "arules": (f"    lhs          rhs                 support confidence coverage lift count\n"
                   f"[1] {{age=[0,1.9)}} => {{disease=illness_3}} {share:.4f} {conf:.4f} {young / n:.4f} {lift:.4f} "
                   f"{both}", rule),
        "mlxtend": ("antecedents,consequents,support,confidence\n"
                    f"age < 1.9,frozenset({{'disease=illness_3'}}),{share},{conf}", rule),
        "JSON": (json.dumps([{"if": [["age", "<", 1.9]], "then": ["disease = illness_3"], "confidence": conf}]), rule),
        "CSV": (f"age,disease,count\n\"(0, 1.9)\",illness_3,{both}", "age < 42 AND disease = Flu"),
    }  # fmt: skip


def test_every_notation_is_read_checked_and_turned_back(small: Counter) -> None:
    for name, (text, expected) in forms(small).items():
        target = {"target": "disease"} if name in ("J48", "PART") else {}
        found = ask(small, text, **target)
        assert told(found).startswith(expected), (name, told(found), [str(one) for one in found.refused])
        assert "illness" not in told(found), name


def test_a_number_that_is_off_is_refused_with_the_one_that_is_right(small: Counter) -> None:
    both = count(small, YOUNG & FLU)
    off = ask(small, f"IF age < 1.9 THEN disease = illness_3 (n = {both + 1})").refused[0]
    assert "print thresholds with all their digits" in off.why
    for wrong in (f"n = {both + 1}", "confidence = 0.5", "support 90%", "lift = 1"):
        found = ask(small, f"IF age < 1.9 THEN disease = illness_3 ({wrong})")
        assert found.state == "refused", wrong
        assert "and the release has" in str(found.refused[0])
        assert not told(found)


INVENTED = {
    "IF age < 1.9 THEN disease = illness_1": "not the commonest among its rows",
    "age < 1.9 and disease = illness_3": "states nothing that can be checked",
    "IF disease = illness_99 THEN sex = F": "is about fewer than 10 rows",
    "disease = illness_3: n = {flu}": "says no more of its codes than how often they occur",
    "age < 1.9: n = {young}": "says no more of its codes than how often they occur",
    "IF disease = illness_3 THEN sex = {sex} (confidence {confidence})": "says no more of its codes",
    "IF hours > 0 THEN disease = illness_3 (right {flu})": "says no more of its codes",
    "IF age < 1.9 THEN age > 0.5 (confidence 1)": "concludes with what holds for every row",
    "IF sex = {sex} and age < 1.0001 THEN disease = illness_3": "is about fewer than 10 rows",
}


@pytest.mark.parametrize("text", INVENTED)
def test_what_states_nothing_or_what_is_not_so_is_refused(small: Counter, text: str) -> None:
    ill = small.released.frame.filter(FLU)
    sex = str(ill["sex"].mode()[0])
    parts = {
        "flu": ill.height, "young": count(small, YOUNG), "sex": sex,
        "confidence": f"{(ill['sex'] == sex).mean():.4f}",
    }  # fmt: skip
    found = ask(small, text.format(**parts))
    assert found.state == "refused"
    assert INVENTED[text] in str(found.refused[0])


def test_nothing_but_what_was_read_and_checked_is_turned_back(small: Counter) -> None:
    text = "IF age < 1.9 THEN disease = illness_3 (confidence 0.8) # and illness_12, illness_1, disease_illness_7 too"
    found = ask(small, text)
    assert told(found) == "IF age < 42 THEN disease = Flu (confidence 0.8)\n"
    assert any("illness_12" in one.text for one in found.left)
    assert found.gained.in_column("disease") == {"illness_3"}


def test_codes_that_few_people_have_are_not_told_even_where_they_are_not_meant(small: Counter) -> None:
    frame = small.released.frame.with_columns(
        disease=pl.when(pl.int_range(pl.len()) < 5).then(pl.lit("illness_12")).otherwise(
            pl.when(pl.col("disease") == "illness_12").then(pl.lit("illness_1")).otherwise("disease"))
    )  # fmt: skip
    counter = Counter(Released(frame, small.released.coded))
    for text in ("IF disease != illness_12 and age < 1.9 THEN disease = illness_3",
                 "IF age < 1.9 THEN disease in {illness_3, illness_12}"):  # fmt: skip
        found = ask(counter, text)
        assert found.state == "refused"
        assert "fewer than 10 rows have" in str(found.refused[0])


def test_alternatives_and_unknown_columns_are_left_and_named(small: Counter) -> None:
    found = ask(small, "IF age < 1.9 or sex = F THEN disease = illness_3\nIF years < 1.9 THEN disease = illness_3")
    assert found.state == "refused"
    assert "alternatives" in str(found.left[0])
    assert any("years" in one.text for one in found.left)
    # A rule with a part that was not read is another rule, and not answered without it.
    rule = "IF age < 1.9 and years < 3 THEN disease = illness_3"
    assert ask(small, rule).accepted == ()
    assert ask(small, "IF age < 1.9 THEN disease = illness_3 and years < 3").accepted == ()
    both = count(small, YOUNG & FLU)
    assert ask(small, f'age,town,disease,count\n"(0, 1.9)",Rome,illness_3,{both}').accepted == ()
    assert ask(small, "IF years < 1.9 THEN disease = illness_3", aliases={"years": "age"}).state == "answered"


def test_thresholds_between_two_codes_get_one_answer(small: Counter) -> None:
    answers = {told(ask(small, f"IF age <= {cut} THEN disease = illness_3")) for cut in (1.867, 1.87, 1.88, 1.8999)}
    assert answers == {"IF age <= 41 THEN disease = Flu\n"}


def test_thresholds_that_close_in_on_few_people_are_refused(small: Counter) -> None:
    first = ask(small, "IF age <= 1.9 THEN disease = illness_3")
    ages, rows = small.codes("age")
    at = int(np.searchsorted(ages, 1.9 - 1e-6))
    following = float(ages[at + 1])
    narrow = Policy(minimum=int(rows[at + 1]) + 1, budget=1, together=1)
    again = ask(small, f"IF age <= {following} THEN disease = illness_3", narrow, mine=first.gained)
    assert again.state == "refused"
    assert "rows from another one" in str(again.refused[0])


def test_a_list_of_codes_is_refused_as_one(small: Counter) -> None:
    frame = small.released.frame
    lines = [f"IF disease = illness_{one} THEN work = {frame.filter(disease=f'illness_{one}')['work'].mode()[0]}"
             for one in (1, 3, 7, 12)]  # fmt: skip
    found = ask(small, "\n".join(lines))
    assert found.state == "refused"
    assert {one.why for one in found.refused} == {"is one of a list that goes through the codes of a column one by one"}
    assert ask(small, lines[1]).state == "answered"


def test_the_budget_ends_answers_and_a_repeated_question_costs_nothing(small: Counter) -> None:
    policy = Policy(budget=0.3, waiting=0.3)
    first = ask(small, "IF age < 1.9 THEN disease = illness_3", WIDE)
    assert first.state == "answered"
    again = ask(small, "IF age < 1.9 THEN disease = illness_3", policy, mine=first.gained, everyone=first.gained)
    assert again.state == "answered"
    other = ask(small, "IF age > 1.9 THEN disease = illness_7", policy, mine=first.gained, everyone=first.gained)
    assert "than one researcher may know" in str(other.refused[0])
    joint = ask(small, "IF age > 1.9 THEN disease = illness_7", Policy(budget=1, waiting=1, together=0.3),
                everyone=first.gained)  # fmt: skip
    assert "than all researchers together may know" in str(joint.refused[0])
    wait = ask(small, "IF age > 1.9 THEN disease = illness_7", Policy(budget=1, waiting=0.1, together=1))
    assert wait.state == "waiting"
    by_hand = Policy(automatic=False, waiting=1, budget=1, together=1)
    assert ask(small, "IF age > 1.9 THEN disease = illness_7", by_hand).state == "waiting"


def test_refusals_do_not_depend_on_the_secrets(small: Counter) -> None:
    """The same release under any mapping and grading is judged alike: the judge is not given them."""
    from inspect import signature

    assert "secrets" not in signature(examine).parameters
    assert not {"answering", "interpret"} & set(vars(__import__("shoal.vault.protocol.decision", fromlist=["x"])))


def test_a_policy_is_checked(small: Counter) -> None:
    assert Policy.of_plain(Policy(minimum=5).plain()) == Policy(minimum=5)
    for wrong in ({"minimum": 0}, {"budget": 2}, {"automatic": 1}, {"together": True}, {"minimun": 3}):
        with pytest.raises(ParameterError, match="policy"):
            Policy.of_plain(wrong)
    two = "IF age < 1.9 THEN disease = illness_3\nIF age > 1.9 THEN disease = illness_7"
    found = ask(small, two, Policy(statements=1))
    assert "beyond the 1 statements" in str(found.refused[0])


def test_bad_submissions_are_told_in_a_sentence(small: Counter) -> None:
    for text, form, sentence in (
        ("{", "json", "as JSON"), ("[1]", "json", "list of objects"), ('age,disease\n"1', "csv", "as CSV"),
        ("age,disease\n1", "csv", "1 cells"), ("x", "html", "form"), ("x" * 200_001, "auto", "characters"),
        ("|--- age <= 1.9\n|   |--- class: nobody", "auto", "name it as the target"),
    ):  # fmt: skip
        with pytest.raises((InputError, ParameterError), match=sentence):
            read_results(Submission(text=text, form=form), small.released)
    with pytest.raises(InputError, match="no column of the release"):
        read_results(Submission(text="|--- age <= 1.9\n|   |--- class: F", target="gender"), small.released)


def clustered(counter: Counter) -> tuple[np.ndarray, np.ndarray]:
    """Two clusters, of the young and the old, by ages and hours in standard deviations, and how many rows each has."""
    rows = counter.released.frame.select("age", "hours").to_numpy()
    spread = rows.std(axis=0)
    near = rows[:, 0] < 2
    for _ in range(50):
        places = np.array([rows[near].mean(axis=0), rows[~near].mean(axis=0)])
        far = (((rows[:, None] - places) / spread) ** 2).sum(axis=2)
        near = far[:, 0] <= far[:, 1]
    return places, np.array([near.sum(), (~near).sum()])


def test_cluster_centres_are_checked_as_means_of_their_rows(small: Counter) -> None:
    places, sizes = clustered(small)
    lines = [f"{at},{age:.3f},{hours:.3f},{sizes[at]}" for at, (age, hours) in enumerate(places)]
    found = ask(small, "\n".join(["cluster,age,hours,n", *lines]), Policy(budget=1, waiting=1, together=1))
    assert len(found.accepted) == 2, found.refused
    assert told(found).startswith("centre at age = ")
    assert "not the mean of the values" in told(found)
    invented = ask(small, "cluster,age,hours,n\n0,1.2,31,600\n1,2.5,44,600")
    assert invented.state == "refused"


def test_means_of_codes_are_listed_and_not_turned_back(small: Counter) -> None:
    young = small.released.frame.filter(FLU)
    text = f"disease,count,mean_age\nillness_3,{young.height},{young['age'].mean():.4f}"
    found = ask(small, text)
    made = answer(found, [AGES, ILLS])
    assert made.text == f"disease = Flu (rows {young.height})\n"
    assert "mean of codes" in made.left[0].why


def test_what_is_known_is_counted_with_what_follows(small: Counter) -> None:
    ages = small.codes("age")[0]
    none, one = (leaks(Known.of(("age", float(code)) for code in ages[[5][:n]]), small)[0] for n in (0, 1))
    assert (none.share, none.told, none.implied) == (0.0, 0, 0)
    # One code of whole numbers tells its category.
    assert one.implied == int((ages < 2).sum()) - 1
    assert one.read == pytest.approx(count(small, pl.col("age") < 2) / small.n)
    assert one.read < one.share < 0.5
    three = leaks(Known.of(("disease", f"illness_{code}") for code in (1, 3, 7)), small)[1]
    assert (three.told, three.implied, three.share, three.read) == (3, 1, 1.0, pytest.approx(1.0))
    assert "3 of 4 codes of column 'disease' were told, and 1 that follow" in three.sentence
    known = Known.of([("age", 1.5), ("disease", "illness_1")])
    assert Known.of_plain(json.loads(json.dumps(known.plain()))) == known


def test_matching_gains_from_answers(small: Counter) -> None:
    draw = np.random.default_rng(1)
    ages = small.codes("age")[0]
    points = [("age", float(ages[3])), ("age", float(ages[20])), ("disease", "illness_3")]
    by_rank = gain(AGES, small.released, Known.of(points), draw)
    assert by_rank.given > by_rank.without + 0.2
    by_count = gain(ILLS, small.released, Known.of(points), draw)
    assert by_count.given > by_count.without
    nothing = gain(ILLS, small.released, Known({}), draw)
    assert nothing.given == pytest.approx(nothing.without, abs=0.1)
    assert "frequency matching" in nothing.sentence.lower()


@pytest.fixture(scope="module")
def census() -> tuple[Counter, Sequence[Secret]]:
    """A release as the paper makes it: ages graded, diagnoses mapped, all else as it is."""
    frame = generate(2500, 1).select("sex", "marital_status", "age", "diagnosis").drop_nulls()
    table = shoal.read(frame, quasi=["sex", "marital_status"], sensitive=["age", "diagnosis"], name="census")
    made = shoal.anonymize(table, algorithm="table-transform", seed=1, acknowledge=["W-PP-REV"])
    return Counter(Released.of(made.frame, {one.column: one.kind for one in made.secrets})), made.secrets


def test_a_tree_that_scikit_learn_mined_is_interpreted(census: tuple[Counter, Sequence[Secret]]) -> None:
    from sklearn.tree import DecisionTreeClassifier, export_text

    counter, secrets = census
    frame = counter.released.frame
    codes = sorted(frame["diagnosis"].unique())
    flags = [(pl.col("diagnosis") == code).cast(pl.Float64).alias(f"diagnosis_{code}") for code in codes]
    features = frame.select("age", *flags)
    tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=40, random_state=0)
    tree.fit(features.to_numpy(), frame["marital_status"].to_list())
    text = export_text(tree, feature_names=features.columns, show_weights=True, decimals=6)
    found = ask(counter, text, Policy(waiting=1, budget=1, together=1))
    assert found.state == "answered"
    assert len(found.accepted) >= tree.get_n_leaves() - 2
    made = answer(found, secrets)
    assert not made.left
    assert "diagnosis_" not in made.text
    # The same rows, counted on the original by what the answer says.
    (ages,) = [one for one in secrets if one.column == "age"]
    first = made.text.splitlines()[0]
    low, high = (int(part) for part in (first.split("age > ")[1].split()[0] if "age > " in first else "0",
                                        first.split("age <= ")[1].split()[0]))  # fmt: skip
    original = ages.decode(frame["age"])
    if "diagnosis" not in first:
        rows = int(original.is_between(low, high, closed="right").sum())
        assert f"covered {rows}" in first
    invented = text.replace("weights: [", "weights: [7")
    assert ask(counter, invented, Policy(waiting=1, budget=1, together=1)).state == "refused"


PIECES = [
    "age", "disease", "sex", "work", "illness_3", "F", " ", "  ", " <= ", "<", ">", "=", "1.9", "0.5", "(", ")", "[",
    "]", ",", "-", "inf", "and", "or", "not", "THEN", "IF", "=>", "==>", "|   ", "|---", ":", "class", "\n", "{", "}",
    "'", '"', "n", "conf", "%", "0", "1e999", "nan", "between", "in", "c(", "\\", "²", "\0", "cluster", "count", ";",
    "mean_age",
]  # fmt: skip


def test_no_text_is_too_odd_to_be_read_or_refused(small: Counter) -> None:
    draw = Random(1)
    states = set()
    for _ in range(120):
        text = "".join(draw.choice(PIECES) for _ in range(draw.randint(1, 60)))
        for form in FORMS:
            with suppress(ShoalError):
                states.add(ask(small, text, form=form).state)
    assert states <= {"answered", "waiting", "refused"}
    assert "refused" in states


def test_a_line_that_is_too_long_is_named(small: Counter) -> None:
    long = "IF " + "age < 1.9 and " * 90 + "sex = F THEN work = private"
    found = ask(small, f"IF age < 1.9 THEN disease = illness_3\n{long}")
    assert len(found.accepted) == 1
    assert "more than 1,000 characters" in found.left[0].why


def test_the_paper_s_figure_2(small: Counter) -> None:
    """Rules of its own data mining, codes without a number among them."""
    draw = np.random.default_rng(2)
    level = draw.choice(["general-h", "general-w", "general-a"], 900)
    work = np.where((level == "general-h") | (draw.random(900) < 0.5), "private", "state")
    mapping = MappingTable("education", {"1st-4th": "general-h", "assoc-voc": "general-w", "10th": "general-a"})
    frame = pl.DataFrame({"education": level, "WorkClass": work})
    counter = Counter(Released.of(frame, {"education": "mapping"}))
    rules = "Rule0 WorkClass = private\nRule1 IF   hiding education = general-h\n      THEN WorkClass = private"
    found = ask(counter, rules)
    assert told(found, [mapping]) == "IF education = 1st-4th THEN WorkClass = private\n"
