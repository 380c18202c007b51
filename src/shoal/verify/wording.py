"""What a manifest may say in words, derived again from its models and columns: the verifier's own table.

A reader believes the statement before the models, so the statement has to follow from them, and so has the list of what
is not protected, and the warning codes without which no such release is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from shoal.verify.judge import target_words, targets
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import Check
from shoal.verify.terms.base import term_of

_CODED = (
    "Coded values: codes are the same for equal values, so they can be read back by rank or by frequency, and by "
    "whoever holds the secrets."
)
_SAME_CODES = (
    "Other releases with the same codes: whoever reads a code in one has read it in all, and releases of overlapping "
    "people can be intersected by their codes."
)
_KINDS = {
    "randomised": (
        "Links to people: all quasi-identifiers of a record but those redrawn are exact, and often all of them are.",
        "Sensitive values of whoever is re-linked: they are published as they are. The noise's entropy (Pa) bounds no "
        "attacker.",
    ),
    "pseudonymised": (
        "Links to people: quasi-identifiers that are not generalised are published exactly.",
        _CODED,
    ),
    "bucketised": (
        "Identity and membership: quasi-identifiers are exact, so whoever knows a person's sees whether and in which "
        "group they are.",
        "Values of a group whose other members are known, or that go together with quasi-identifiers throughout the "
        "release.",
    ),
    "perturbed": (
        "Links to people: a perturbed record is often still the nearest to its person, and nothing bounds how often.",
        "Sensitive values of whoever is linked: they are published as they are.",
    ),
    "microaggregated": (
        "The last member of a class whose other members are known: a mean gives the missing value away.",
    ),
}  # fmt: skip
_TOKENS = "People with several records: a token links them, and a history can be as telling as a name."
_JOINABLE = (
    "People in other releases made with the same token key: the releases can be joined on the token, record by record."
)
_SHIFTED = "Gaps between the dates of a person: shifting moves all of them alike."
_LEFT_OUT = (
    "Who was left out: whoever is known to be in the source and not in the release has one of the commonest values."
)
_SETS = "Whoever knows columns of several sets of quasi-identifiers of a person: models hold for each set alone."
_ACROSS = "The values of '{}' of people with several records: the classes of their records may share a single one."
_CHANGING = "People whose records differ in '{}': the classes of their records may share a single value."
_ACCEPTED = {
    "W-NO-K": "Identity: no model limits how few records share their quasi-identifiers.",
    "W-REPEAT": "People of earlier releases: taken together, releases may protect less than each of them.",
    "W-ROWS": "People with several records: models count records, and one person may have all of a class.",
}
_ACCEPTED_OF = {
    "W-UNMODELLED": "The values of '{}' within a class: no model is set on it.",
    "W-TEXT": "Whatever the free text of '{}' says about anybody.",
    "W-NAMES": "People whose names stand in '{}' as words of the language.",
    "W-IDENTIFIES": "People who are known by their '{}', which identifies them by itself.",
    "W-DETERMINES": "Quasi-identifiers that follow from '{}' more finely than their cells say.",
}
_SHARED = (
    "The values of '{}' within a class: no model is set on it alone, and one on several columns may hold where "
    "everybody has the same."
)
_ALWAYS = (
    "Whether a person is in the data: nothing here hides membership.",
    "People who appear in other releases too: releases of overlapping people can be intersected.",
    "An intruder with more knowledge than the quasi-identifiers: no differential privacy is claimed.",
)
# Every warning code there is beside those about a column: what is none would be read as one all the same.
_CODES = (
    "W-NO-K", "W-ORDER", "W-TIGHT", "W-NEUTRAL", "W-RA-LINK", "W-PP-REV", "W-EXACT-QI", "W-PERTURBED", "W-TRAJECTORY",
    "W-REPEAT", "W-ROWS",
)  # fmt: skip


def check_words(manifest: Mapping[str, Any], claims: Claims) -> list[Check]:
    """The statement, what is not protected, and the warning codes are those that the models and columns call for."""
    codes = manifest.get("acknowledged", ())
    said = manifest.get("statement") == statement(claims)
    detail = "The statement is what the models say." if said else "The statement is not what the models say."
    found = [Check(name="statement", passed=said, detail=detail)]
    told = manifest.get("not_protected")
    right = any(
        told == not_protected(claims, codes, joinable=joinable, same_codes=same)
        for joinable, same in product((False, True), repeat=2)
    )
    detail = "is said in full" if right else "is not what such a release has to say"
    found.append(Check(name="not protected", passed=right, detail=f"What is not protected {detail}."))
    odd = [code for code in codes if not _is_code(code)]
    lost = [code for code in needed_codes(claims) if code not in codes]
    detail = "Everything that needs to be accepted is acknowledged."
    if odd:
        detail = "The manifest acknowledges something that is no warning code."
    elif lost:
        detail = f"A release like this is refused unless '{lost[0]}' is acknowledged, and it is not."
    return [*found, Check(name="refusals", passed=not odd and not lost, detail=detail)]


def _is_code(code: str) -> bool:
    name, _, column = code.partition(":")
    return name in _ACCEPTED_OF if column else code in _CODES


def statement(claims: Claims) -> str:
    """The models in words, behind the kind of release where it is not generalised."""
    parts = []
    for model in claims.models:
        term = term_of(model)
        words = term.group_words if claims.made == "bucketised" else None
        text = (words or term.words).format(**model)
        on = ", ".join(target_words(model, names) for _, names in targets(claims, model))
        parts.append(f"{text} on {on}" if on else text)
    models = ", ".join(parts)
    if models and claims.sets:
        models += f", each by {len(claims.sets)} sets of quasi-identifiers one by one"
    if claims.kind == "generalised":
        return models or "no model"
    exact = ", quasi-identifiers exact" if claims.made == "bucketised" and models else ""
    return f"{claims.kind}{exact}; {models or 'no model holds'}"


def not_protected(
    claims: Claims, codes: Sequence[str], *, joinable: bool = False, same_codes: bool = False
) -> list[str]:
    """What has to be said about a release; whether its token key or codes are used again only the publisher knows."""
    coded = {column.coded for column in claims.columns}
    found = list(_KINDS.get(claims.made, ()))
    if claims.made != "pseudonymised" and not coded.isdisjoint(("graded", "mapping")):
        found.append(_CODED)
    if same_codes and not coded.isdisjoint(("graded", "mapping")):
        found.append(_SAME_CODES)
    if "token" in coded:
        found += [_TOKENS, _JOINABLE] if joinable else [_TOKENS]
    if "shifted" in coded:
        found.append(_SHIFTED)
    if claims.leftovers == "suppress":
        found.append(_LEFT_OUT)
    found += _accepted(claims, codes)
    said = {
        _SETS: claims.sets,
        "Counts: some records are counterfeit, and classes have the values promised with them only.":
            claims.counterfeits,
        "Links through the neutral columns, which are published as they are.": claims.role("neutral"),
    }  # fmt: skip
    found += [text for text, given in said.items() if given]
    found += _across(claims)
    if not any(term_of(model).valued for model in claims.models) and claims.role("sensitive"):
        found.append("Sensitive values: a class whose members share one discloses it (homogeneity).")
    always = _ALWAYS[1:] if any(term_of(model).membership for model in claims.models) else _ALWAYS
    return [*found, *_left_open(claims), *always]


def _accepted(claims: Claims, codes: Sequence[str]) -> list[str]:
    """What acknowledged warning codes leave unprotected, in their order."""
    figures = [names for model in claims.models for _, names in targets(claims, model)]
    shared = {name for names in figures if len(names) > 1 for name in names}
    found = []
    for code in codes:
        name, _, column = code.partition(":")
        if name == "W-UNMODELLED" and column in shared:
            found.append(_SHARED.format(column))
        elif name in _ACCEPTED_OF:
            found.append(_ACCEPTED_OF[name].format(column))
        elif code in _ACCEPTED:
            found.append(_ACCEPTED[code])
    return found


def _across(claims: Claims) -> list[str]:
    """Which values the classes of a person's records may give away together."""
    names = [one.name for one in claims.role("sensitive")] if claims.people else []
    return [(_CHANGING if (name,) in claims.across else _ACROSS).format(name) for name in names]


