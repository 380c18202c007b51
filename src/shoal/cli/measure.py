"""``shoal measure``: what a release cost, and what can still be done with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import ARROWS, figure, plain, say, show_json, show_table, steps
from shoal.cli.options import READING, Json, KeyFile, Page, PassphraseFile, ReplacePage, takes
from shoal.cli.run import carry_out
from shoal.cli.summary import score_data, show_scores
from shoal.errors import InputError
from shoal.grammar import pairs, parse_evaluation, parse_hierarchy
from shoal.params import choice
from shoal.registry import make, summary
from shoal.registry import names as registered

if TYPE_CHECKING:
    import polars as pl

    from shoal.recipe.recipe import Recipe
    from shoal.recoding.secrets import Secret
    from shoal.results import Release
    from shoal.utility.reading import Evaluation

_ALL = "all"


def _one(metavar: str, help: str, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, show_default=False)


@dataclass(frozen=True)
class _Priced:
    """Measures of a release, and the release itself where it was made just now."""

    scores: Mapping[str, Any]
    statement: str
    kind: str
    release: Release | None = None


@takes(
    "target", "names", "evaluate", "queries", "gain", "against", "hierarchies", "vault", "vault_entry",
    "passphrase_file", "key_file", "html", "replace_html", *READING,
)  # fmt: skip
def measure(
    target: Annotated[
        Path,
        typer.Argument(metavar="RECIPE|FOLDER", help="A recipe, or the folder of a release.", show_default=False),
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Measures; all of them by default.", show_default=False),
    ] = None,
    evaluate: Annotated[
        list[str] | None,
        _one("NAME", "NAME [key=value ...], an evaluation beside the original rows, or 'all'. Can be repeated."),
    ] = None,
    queries: Annotated[Path | None, _one("FILE", "Count queries of your own, one a line.")] = None,
    gain: Annotated[
        bool, typer.Option("--gain", help="Of a recipe with a [workload]: what it is worth, beside none.")
    ] = False,
    against: Annotated[Path | None, _one("FILE", "Of a folder: the rows that the release was made from.")] = None,
    hierarchies: Annotated[
        list[str] | None,
        _one("COLUMN=FILE", "Of a folder: a hierarchy that is not public. Can be repeated.", "--hierarchy"),
    ] = None,
    vault: Annotated[
        Path | None, _one("FILE.vault", "Of a folder with codes: what undoes them, so that T' can be read beside T.")
    ] = None,
    vault_entry: Annotated[str | None, _one("NAME", "Its entry there; the folder's name by default.")] = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFile = None,
    html: Page = None,
    replace_html: ReplacePage = False,
    missing: Annotated[
        str, typer.Option(metavar="POLICY", help="Rows of --against with missing cells: value (keep them) or drop.")
    ] = "value",
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="Of queries and other draws.")] = 0,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Price a release, made from a recipe in memory or written, and evaluate what can still be done with it."""
    wanted = list(dict.fromkeys(names or ()))
    for name in wanted:
        summary("measure", name)  # an unknown name proposes the nearest one
    asked = _asked(evaluate or (), queries)
    place = _check(target, against, html, replace_html, bool(asked))
    if hierarchies and not target.is_dir():
        raise InputError("A recipe names its own hierarchies: leave out --hierarchy.")
    if vault is not None and not (target.is_dir() and asked):
        raise InputError("A vault reads the codes of a written release that is evaluated: leave out --vault.")
    recipe = _with_workload(target) if gain else None
    if asked and not target.is_dir():
        _refuse_kept(target)

    def original() -> pl.DataFrame:
        from shoal.cli.targets import reader

        return reader(given)(against or target)

    policy = choice("measure", "missing", missing, ("value", "drop"))
    priced = _recorded(target, needed=bool(wanted) or not asked) if target.is_dir() else _made(target)
    absent = [name for name in wanted if name not in priced.scores]
    if absent:
        raise InputError(f"The evidence of '{target}' has no measure '{absent[0]}': measure its recipe instead.")
    trees = {name: parse_hierarchy(text) for name, text in pairs("--hierarchy", hierarchies).items()}
    secrets = _secrets(target, vault, vault_entry, (passphrase_file, key_file))
    findings = _findings(target, priced, asked, original, policy == "drop", seed, trees, secrets)
    gains = _gains(recipe, priced)
    shown = {name: priced.scores[name] for name in wanted or registered("measure") if name in priced.scores}
    if place is not None:
        _write(place, findings, target.name, priced)
    if as_json:
        found: dict[str, Any] = {"target": str(target), "statement": priced.statement, "measures": shown}
        found |= {"kind": priced.kind, "evaluations": findings} if asked else {}
        show_json(found | ({"gain": gains} if gain else {}))
        return
    say(f"{target}: {priced.statement}")
    if shown:
        show_scores(shown)
    if asked:
        _show(findings)
    if gain:
        rows = [(one["figure"], figure(one["before"]), figure(one["after"]), _better(one)) for one in gains]
        show_table(["figure", ">without", ">with", "better"], rows, title="Gain of the workload")
    if html is not None:
        say(f"Private, not for publication: {html}")


