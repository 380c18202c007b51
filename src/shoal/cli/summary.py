"""A release and its measures, for people and for machines; shared by every command that makes one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.cli.console import ARROWS, figure, plain, say, share, show_table, target_label, verdict_rows

if TYPE_CHECKING:
    from shoal.recoding.outcome import Became, Overlap
    from shoal.results import Release


# ----------------------------------------
# What a release lost, in words: column by column, and where its cells overlap.


_EXAMPLE_WIDTH = 20
# So many columns are described; of more, those that lost most.
_SHOWN = 8
_NAME = 24


def loss_lines(columns: Sequence[Became], scores: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is left of each quasi-identifier, those that lost most first where there are many."""
    if not columns:
        return []
    shown = columns if len(columns) <= _SHOWN else sorted(columns, key=lambda one: -one.width)[:_SHOWN]
    width = min(max(len(one.column) for one in shown), _NAME)
    lines = ["What is left of each column:"]
    lines += [f"  {short(one.column, width):<{width}}  {_left(one)}" for one in shown]
    if len(columns) > len(shown):
        rest = len(columns) - len(shown)
        lines.append(f"  and {rest} more, which lost less" if rest > 1 else "  and one more, which lost less")
    loss = scores.get("lm", {}).get("value")
    if loss is not None:
        lines.append(f"In all, {share(loss)} of the detail in the cells is gone (lm {figure(loss)}).")
    return lines