def _left_open(claims: Claims) -> list[str]:
    """What models leave open of their columns, in the order of the sentences."""
    found = []
    for model in sorted(claims.models, key=lambda model: term_of(model).leaves_open or ""):
        term = term_of(model)
        closed = [name for one in claims.models if one["name"] in term.closed_by for name in _targets(one, claims)]
        if term.leaves_open is not None:
            on = _targets(model, claims) if term.valued else [""]
            found += [term.leaves_open.format(name) for name in on if name not in closed]
    return found


def needed_codes(claims: Claims) -> list[str]:
    """Warning codes without which such a release is refused, as far as the manifest tells."""
    found = ["W-ORDER"] if claims.order == "kept" else []
    exact = claims.made in ("randomised", "pseudonymised", "perturbed")
    if not exact and claims.made != "bucketised" and not any(term_of(model).identity for model in claims.models):
        found.append("W-NO-K")
    covered = set()
    for model in claims.models:
        term = term_of(model)
        figures = [names for _, names in targets(claims, model) if term.protects_each(model, len(names))]
        covered |= {name for names in figures for name in names} if term.can_fail(model) else set()
    if not exact:
        found += [f"W-UNMODELLED:{one.name}" for one in claims.role("sensitive") if one.name not in covered]
    return found


def _targets(model: Mapping[str, Any], claims: Claims) -> list[str]:
    if not term_of(model).valued:
        return []
    on = model.get("on", [column.name for column in claims.role("sensitive")])
    return [on] if isinstance(on, str) else list(on)


