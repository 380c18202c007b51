"""``shoal attack``: what an attacker can do with a release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import say, share, show_json, show_table, steps
from shoal.cli.options import READING, Json, Page, ReplacePage, Seed, flag_of, takes
from shoal.cli.targets import kept_case, kept_recipe, reader
from shoal.errors import InputError, ParameterError
from shoal.grammar import pairs, parse_attack, parse_hierarchy
from shoal.recoding.kinds import GENERALISED
from shoal.registry import make

if TYPE_CHECKING:
    import polars as pl

    from shoal.risk.attacks.base import AttackResult
    from shoal.risk.attacks.case import AttackCase

Step = Callable[[str], None]
Reader = Callable[[Path], "pl.DataFrame"]


def _file(help: str) -> Any:
    return typer.Option(metavar="FILE", help=help, show_default=False)


Target = Annotated[
    Path,
    typer.Argument(
        metavar="RECIPE|FOLDER|FILE", show_default=False,
        help="A recipe, the folder of a release, or a CSV or Parquet file that any tool made.",
    ),
]  # fmt: skip
Against = Annotated[Path | None, _file("People in the data, with quasi-identifiers and true values.")]
Control = Annotated[Path | None, _file("People of the same population who are not in the data.")]
HoldOut = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", min=0.0, max=0.9, show_default=False,
        help="Of a recipe: keep back this share of the rows as a control, 0.2 by default.",
    ),
]  # fmt: skip
Sample = Annotated[
    int | None,
    typer.Option(
        metavar="ROWS", min=1, show_default=False,
        help="Of a recipe whose engine keeps the rows: attack so many of them, 10,000 by default.",
    ),
]  # fmt: skip
Also = Annotated[
    list[Path] | None,
    typer.Option(metavar="FOLDER", help="Another release of the same people. Can be repeated.", show_default=False),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ATTACK", show_default=False,
        help="NAME[=MAIN] [key=value ...] [on COLUMN], such as 'proximity eps=30'. Can be repeated.",
    ),
]  # fmt: skip
TakenFor = Annotated[
    str | None,
    typer.Option(
        metavar="KIND", show_default=False,
        help="Of a file: generalised (default), or microaggregated where cells are centroids.",
    ),
]  # fmt: skip


@takes(
    "target", "against", "control", "hold_out", "also", "only", "html", "replace_html", "quasi", "sensitive",
    "subject", "hierarchies", "types", "kind", *READING, "sample",
)  # fmt: skip
def attack(
    target: Target,
    against: Against = None,
    control: Control = None,
    hold_out: HoldOut = None,
    also: Also = None,
    only: Only = None,
    html: Page = None,
    replace_html: ReplacePage = False,
    kind: TakenFor = None,
    sample: Sample = None,
    seed: Seed = None,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Attack a release: one made from a recipe in memory, a written one, or a file of any tool."""
    wanted = [parse_attack(text) for text in dict.fromkeys(only or ())]
    for one in wanted:
        make("attack", {key: value for key, value in one.items() if key != "on"})  # an unknown name is told at once
    with steps() as step:
        step("loading")
        from shoal.io.private import check_private, write_private
        from shoal.release.attack_case import attack_data
        from shoal.risk.attacks.run import run_attacks

        place = check_private(html, suffix=".html", replace=replace_html) if html is not None else None
        known = Known(
            subject=options["subject"], against=against, control=control, also=also or (), read=reader(options),
            seed=seed,
        )  # fmt: skip
        case, statement, drawn = _case(target, {**options, "kind": kind}, known, hold_out, sample, step)
        step("attacking")
        results = run_attacks(case, wanted)
        data = [attack_data(result) for result in results]
        if place is not None:
            from shoal.reports.risk import attack_html

            write_private(place, attack_html(data, title=target.name, kind=case.kind.name, statement=statement))
    if as_json:
        found = {"target": str(target), "kind": case.kind.name, "statement": statement, "sample": drawn}
        show_json({**found, "attacks": data})
    else:
        _show(results, f"{target}: a {case.kind} release, {statement}", html)


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known beside the release that is attacked.

    Attributes
    ----------
    subject
        Column that says whose row it is.
    against, control, also
        Files of people in the data and outside it, and folders of further releases.
    read
        Reads a file as the options say.
    """

    subject: str | None
    against: Path | None
    control: Path | None
    also: Sequence[Path]
    read: Reader
    seed: int | None

    @property
    def tables(self) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
        """People in the data and outside it, as they were read."""
        people, outside = (None if path is None else self.read(path) for path in (self.against, self.control))
        return people, outside

    @property
    def others(self) -> list[tuple[pl.DataFrame, Mapping[str, Any]]]:
        """The further releases."""
        from shoal.release.write import read_release

        return [read_release(folder) for folder in self.also]


def _refuse(what: str, given: Mapping[str, Any], options: Sequence[str]) -> None:
    """Refuse options about a file that has no manifest, for something that says it itself."""
    for name in options:
        if given[name]:
            raise ParameterError(f"{flag_of(name)} is for a file, and a {what} says it itself: leave it out.")


def _case(
    target: Path, given: Mapping[str, Any], known: Known, hold_out: float | None, sample: int | None, step: Step
) -> tuple[AttackCase, str, dict[str, int] | None]:
    """What is attacked, how it is announced, and how large a sample it is, after refusing options that are not for it.

    There is a sample where an engine keeps the rows of a recipe.
    """
    is_file = not target.is_dir() and target.suffix != ".toml"
    if target.is_dir():
        _refuse("release", given, ("quasi", "sensitive", "types", "kind"))
    elif not is_file:
        _refuse("recipe", given, ("quasi", "sensitive", "hierarchies", "types", "kind"))
    if hold_out is not None and (target.is_dir() or is_file):
        raise InputError("A share can be held out only before a release is made: name its recipe instead.")
    kept = kept_recipe(target)
    if sample is not None and kept is None:
        raise InputError("A --sample is of a recipe whose engine keeps the rows: everybody else is attacked whole.")
    if is_file:
        return *_file_case(target, given, known), None
    if target.is_dir():
        return *_written_case(target, _trees(given), known), None
    if known.subject is not None:
        raise ParameterError("--subject is for a file or a release, and a recipe says it itself: leave it out.")
    if kept is not None:
        return kept_case(kept, hold_out, sample, known, step)
    return *_made_case(target, hold_out, known, step), None


def _trees(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: parse_hierarchy(text) for name, text in pairs("--hierarchy", given["hierarchies"]).items()}


def _file_case(path: Path, given: Mapping[str, Any], known: Known) -> tuple[AttackCase, str]:
    """A file of any tool, its cells read by how they are written."""
    from shoal.data.keys import Keys
    from shoal.risk.attacks.files import file_case, strangers

    people, outside = known.tables
    trees = _trees(given)
    case = file_case(
        known.read(path), quasi=given["quasi"] or (), sensitive=given["sensitive"] or (), subject=known.subject,
        hierarchies=trees, types=pairs("--type", given["types"]), kind=given["kind"] or GENERALISED.name,
        against=people, control=outside, keys=Keys.from_seed(known.seed), others=known.others,
    )  # fmt: skip
    doubts = [] if people is None else strangers(case.view, people, list(trees))
    return case, " ".join(["its cells read by how they are written.", *doubts])


def _written_case(folder: Path, trees: Mapping[str, Any], known: Known) -> tuple[AttackCase, str]:
    """A release as its folder shows it, with hierarchies that are not public as they are given."""
    from shoal.data.keys import Keys
    from shoal.recoding.reader_labels import readers_manifest
    from shoal.release.write import read_tables
    from shoal.risk.attacks.run import make_case, refuse_overlap
    from shoal.risk.attacks.views import public_view

    subject = known.subject
    if known.control is not None and known.against is None:
        raise InputError("A --control needs --against beside it, or nobody knows whether the two overlap.")
    if subject is not None and known.against is None:
        raise InputError("The --subject of a release is a column of the people in --against: name these.")
    frames, manifest = read_tables(folder)
    people, outside = known.tables
    if people is not None and subject is not None and subject not in people.columns:
        raise InputError(f"The people of --against have no column '{subject}': name the one that says whose row it is.")
    if people is not None and outside is not None:
        refuse_overlap(people, outside)
    read_as = readers_manifest(manifest, [people, outside], trees)
    case = make_case(
        public_view(frames["release"], read_as, values=frames.get("sensitive")), manifest, Keys.from_seed(known.seed),
        against=people, control=outside, others=known.others, subject=subject,
    )  # fmt: skip
    return case, manifest["statement"]


def _made_case(path: Path, hold_out: float | None, known: Known, step: Step) -> tuple[AttackCase, str]:
    """A release made from a recipe, with people kept back before it where no control is given."""
    from shoal.recipe.recipe import load_recipe
    from shoal.release.attack_case import HOLD_OUT, Beside, recipe_case

    if known.control is not None and hold_out is not None:
        raise InputError("Give either --control or --hold-out: there is one control.")
    recipe = load_recipe(path)
    people, outside = known.tables
    return recipe_case(
        recipe, part=HOLD_OUT if hold_out is None else hold_out, seed=known.seed, progress=step,
        beside=Beside(against=people, control=outside, others=known.others),
    )[:2]  # fmt: skip


def _show(results: Sequence[AttackResult], title: str, html: Path | None) -> None:
    say(title)
    rows = [
        (
            one.name,
            share(one.value),
            f"{one.low:.1%} to {one.high:.1%}",
            "-" if one.control is None else share(one.control),
            "-" if one.baseline is None else share(one.baseline),
            "-" if one.baseline is None else "yes" if one.beats else "no",
        )
        for result in results
        for one in result.figures
    ]
    if rows:
        show_table(["figure", ">success", ">95 % interval", ">control", ">baseline", "beats it"], rows)
    for result in results:
        for one in result.main:
            say(one.told())
    for result in results:
        if not result.figures and result.note:
            say(result.note)
    notes = dict.fromkeys(result.note for result in results if result.figures and result.note)
    for note in notes:
        say(f"Note: {note}")
    if html is not None:
        say(f"Private, not for publication: {html}")
