"""Who releases what to whom, about whom, and who signs for it: what people say, beside what was counted."""

from __future__ import annotations

from shoal.grammar import target_words
from shoal.reports.dossier_model import (
    NOT_STATED,
    Facts,
    Items,
    Section,
    Table,
    Text,
    count,
    model_words,
    number,
    share,
)
from shoal.reports.words import meaning

_KNOWN_TO_BE_IN = (
    "Prosecutor: somebody who knows that a target is in the data, and some of the target's quasi-identifiers.",
    "Journalist: somebody who knows quasi-identifiers of people, and not whether they are in the data.",
    "Marketer: somebody who matches all records with a list of people, and counts how many matches are right.",
)


def identification(facts: Facts) -> Section:
    """What is released, by whom and why."""
    manifest, review = facts.manifest, facts.review
    rows = [
        ("title", facts.named),
        ("purpose", facts.said("purpose")),
        ("data controller", facts.said("controller")),
        ("contact", facts.said("contact")),
        ("source", str(manifest.get("source") or NOT_STATED)),
        ("date", str(manifest.get("date", NOT_STATED))),
        ("the release is", str(manifest["statement"])),
        ("kind of release", str(manifest["kind"])),
    ]
    if facts.evidence:
        rows.insert(4, ("legal basis", facts.said("legal_basis")))
        rows.append(("profile", str(facts.profile.get("title", "none: models and limits are the recipe's own"))))
    blocks: list[Text | Table | Items] = [Table(rows=rows)]
    if facts.profile:
        blocks.append(Text(text=f"The profile follows: {facts.profile['source']}"))
        blocks.append(Text(text="What the profile does not cover:", tone="note"))
        blocks.append(Items(items=list(facts.profile["not_covered"])))
    if not review:
        told = "The recipe has no [review] table, in which people say what only they know."
        blocks.append(Text(text=told, tone="note"))
    return Section(key="identification", title="Identification and purpose", blocks=blocks)


def situation(facts: Facts) -> Section:
    """Where the data go, and what protects them there."""
    rows = [
        ("context of the release", facts.said("context")),
        ("recipients", facts.said("recipients")),
        ("safeguards at the recipients", facts.said("safeguards")),
        ("intended use", facts.said("use")),
    ]
    if not facts.evidence:
        rows = [row for row in rows if row[0] != "safeguards at the recipients"]
    return Section(key="situation", title="Data situation and recipients", blocks=[Table(rows=rows)])


def principals(facts: Facts) -> Section:
    """Whom the data are about, and what became of their rows."""
    counts, people = facts.evidence.get("counts", {}), facts.evidence.get("people", {})
    read, released = counts.get("read"), counts.get("released")
    rows = [
        ("whom the data are about", facts.said("subjects")),
        ("rows read", count(read)),
        ("left out for missing cells", _part(counts.get("dropped"), read)),
        ("suppressed", _part(counts.get("suppressed"), read)),
        ("released", _part(released, read)),
    ]
    if facts.evidence.get("sample"):
        drawn = facts.evidence["sample"]
        rows.insert(1, ("a random sample", f"{_part(drawn['drawn'], drawn['source'])} of {count(drawn['source'])}"))
    if counts.get("counterfeits"):
        rows.append(("counterfeits added", count(counts["counterfeits"])))
    if people.get("people"):
        mean = people["rows"] / people["people"]
        rows += [("people", count(people["people"])), ("rows a person, on average", f"{mean:.2f}")]
        told = "Models count people: somebody with several rows is one."
    else:
        told = "No column says whose rows are whose: every row is taken to be another person."
    drawn = [Text(text=one) for one in facts.evidence.get("sample", {}).get("told", ())]
    return Section(key="principals", title="People and rows", blocks=[Table(rows=rows), Text(text=told), *drawn])


def threats(facts: Facts) -> Section:
    """Whom the release is protected against."""
    said = facts.review.get("threats") or []
    blocks: list[Text | Items] = [Text(text="Attackers that risks are counted for:"), Items(items=_KNOWN_TO_BE_IN)]
    blocks.append(Text(text="Further threats that were considered:"))
    blocks.append(Items(items=list(said)) if said else Text(text=NOT_STATED))
    return Section(key="threats", title="Threats", blocks=blocks)