# ----------------------------------------
# Our own words: those of the sentences, statements and pages that go with a release, numbers among them.


_WORDS = """
0 0.9 0b0b0b 1 1.5 100 10pt 12em 12px 14px 15px 16mm 16px 18px 1b1b1b 1px 24px 26px 2px 3b3b3b 4px 5 50 5b5b5b 640px
6g 6px 8 90 95 980px a a4 about above accepted accordingly achieve acknowledged across after again against align
alike all allow allows alone alpha also among an and anew anonymisation anonymity anonymous another answers any
anybody anything anywhere apart appear apple are arial as ask asked assignment at attack attacker attacks attested
attribute auto average avoid away b back background baseline be been behind being belongs between block body border
both bottom bounds breach break bucketised but by c called calls can cannot carried categorical cdf cell cells
certain chance charset check choose cl claimed claims class classes close closeness code coded codes collapse
collected color column columns combination commonest compared complete completely condensed confidence confident
contact content context control controller corrected could count counted counterfeit counterfeits counting counts
covers csv cut d dark data date dated dates day days ddd default defined derive derived derives determines device
did differ different differential discloses display distance distinct diverse diversity divide do doctype does
domain drawn drop e each earlier else en endfor endif ends entropy entry eps equal estimate eval evaluated
evaluation evenly every everybody everything evidence exact exactly extremes f3f5f7 fails few fewer fff file finding
fine finely first folder follow font for free frequency frequent from full g gap gaps general generalised generally
get give given gives go graded group groups gt guard guards guess guessed guesses guessing h1 h2 had half has have
here hi hide hides hierarchical hierarchy highest hints history hold holds homogeneity how html identifier
identifiers identifies identity if impossible in included inf input inside instead intersected interval intervals
intruder invariance invariant inverted is it item items its itself jinja join joined json k kept key kind kl
knowledge known knows l label labels lacks lang language last leaf learning least leave leaves left leftovers len
length less lets level li lies lifted likeliest likelihood likely limit limited limits link linkage linked links
list lists lo long look looked looks loop lower lowest lt m made manifest many mapping margin mark matching max
maximum may mean meaning means measure measured media median medians member members membership meta microaggregated
middle min missing mode model models modes months more most moved moves must naive name names nearest needs neither
neutral never no nobody nodes noise non none not nothing nowrap null number numbers numeric object of often on once
one ones only or order ordered ordinal original other others out outside over overflow overlap overlapping own p pa
padding page pair pairs parameter parameters parents part path pattern patterns people percent permuted person
personalised perturbation perturbed policy possible posterior pp pram prefers prepared print privacy probability
promised protect protected protects pseudonym pseudonymisation pseudonymised publication publish published publisher
purpose q qi quasi ra random randomised range ranges rank rare raw re reached read readable reads reason rechecked
recipients recoded record records recovered recovers recursive redraw redrawn relations relative release released
releases relinking remove rename repeat repeats representative representatives rest rev review right rises roboto
role root rounded rounds row rows s said same sample sans say says scheme scipy scored secret secrets sees segoe
sensitive sentence serif serve set sets several share shares shift shifted shifting shoal shuffled similar simple
simply single size small smaller smallest so solid some somebody something sorting source span spans spread stable
stand stands star starred stars stated statement stay still strata stratified style suppress suppressed sure swapped
system t table tables take taken target tbody td telling tells templates text texts th than that the thead their
theirs them there they things this those through throughout tight title to together token tokens too top tr
trajectories trajectory true twice two type u ui ul unchanged under unique uniqueness unit unknown unmodelled
unusual up use utf utility v valid value values variance variational vector verdict verdicts verified verify version
vertical viewport vouched w warning warnings was way weaker were what whatever when where whether which who whoever
whole whose width wildcard with within without words worst would wrap y years you
"""
OURS = frozenset(_WORDS.split())