def item_lines(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is left of columns of items, and what one more known item tells."""
    lines = []
    for name, one in found.items():
        parts = [f"{_about(one[what])} {what}" for what in ("kept", "coarser", "suppressed") if one[what]]
        lines.append(f"Items of {short(name, _NAME)}: {', '.join(parts) or 'none'}.")
        if one.get("fewest_beyond", one["k"]) < one["k"]:
            lines.append(f"Whoever knows {one['m'] + 1} of them finds as few as {one['fewest_beyond']:,} records.")
    return lines


def _left(one: Became) -> str:
    total = max(one.exact + one.coarser + one.everything, 1)
    if one.exact == total:
        return "as collected"
    if one.everything == total:
        return "nothing: every cell is everything"
    parts = [
        (one.exact, "one value"),
        (one.coarser, f"coarser ({one.cells:,} cells)"),
        (one.everything, "everything"),
    ]
    said = ", ".join(f"{_about(count / total)} {words}" for count, words in parts if count)
    return said if one.level is None else f"level {one.level} of {one.height}: {said}"


def _about(part: float) -> str:
    """A share in whole per cent; neither all nor nothing where it is neither."""
    return f"{part:.0%}" if 0.005 <= part < 0.995 else "<1%" if part < 0.005 else ">99%"


def overlap_lines(found: Iterable[Overlap]) -> list[str]:
    """What hurts whoever counts by interval, and what to do about it."""
    mine = [entry for entry in found if entry.overlapping]
    if not mine:
        return []
    worst = max(mine, key=lambda entry: entry.share)
    names = ", ".join(short(entry.column, _NAME) for entry in mine[:4]) + (", ..." if len(mine) > 4 else "")
    example = " and ".join(short(cell, _EXAMPLE_WIDTH) for cell in worst.example)
    return [
        f"Overlapping cells in {names} (such as {example}): counts by cell are uncertain for up to "
        f"{share(worst.share)} of the rows. Where that matters, let a method recode whole columns, "
        "such as optimal or top-down-subtree."
    ]


def next_lines(folder: object, *, measures: bool) -> list[str]:
    """Commands that whoever made a release may want next."""
    found = [f"  shoal verify {folder}", f"  shoal explain {folder}", f"  shoal risk {folder}"]
    found += [] if measures else [f"  shoal measure {folder}      (or run with --measures)"]
    return ["Next:", *found, f"  shoal report {folder} -o dossier.html"]


def short(text: str, width: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


_CELL_WIDTH = 40
_MOST_SPLITS = 3


def release_data(release: Release, folder: Path | None) -> dict[str, Any]:
    """A release as plain data; ``folder`` is None when nothing was written."""
    manifest, evidence = release.manifest, release.evidence
    counts = evidence["counts"]
    return {
        "folder": None if folder is None else str(folder),
        "evidence": None if folder is None else str(_private(folder)),
        "rows": counts["released"],
        "classes": manifest["classes"]["count"],
        "smallest": manifest["classes"]["smallest"],
        "statement": manifest["statement"],
        "not_protected": manifest["not_protected"],
        "acknowledged": manifest["acknowledged"],
        "people": manifest["people"],
        "counts": counts,
        "suppression": _suppression(counts),
        "models": manifest["models"],
        "verdicts": manifest["verdicts"],
        "split_verdicts": evidence["split_verdicts"],
        "vacuous": evidence["vacuous"],
        "spellings": evidence.get("spellings", []),
        "overlaps": evidence["overlaps"],
        "research": evidence["research"],
        "search": _search(evidence["search"]),
        "chosen": evidence["chosen"],
        "checks": release.checks,
        "measures": score_data(evidence["measures"]),
        "kind": manifest["kind"],
        "attacks": evidence["attacks"],
        "formulas": evidence.get("formulas"),
        "sample": evidence.get("sample"),
        "items": evidence.get("items", {}),
        "vault": evidence.get("vault"),
        "registry": evidence.get("registry"),
        "algorithm": evidence["algorithm"],
        "auto": evidence["search"].get("auto"),
        "seconds": evidence["seconds"],
    }


def score_data(scores: Mapping[str, Any]) -> dict[str, Any]:
    """Measures by name as plain data; bounds that are infinite are null."""
    return {name: plain(score) for name, score in scores.items()}


def show_release(release: Release, folder: Path | None, *, measures: bool = False) -> None:
    """What was promised, what it cost, where things are and what to do next; all measures only where asked for."""
    manifest, evidence = release.manifest, release.evidence
    counts, classes = evidence["counts"], manifest["classes"]
    say(
        f"The release is {manifest['statement']}.",
        f"{counts['released']:,} rows in {classes['count']:,} classes, the smallest of "
        f"{classes['smallest']:,} rows; {counts['suppressed']:,} rows suppressed ({share(_suppression(counts))}), "
        f"{counts['dropped']:,} dropped for missing cells.",
    )
    say(*evidence.get("sample", {}).get("told", ()))
    if evidence["search"].get("auto"):
        _show_choice(evidence["search"]["auto"])
    show_table(
        ["model", "on", "holds", "worst class", "limit", "by"],
        verdict_rows(release.verdict),
        title="Verdicts",
    )
    scores = score_data(evidence["measures"])
    say(*loss_lines(evidence["chosen"]["columns"], scores), *item_lines(evidence.get("items", {})))
    if measures:
        show_scores(scores)
    if evidence["attacks"]:
        say("Measured by attacking it:", *(f"  - {one.sentence}" for one in evidence["attacks"]), "")
    found = [*_vacuous_lines(evidence["vacuous"]), *_split_lines(evidence["split_verdicts"])]
    found += [f"Warning: {one['sentence']}" for one in evidence.get("spellings", ())]
    if evidence.get("formulas"):
        found.append(
            f"Warning: {evidence['formulas']:,} cells or names begin as formulas of spreadsheets do: set formulas = "
            '"escape" under [output] to keep them from being run.'
        )
    found += _research_lines(evidence["research"], _search(evidence["search"]))
    for line in [*found, *overlap_lines(evidence["overlaps"])]:
        say(line)
    say(f"All {len(release.checks)} checks of the gate passed.", "Not protected:")
    say(*(f"  - {sentence}" for sentence in manifest["not_protected"]))
    if folder is None:
        say("Nothing was written.")
    else:
        say(f"To be published:    {folder}", f"Private (evidence): {_beside(folder)}")
    if evidence.get("vault"):
        _show_vault(evidence["vault"])
    if evidence.get("registry"):
        _show_registry(evidence["registry"], folder is not None)
    if folder is not None:
        say(*next_lines(folder, measures=measures))


def _show_choice(auto: Mapping[str, Any]) -> None:
    """What `auto` tried, what it chose, and why."""
    rows = [
        (
            one["method"],
            "–" if one["figure"] is None else figure(one["figure"]),
            "chosen" if one["algorithm"] == auto["chosen"] else one["failed"] or "",
        )
        for one in auto["tried"]
    ]
    show_table(["method", f">{auto['measure']}", ""], rows, title=f"Tried on {auto['records']:,} records")
    say(auto["why"])


def _show_vault(kept: Mapping[str, Any]) -> None:
    """Where the secrets are, and whether a key was made that a slip in its name would explain."""
    if kept["entry"] is not None:
        say(f"Private (secrets):  {kept['file']}, entry '{kept['entry']}'")
    key = kept["token_key"]
    if key is not None:
        how = "made by this run" if key["made"] else "as kept there"
        say(f"Private (tokens):   {kept['file']}, key '{key['name']}', {how}")


def _show_registry(kept: Mapping[str, Any], written: bool) -> None:
    """Where the release is remembered, and what it tells together with earlier ones."""
    if written:
        say(f"Private (registry): {kept['file']}, release {kept['release']}")
    if kept["note"]:
        say(f"Warning: {kept['note']}")
    elif kept["weakened"]:
        say(f"Warning: all releases together leave {kept['weakened']:,} people with less than the models ask for.")


def show_scores(scores: Mapping[str, Mapping[str, Any]]) -> None:
    """A table of measures: figure, orientation, bounds, related figures and the share suppressed."""
    rows = [
        (
            name,
            figure(score["value"]),
            f"{ARROWS[score['better']]} {'lower' if score['better'] == 'down' else 'higher'}",
            _bounds(score["low"], score["high"]),
            share(score["suppression"]),
            score["reason"] or ", ".join(f"{key} {figure(entry)}" for key, entry in score["also"].items()),
        )
        for name, score in scores.items()
    ]
    show_table(["measure", ">value", "better", "bounds", ">suppressed", "beside it"], rows, title="Measures")


def _bounds(low: float | None, high: float | None) -> str:
    """The range of a measure; in plain data an infinite bound is None."""
    start = "-∞" if low is None else figure(low)
    return f"{start} to {'∞' if high is None else figure(high)}"


def _vacuous_lines(found: Iterable[Mapping[str, Any]]) -> list[str]:
    return [
        f"Vacuous: '{name}' on {target_label(name, entry['on'])} cannot fail on this table."
        for entry in found
        for name in [entry["model"]["name"]]
    ]


def _split_lines(found: Iterable[Mapping[str, Any]]) -> list[str]:
    """What somebody who knows one sensitive attribute still faces, where it is worst; nothing is promised about it."""
    failing = sorted((entry for entry in found if entry["failing_rows"]), key=lambda entry: -entry["failing_rows"])
    more = len(failing) - _MOST_SPLITS
    return [
        *(
            f"Whoever knows {entry['known']}: '{entry['model']}' on {target_label(entry['model'], entry['on'])} "
            f"falls to {figure(entry['worst'])} in the worst class (limit {figure(entry['limit'])}, "
            f"{entry['failing_rows']:,} rows)."
            for entry in failing[:_MOST_SPLITS]
        ),
        *([f"... and {more} more such lines, with all figures in the dossier."] if more > 0 else []),
    ]


def _search(notes: Mapping[str, Any]) -> dict[str, Any] | None:
    """How near the optimum a search that knows it came, None for others."""
    if "gap" not in notes:
        return None
    return {"proven": notes["proven"], "gap": notes["gap"]}


def _research_lines(facts: Mapping[str, Any], search: Mapping[str, Any] | None) -> list[str]:
    """Which rules broke, what the search left open, and what makes the research value say less than it seems to."""
    found = []
    rules = facts.get("rules", [])
    broken = [rule for rule in rules if not rule["kept"]]
    if rules:
        found.append(f"Rules kept: {len(rules) - len(broken)} of {len(rules)}.")
    for rule in broken:
        cells = ", ".join(short(cell, _CELL_WIDTH) for cell in rule["such_as"])
        found.append(f"Broken: {rule['text']} (importance {figure(rule['importance'])}), by cells such as {cells}.")
    if search is not None and not search["proven"]:
        found.append(f"Not proven to be the best: that may be better by up to {figure(search['gap'])}.")
    return [*found, *(f"Warning: {sentence}" for sentence in facts.get("warnings", ()))]


def _suppression(counts: Mapping[str, int]) -> float:
    taking_part = counts["released"] + counts["suppressed"]
    return counts["suppressed"] / taking_part if taking_part else 0.0


def _private(folder: Path) -> Path:
    from shoal.io.evidence import evidence_folder

    return evidence_folder(folder)


def _beside(folder: Path) -> Path:
    """The evidence, named as the release is, unless that is a link to elsewhere."""
    private, beside = _private(folder), folder.with_name(f"{folder.name}.evidence")
    return beside if beside.resolve() == private else private
