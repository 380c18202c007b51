"""What is measured of every release that is not generalised alone: its own attacks, by the code that accepts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shoal.data.keys import Keys
from shoal.data.table import take_rows
from shoal.recoding.coded_columns import dates_of
from shoal.recoding.kinds import CODINGS, PSEUDONYMISED, Trait
from shoal.recoding.recoded import Released
from shoal.recoding.recodings import Bucketed
from shoal.risk.attacks.base import AttackFigure


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Figures of the attacks on one release.

    Attributes
    ----------
    figures
        In the order of the attacks.
    telling
        By warning code, the sentence that tells most about why it is asked for.
    notes
        What could not be measured, and why.
    """

    figures: Sequence[AttackFigure] = ()
    telling: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


def attack_release(released: Released, keys: Keys) -> Measured:
    """Run the attacks that belong to the kind of a release, and those on what links the records of a person."""
    own = Measured() if released.made.attack is None else released.made.part("attack")(released, keys)
    figures, telling = list(own.figures), dict(own.telling)
    if _coded_values(released) and not released.made.has(Trait.CODES):
        _, read = _read_codes(released, keys)
        figures += read
        telling[str(PSEUDONYMISED.code)] = _largest(read)
    for name in released.table.schema.pseudonym:
        from shoal.risk.attacks.gaps import trajectories

        figures.append(trajectories(released, released.written[name]))
        telling["W-TRAJECTORY"] = figures[-1].sentence
    if released.table.schema.shifted:
        figures.append(_gaps(released))
        schema = released.table.schema
        limit = min(schema.shift_of(name)["gap_limit"] for name in schema.shifted)
        if figures[-1].value > limit:
            telling.setdefault("W-TRAJECTORY", figures[-1].sentence)
    return Measured(figures=figures, telling=telling, notes=own.notes)


def on_groups(released: Released, keys: Keys) -> Measured:
    """What published groups give away."""
    from shoal.risk.attacks.bucketised import attack_bucketised

    groups = released_groups(released)
    figures = attack_bucketised(released.table, groups)
    notes = _of_left_out(released) if groups.leftovers == "suppress" else []
    return _measured(released, figures, _largest(figures, "relinking", "uniqueness"), notes)


def _of_left_out(released: Released) -> list[str]:
    """What being left out by a known rule tells of those who were; private, like everything about them."""
    rows, found = np.flatnonzero(released.classes < 0), []
    for column in released.table.sensitive if rows.size else ():
        share = np.bincount(released.table.codes[column.name][rows]).max() / rows.size
        found.append(
            f"Whoever is known to be left out has one of the commonest values: that of '{column.name}' is right "
            f"for {share:.1%} of the {rows.size:,} records left out."
        )
    return found


def released_groups(released: Released) -> Bucketed:
    """The groups that are in the release, without those that the models suppressed."""
    assert isinstance(released.recoding, Bucketed)
    return replace(released.recoding, ids=released.classes, groups=released.n_classes)


def on_noise(released: Released, keys: Keys) -> Measured:
    """What noise leaves as it was."""
    from shoal.risk.attacks.randomised import attack_randomised, unchanged
    from shoal.utility.posterior import too_many

    assert released.channel is not None
    reason = too_many(released.channel)
    figures = unchanged(released.channel) if reason else attack_randomised(released.channel)
    notes = [f"Only unchanged records were counted: {reason}."] if reason else []
    return _measured(released, figures, _largest(figures, "recovered", "unchanged"), notes)


def on_perturbed(released: Released, keys: Keys) -> Measured:
    """What swapped and made-up records still say about their people."""
    from shoal.risk.attacks.perturbed import attack_perturbed

    figures = attack_perturbed(released, keys)
    return _measured(released, figures, figures[-1].sentence)


def on_codes(released: Released, keys: Keys) -> Measured:
    """What codes give away, and exact quasi-identifiers beside them."""
    linked, read = _read_codes(released, keys)
    return _measured(released, [*linked, *read], f"{linked[0].sentence} {_largest(read)}".rstrip())


def _read_codes(released: Released, keys: Keys) -> tuple[list[AttackFigure], list[AttackFigure]]:
    """Figures about quasi-identifiers, were they exact, and about the codes of each column."""
    from shoal.risk.attacks.decoding import attack_pseudonymised

    rows = np.flatnonzero(released.classes >= 0)
    coded = {name: released.written[name].gather(rows) for name in _coded_values(released)}
    by_column = attack_pseudonymised(take_rows(released.table, rows), coded, keys.generator("attack"))
    linked = by_column.pop("")
    read = [
        replace(one, name=f"{one.name}: {name}", sentence=f"Column '{name}': {one.sentence}")
        for name, several in by_column.items()
        for one in several
    ]
    return linked, read


def _coded_values(released: Released) -> list[str]:
    """Columns whose codes stand for values."""
    return [name for name, how in released.coded.items() if CODINGS[how].of_values]


def _measured(
    released: Released, figures: Sequence[AttackFigure], sentence: str, notes: Sequence[str] = ()
) -> Measured:
    """Figures, with the sentence that tells most under the code of the kind."""
    assert released.made.code is not None
    return Measured(figures=figures, telling={released.made.code: sentence}, notes=notes)


def _gaps(released: Released) -> AttackFigure:
    """What the gaps between the dates of the released people tell."""
    from shoal.risk.attacks.gaps import gap_patterns

    table, rows = released.table, np.flatnonzero(released.classes >= 0)
    assert table.schema.subject is not None
    dates = {name: dates_of(table.frame, table.schema, name).gather(rows) for name in table.schema.shifted}
    return gap_patterns(dates, table.series(table.schema.subject).gather(rows))


def _largest(figures: Sequence[AttackFigure], *names: str) -> str:
    """The sentence of the most successful attack of the first of some families that there is; empty without any."""
    for name in names or ("",):
        mine = [one for one in figures if one.name.startswith(name)]
        if mine:
            return max(mine, key=lambda one: one.value).sentence
    return ""