def deviations(facts: Facts) -> Section:
    """What differs from the rule, and what was accepted although it warns."""
    reasons = facts.review.get("accepted", {})
    rows = [
        (code, meaning(code) or NOT_STATED, reasons.get(code, NOT_STATED)) for code in facts.manifest["acknowledged"]
    ]
    blocks: list[Text | Items | Table] = []
    if facts.evidence:
        said = facts.review.get("deviations") or []
        blocks.append(Text(text="Deviations from the usual procedure:"))
        blocks.append(Items(items=list(said)) if said else Text(text=NOT_STATED))
    if rows:
        headings = ("code", "what it accepts", "reason")
        blocks.append(Table(headings=headings, rows=rows, caption="Warnings that the publisher accepted"))
    else:
        blocks.append(Text(text="No warning had to be accepted."))
    return Section(key="deviations", title="Deviations and accepted warnings", blocks=blocks)


def history(facts: Facts) -> Section:
    """What was released before, and when this is looked at again."""
    said, kept = facts.review.get("earlier") or [], facts.evidence.get("registry") or {}
    blocks: list[Text | Items | Table] = [Text(text="Earlier releases of these people:")]
    blocks.append(Items(items=list(said)) if said else Text(text=NOT_STATED))
    if kept:
        told = f"The registry of the source holds this as release {kept.get('release')}."
        if kept.get("weakened"):
            told += f" All releases together leave {kept['weakened']:,} people with less than the models ask for."
        blocks.append(Text(text=told))
    elif facts.evidence:
        blocks.append(Text(text="No registry of releases was consulted.", tone="note"))
    blocks.append(Table(rows=[("to be evaluated again by", facts.said("re_evaluation"))]))
    return Section(key="history", title="Earlier releases and re-evaluation", blocks=blocks)


def sign_off(facts: Facts) -> Section:
    """Who answers for it."""
    rows = [
        (one["name"], one.get("role", NOT_STATED), one.get("date", NOT_STATED), "")
        for one in facts.review.get("sign_off", ())
    ]
    headings = ("name", "role", "date", "signature")
    return Section(
        key="sign-off",
        title="Sign-off",
        blocks=[Table(headings=headings, rows=rows or [(NOT_STATED, NOT_STATED, NOT_STATED, "")])],
    )


def hashes(facts: Facts) -> Section:
    """By what the files are known, and what made them."""
    manifest, evidence = facts.manifest, facts.evidence
    data = manifest["data"]
    rows = [
        ("made with", f"Shoal {manifest['shoal']}"),
        (f"{data['file']} ({data['rows']:,} rows)", data["sha256"]),
        (manifest["report"]["file"], manifest["report"]["sha256"]),
    ]
    if "sensitive" in data:
        rows.insert(2, (data["sensitive"]["file"], data["sensitive"]["sha256"]))
    rows += [(copy["file"], copy["sha256"]) for copy in data.get("copies", ())]
    if facts.digest:
        rows.append(("manifest.json", facts.digest))
    if evidence:
        rows.append(("keyed hash of the input", str(evidence.get("input_hash", NOT_STATED))))
        rows.append(("algorithm", ", ".join(f"{key} = {value}" for key, value in evidence["algorithm"].items())))
    told = "shoal verify FOLDER re-derives every verdict that does not rest on the publisher's evidence."
    return Section(key="hashes", title="Hashes and versions", blocks=[Table(rows=rows), Text(text=told, tone="note")])


def _part(some: int | None, whole: int | None) -> str:
    return count(some) if not whole or some is None else f"{some:,} ({share(some / whole)})"


# ----------------------------------------
# Where the documents that regulators and standards bodies publish ask for what a section says.
#
# The words are ours; a number stands only where we are sure of it.