def _asked(names: Sequence[str], queries: Path | None) -> list[str | Evaluation]:
    """What to evaluate; queries of one's own replace those that would be drawn."""
    found: list[str | Evaluation] = []
    for text in dict.fromkeys(names):
        spec = parse_evaluation(text)
        if text != _ALL:
            summary("evaluation", spec["name"])  # an unknown name proposes the nearest one
        found.append(text if len(spec) == 1 else make("evaluation", spec))
    if queries is None:
        return found
    from shoal.utility.count_queries import CountQueries

    try:
        lines = queries.read_text("utf-8").splitlines()
    except OSError as error:
        raise InputError(f"'{queries}' cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"'{queries}' is not text in UTF-8: save it as such.") from None
    return [CountQueries(workload=tuple(lines)), *(name for name in found if name != CountQueries.name)]


def _check(target: Path, against: Path | None, html: Path | None, replace: bool, asked: bool) -> Path | None:
    """Refuse what cannot be done before any work; where the page goes."""
    if not asked and (against, html) != (None, None):
        raise InputError("There is nothing to evaluate: add --evaluate or --queries.")
    if target.is_dir() and asked and against is None:
        raise InputError("A written release is evaluated beside the rows it was made from: name them by --against.")
    if not target.is_dir() and against is not None:
        raise InputError("A recipe names its own source: leave out --against.")
    if html is None:
        return None
    from shoal.io.private import check_private

    return check_private(html, suffix=".html", replace=replace)


def _refuse_kept(target: Path) -> None:
    """Refuse to evaluate what would have to be in memory, and is not."""
    from shoal.recipe.recipe import load_recipe
    from shoal.release.entry import keeps_rows

    recipe = load_recipe(target)
    if keeps_rows(recipe):
        raise InputError(
            f"Evaluations look at rows one by one, which the engine '{recipe.engine.name}' keeps: run the recipe and "
            "evaluate its folder by --against, or use the engine 'memory'."
        )


def _findings(
    target: Path,
    priced: _Priced,
    asked: Sequence[str | Evaluation],
    original: Callable[[], pl.DataFrame],
    drop: bool,
    seed: int,
    trees: Mapping[str, Any],
    secrets: Sequence[Secret],
) -> list[dict[str, Any]]:
    """Evaluations as plain data."""
    if not asked:
        return []
    with steps() as step:
        step("reading")
        from shoal.data.keys import Keys
        from shoal.recoding.reader_labels import readers_manifest
        from shoal.release.write import read_tables
        from shoal.utility.coded_columns import codes_of
        from shoal.utility.evaluate import evaluate
        from shoal.utility.reading import read_published, read_release, refuse_other_rows

        keys = Keys.from_seed(seed)
        if priced.release is not None:
            reading = read_release(priced.release, keys=keys)
        else:
            frames, manifest = read_tables(target)
            rows = original()
            named = [entry["name"] for entry in manifest["columns"] if entry["name"] in rows.columns]
            rows = rows.drop_nulls(named) if drop else rows
            manifest = readers_manifest(manifest, [rows], trees)
            refuse_other_rows(frames["release"], manifest, rows)
            reading = read_published(
                frames["release"], manifest, rows, values=frames.get("sensitive"), keys=keys,
                codes=codes_of(secrets, manifest, rows),
            )  # fmt: skip
        return [plain(one) for one in evaluate(reading, asked, progress=step)]


def _secrets(
    target: Path, vault: Path | None, entry: str | None, keys: tuple[Path | None, Path | None]
) -> list[Secret]:
    """What undoes the codes of a written release, where its vault is named."""
    if vault is None:
        return []
    from shoal.cli.vault import read_key
    from shoal.vault.files import load

    return load(vault, read_key(*keys), entry or target.resolve().name, release=target)


def _write(place: Path, findings: Sequence[Mapping[str, Any]], title: str, priced: _Priced) -> None:
    from shoal.io.private import write_private
    from shoal.reports.utility import measure_html

    write_private(place, measure_html(findings, title=title, kind=priced.kind, statement=priced.statement))


def _with_workload(target: Path) -> Recipe:
    """The recipe whose workload is asked about."""
    from shoal.recipe.recipe import load_recipe

    if target.is_dir():
        raise InputError("What a workload is worth is known from the recipe: name it instead of the folder.")
    recipe = load_recipe(target)
    if recipe.workload is None:
        raise InputError(f"The recipe '{target}' has no [workload]: add one, or leave out --gain.")
    return recipe


def _gains(recipe: Recipe | None, priced: _Priced) -> list[dict[str, Any]]:
    """Figures without and with the workload, as plain data."""
    if recipe is None or priced.release is None:
        return []
    with steps() as step:
        step("making it without the workload")
        from shoal.release.compare.sweep import recipe_gain

        return [plain(one) for one in recipe_gain(recipe, priced.release, progress=step)]


def _better(one: Mapping[str, Any]) -> str:
    return f"{ARROWS[one['better']]} {'lower' if one['better'] == 'down' else 'higher'}"


def _show(findings: Sequence[Mapping[str, Any]]) -> None:
    rows = [
        (
            one["name"],
            figure(one["value"]),
            "-" if one["interval"] is None else " to ".join(map(figure, one["interval"])),
            figure(one["baseline"]),
            _better(one),
        )
        for one in findings
        if one["value"] is not None
    ]
    if rows:
        show_table(["evaluation", ">value", ">95 % interval", ">without it", "better"], rows, title="Evaluations")
    for one in findings:
        say(one["sentence"] if one["value"] is not None else f"{one['name']}: {one['sentence']}")
    each = [one for finding in findings for one in finding["also"].get("each", ()) if "query" in one]
    if each:
        answers = [(one["query"], figure(one["truth"]), figure(one["estimate"])) for one in each]
        show_table(["query", ">original", ">release"], answers, title="Queries")


def _made(recipe: Path) -> _Priced:
    """Measures of a release that is made and gated in memory, and not written."""
    release, _ = carry_out(recipe, dry_run=True)
    manifest, scores = release.manifest, score_data(release.evidence["measures"])
    return _Priced(scores, manifest["statement"], manifest["kind"], release)


def _recorded(folder: Path, *, needed: bool) -> _Priced:
    """Measures that the publisher's evidence holds; none where there is no evidence and none are needed."""
    from shoal.io.evidence import evidence_folder
    from shoal.io.transaction import evidence_of
    from shoal.verify.folder import read_manifest

    manifest = read_manifest(folder)
    recorded: Any = {}
    if needed or evidence_folder(folder).is_dir():
        recorded = evidence_of(folder).get("measures")
    if not isinstance(recorded, Mapping):
        raise InputError(f"The evidence of '{folder}' holds no measures: measure its recipe instead.")
    scores = {name: _numbers(score) for name, score in recorded.items()}
    return _Priced(scores, manifest["statement"], manifest["kind"])


def _numbers(entry: Any) -> Any:
    """Undo how evidence writes what JSON has no numbers for: such figures and bounds are None here."""
    if isinstance(entry, Mapping):
        return {key: _numbers(value) for key, value in entry.items()}
    return None if entry in ("inf", "-inf", "nan") else entry


# ----------------------------------------
# ``shoal estimate``: counts and rules of the original from a randomised release.


def estimate(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder of a randomised release.", show_default=False)
    ],
    queries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUERY]...", help="Whom to count: 'age in [30, 40] and sex = Female'.", show_default=False
        ),
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE", help="'sex = Female -> job = nurse'. Can be repeated.", show_default=False),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--queries", metavar="FILE", help="Further queries and rules, one a line.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Count in the original by undoing the noise of a randomised release; needs nothing but the release."""
    asked, rules = list(queries or ()), list(rule or ())
    for line in [] if file is None else _lines(file):
        (rules if " -> " in line else asked).append(line)
    with steps() as step:
        step("loading")
        from shoal.release.entry import estimate as estimated

        found = estimated(folder, queries=asked, rules=rules)
    if as_json:
        show_json({"folder": str(folder), "estimates": [plain(one) for one in found]})
        return
    rows = [
        (
            one.figure, one.of, figure(one.released), figure(one.value), figure(one.error),
            "-" if one.interval is None else " to ".join(map(figure, one.interval)),
        )
        for one in found
    ]  # fmt: skip
    show_table(["figure", "of", ">released", ">estimate", ">standard error", ">95 % interval"], rows)
    say("Errors are those of the redrawing alone: how far the estimate is from what the original table has.")


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"'{path}' is not text in UTF-8: save it as such.") from None
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
