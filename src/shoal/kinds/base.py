"""What a kind of release says about itself: facts, words, and the names of the functions that do its work.

A kind imports nothing of ours but the catalogue, so that every room can ask it. What has to be done for it, in rooms
further up, it names as the catalogue does: ``"module:function"``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from shoal.catalogue import load


class Trait(enum.Enum):
    """What releases of some kinds have, and attacks and measures look at."""

    GENERALISED = "cells that stand for several values, in styles, with stars where all is suppressed"
    COVERING = "cells that cover the values of the people behind them"
    MATCHING = "cells that a person's values can be held against"
    ALIKE = "records that look the same because the people behind them are alike"
    CENTROIDS = "centroids of classes instead of cells"
    CLASSES = "classes whose sensitive values are those of their people"
    GROUPS = "published groups, by which sensitive values are known and not by record"
    NOISE = "quasi-identifiers redrawn at random"
    CODES = "codes in the place of values"
    PERTURBED = "quasi-identifiers that were swapped between records, redrawn by themselves or made up"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of release.

    Attributes
    ----------
    name
        As in manifests.
    lacks
        The traits that its releases do not have, each with the reason why what looks at it does not apply.
    classes
        Function that recodes: (open rows, recoding) to the coded release with its classes.
    publish
        Function that makes the tables: (coded release, keys, suppressed, order) to what may be published.
    attack
        Function that measures what its releases give away, (coded release, keys) to figures, None where the manifest
        has no such figures.
    code, meaning, implies
        The warning code that a release needs, whatever models hold, what it means, and the codes that whoever accepts
        it need not accept too. None for kinds without one.
    exact
        How quasi-identifiers are read that are published as values; None where they are cells.
    known
        What is said of sensitive columns beside that they are as collected.
    remark
        Stands between the kind and the models in a statement.
    not_protected
        Sentences on what it leaves open, whatever models hold.
    class_figures
        Sentences on what figures about classes mean for it.
    foreign
        Whether a file that no manifest explains can be taken for it: others need what their publisher knows.
    undone
        Whether there are secrets that undo it.
    """

    name: str
    lacks: Mapping[Trait, str] = field(compare=False, repr=False)
    classes: str = field(compare=False, repr=False)
    publish: str = field(compare=False, repr=False)
    attack: str | None = field(compare=False, repr=False)
    code: str | None = field(compare=False, repr=False)
    meaning: str | None = field(compare=False, repr=False)
    implies: tuple[str, ...] = field(compare=False, repr=False)
    exact: str | None = field(compare=False, repr=False)
    known: str = field(compare=False, repr=False)
    remark: str = field(compare=False, repr=False)
    not_protected: tuple[str, ...] = field(compare=False, repr=False)
    class_figures: tuple[str, ...] = field(compare=False, repr=False)
    foreign: bool = field(compare=False, repr=False)
    undone: bool = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.name

    def has(self, *traits: Trait) -> bool:
        """Whether its releases have all of some traits."""
        return not any(trait in self.lacks for trait in traits)

    @property
    def generalises(self) -> bool:
        """Whether quasi-identifiers are cells, which have styles and may be stars."""
        return self.has(Trait.GENERALISED)

    def part(self, name: str) -> Callable[..., Any]:
        """One of the functions that it names: ``"classes"``, ``"publish"`` or ``"attack"``."""
        module, _, function = getattr(self, name).partition(":")
        found: Callable[..., Any] = getattr(import_module(module), function)
        return found

    def statement(self, made: Kind, models: str) -> str:
        """A release of this kind in words, before what its models say of it.

        Parameters
        ----------
        made
            How its quasi-identifiers were made.
        models
            The models met, in words; empty without any.
        """
        if self.generalises:
            return models or "no model"
        if not models:
            return f"{self}; no model holds"
        return f"{self}{made.remark}; {models}"


def named(name: str) -> Kind:
    """The kind of a name, built in or a plug-in's."""
    found: Kind = load("kind", name)
    return found


def kind_of(manifest: Mapping[str, Any]) -> Kind:
    """What a release is called."""
    return named(manifest["kind"])


def made_of(manifest: Mapping[str, Any]) -> Kind:
    """How the quasi-identifiers of a release were made: one with tokens is pseudonymised, and may be generalised."""
    return named(manifest.get("made", manifest["kind"]))


def either_has(manifest: Mapping[str, Any], trait: Trait) -> bool:
    """Whether a release has a trait by what it is called or by how it was made."""
    return kind_of(manifest).has(trait) or made_of(manifest).has(trait)
