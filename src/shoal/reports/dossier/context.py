"""Who releases what to whom, about whom, and who signs for it: what people say, beside what was counted."""

from __future__ import annotations

from shoal.reports.codes import meaning
from shoal.reports.dossier.facts import Facts, count, share
from shoal.reports.dossier.model import NOT_STATED, Items, Section, Table, Text

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