_DOCUMENTS = (
    "EMA: External guidance on the implementation of Policy 0070 (EMA/90915/2016), chapter 3, on anonymisation.",
    "Health Canada: Public Release of Clinical Information, guidance document, with its anonymisation report.",
    "ISO/IEC 27559:2022: Privacy enhancing data de-identification framework.",
    "NIST SP 800-188 (2023): De-identifying government datasets, techniques and governance.",
    "WP 216: Opinion 05/2014 of the Article 29 Working Party on anonymisation techniques.",
)
# Section: what EMA and Health Canada's anonymisation report, ISO/IEC 27559, NIST SP 800-188 and WP 216 say about it.
_ROWS = (
    ("Identification and purpose", "identity of the report; scope", "6.3", "3", "2"),
    ("Data situation and recipients", "context of disclosure", "6.2.2, 6.3.2", "3", "2"),
    ("People and rows", "study population", "7.2.2, 7.2.5", "4", "–"),
    ("Variables and techniques", "direct and quasi identifiers; techniques", "7.2.3, 7.2.4, 8.3.3", "4", "3"),
    ("Threats", "adversaries and attacks considered", "6.2, 6.2.3, 7.3", "3, 4", "2"),
    ("Threshold", "threshold and its justification", "7.3.2", "3", "–"),
    ("Risk before, after and residual", "measured risk of re-identification", "7.3.2, 7.3.3, 8.2.2", "4", "3"),
    ("Singling out, linkability, inference", "the three criteria", "8.2", "4", "3"),
    ("Attacks", "evidence for residual risk", "8.2.3", "4", "3"),
    ("Models met, and what is not protected", "methodology; limits", "7.3.4", "4", "3, 5"),
    ("Utility and critical variables", "data utility", "8.3", "4", "5"),
    ("Deviations and accepted warnings", "deviations, justified", "8.3", "3", "5"),
    ("Earlier releases and re-evaluation", "advances in technology; other releases", "8.3.4, 9.3.2", "3", "5"),
    ("Sign-off", "conclusion", "9.2.2", "3", "–"),
)


def crosswalk(facts: Facts) -> Section:
    """Which section answers which document."""
    headings = ("section", "EMA, Health Canada (topic)", "ISO/IEC 27559", "NIST 800-188", "WP 216")
    told = "Numbers are of clauses (ISO) and sections (NIST, WP 216). An aid to readers, no claim of conformity."
    return Section(
        key="crosswalk",
        title="Crosswalk",
        blocks=[
            Table(headings=headings, rows=_ROWS),
            Text(text=told, tone="note"),
            Table(rows=[tuple(one.split(": ", 1)) for one in _DOCUMENTS]),
        ],
    )


# ----------------------------------------
# The models that hold, and what nothing here protects.


_BY = {"rechecked": "anybody can re-derive it from the file", "attested": "attested by the publisher"}


def models(facts: Facts) -> Section:
    """Models met, with the worst class of each, and what is not protected."""
    manifest, evidence = facts.manifest, facts.evidence
    worst = evidence.get("worst", [None] * len(manifest["verdicts"]))
    rows = [
        (
            model_words(one["model"]),
            target_words(one["model"]["name"], one["on"]),
            "holds" if one["holds"] else "fails",
            "–" if value is None else number(value),
            number(one["limit"]),
            _BY[one["by"]] + (f"; the check is that of {one['vouched_by']}" if "vouched_by" in one else ""),
        )
        for one, known in zip(manifest["verdicts"], worst, strict=True)
        for value in [known if one["value"] is None else one["value"]]
    ]
    blocks: list[Text | Table | Items] = []
    if rows:
        headings = ("model", "on", "verdict", ">worst class", ">limit", "how it is known")
        blocks.append(Table(headings=headings, rows=rows))
    else:
        blocks.append(Text(text="No model was asked for, so none is promised to hold.", tone="bad"))
    for one in evidence.get("vacuous", ()):
        name = one["model"]["name"]
        on = target_words(name, one["on"]) if one["on"] else "the table"
        blocks.append(Text(text=f"Vacuous: {name} on {on} cannot fail on this table.", tone="bad"))
    blocks += [Text(text=one["sentence"], tone="bad") for one in evidence.get("spellings", ())]
    falls = [one for one in evidence.get("split_verdicts", ()) if one["failing_rows"]]
    if falls:
        told = [
            f"Whoever knows {one['known']}: {one['model']} on {target_words(one['model'], one['on'])} falls to "
            f"{number(one['worst'])} in the worst class (limit {number(one['limit'])}, {one['failing_rows']:,} rows)."
            for one in falls
        ]
        blocks += [Text(text="What somebody who knows another sensitive attribute still faces:"), Items(items=told)]
    blocks += [Text(text="What is not protected:", tone="strong"), Items(items=list(manifest["not_protected"]))]
    return Section(key="models", title="Models met, and what is not protected", blocks=blocks)
