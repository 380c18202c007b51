"""The points of a comparison: algorithms times the parameters of a grid, checked before anything runs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.catalogue import load, make, names, working
from shoal.errors import ParameterError
from shoal.params import nearest
from shoal.recoding.kinds import Kind, Trait


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What is varied.

    Attributes
    ----------
    algorithms
        One table an algorithm, as a recipe writes it.
    models
        Models that every point begins with, but those of algorithms whose releases have no classes to promise
        anything of (noise).
    values
        Parameter to its values. A parameter is the name of a model (its main parameter), ``MODEL.PARAMETER``,
        ``ALGORITHM.PARAMETER`` (of that algorithm only), or a parameter that every algorithm has.

    Examples
    --------
    >>> grid = Grid(algorithms=[{"name": "mondrian"}, {"name": "upc"}], values={"k": [2, 5], "upc.size": [50, 90]})
    >>> [point.label for point in grid.points()][:3]
    ['mondrian, k=2', 'mondrian, k=5', 'upc, k=2, size=50']
    """

    algorithms: Sequence[Mapping[str, Any]]
    models: Sequence[Mapping[str, Any]] = ()
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def points(self) -> list[Point]:
        """Every point, an algorithm after another; an unknown parameter or a value out of range is an error."""
        targets = {key: self._target(key) for key in self.values}
        series = _series(self.algorithms)
        found: list[Point] = []
        for name, spec in zip(series, self.algorithms, strict=True):
            load("algorithm", spec["name"])  # an unknown name proposes the nearest one
            mine = [key for key, target in targets.items() if target.concerns(str(spec["name"]))]
            for chosen in itertools.product(*(self.values[key] for key in mine)):
                settings = dict(zip(mine, chosen, strict=True))
                found.append(self._point(len(found), name, spec, settings, targets))
        return found

    def _point(
        self, number: int, series: str, spec: Mapping[str, Any], settings: Mapping[str, Any], targets: Mapping[str, Any]
    ) -> Point:
        algorithm = dict(spec)
        models = [dict(model) for model in self.models] if has_classes(str(spec["name"])) else []
        for key, value in settings.items():
            targets[key].set(algorithm, models, value)
        make("algorithm", algorithm)
        for model in models:
            make("model", model)
        return Point(number=number, series=series, algorithm=algorithm, models=models, settings=settings)

    def _target(self, key: str) -> _Target:
        owner, dotted, parameter = key.partition(".")
        if not dotted and key in names("model"):
            return _Target(kind="model", owner=key, parameter=str(load("model", key).main))
        mine = list(dict.fromkeys(str(spec["name"]) for spec in self.algorithms))
        if not dotted and all(key in _parameters("algorithm", name) for name in mine):
            return _Target(kind="algorithm", owner=None, parameter=key)
        if dotted and owner in names("model") and parameter in _parameters("model", owner):
            return _Target(kind="model", owner=owner, parameter=parameter)
        if dotted and owner in mine and parameter in _parameters("algorithm", owner):
            return _Target(kind="algorithm", owner=owner, parameter=parameter)
        raise ParameterError(f"The grid has no parameter '{key}' to vary. {_hint(key, mine)}")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One release to be made.

    Attributes
    ----------
    number
        Its place in the comparison.
    series
        The algorithm, with its parameters where the comparison has it several times.
    algorithm, models
        As a recipe writes them.
    settings
        The grid's parameters at this point.
    """

    number: int
    series: str
    algorithm: Mapping[str, Any]
    models: Sequence[Mapping[str, Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Algorithm and settings for people, such as ``mondrian, k=5``."""
        # A parameter of the series' own algorithm needs no owner before it.
        own = f"{self.algorithm['name']}."
        return ", ".join([self.series, *(f"{key.removeprefix(own)}={plain(v)}" for key, v in self.settings.items())])


def has_classes(algorithm: str) -> bool:
    """Whether records of its releases are alike because people are, so that models can be asked of them."""
    kind: Kind = load("algorithm", algorithm).kind
    return kind.has(Trait.ALIKE)


def plain(value: Any) -> str:
    """A value of the grid for people."""
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, kw_only=True)
class _Target:
    """What a parameter of the grid sets: of a model, of one algorithm, or (owner None) of all algorithms."""

    kind: str
    owner: str | None
    parameter: str

    def concerns(self, algorithm: str) -> bool:
        return has_classes(algorithm) if self.kind == "model" else self.owner in (None, algorithm)

    def set(self, algorithm: dict[str, Any], models: list[dict[str, Any]], value: Any) -> None:
        if self.kind == "algorithm":
            algorithm[self.parameter] = value
            return
        same = [model for model in models if model["name"] == self.owner]
        if not same:
            same = [{"name": self.owner}]
            models.extend(same)
        for model in same:
            model[self.parameter] = value


def _series(algorithms: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name for each algorithm, with its parameters where the name alone is not enough."""
    if not algorithms:
        raise ParameterError("A comparison needs an algorithm: name some under [compare].")
    known = [str(spec["name"]) for spec in algorithms]
    found = []
    for name, spec in zip(known, algorithms, strict=True):
        given = " ".join(f"{key}={plain(value)}" for key, value in spec.items() if key != "name")
        found.append(f"{name} ({given})" if known.count(name) > 1 and given else name)
    twice = [name for name in found if found.count(name) > 1]
    if twice:
        raise ParameterError(f"The comparison has the algorithm '{twice[0]}' twice: keep one.")
    return found


def _parameters(kind: str, name: str) -> list[str]:
    return [one.name for one in dataclasses.fields(load(kind, name))]


def _hint(key: str, algorithms: Sequence[str]) -> str:
    options = list(_options(algorithms))
    alike = [option for option in options if ("." in option) == ("." in key)]
    near = nearest(key, alike) or nearest(key, options)
    shown = "a model such as k, MODEL.PARAMETER, ALGORITHM.PARAMETER of an algorithm that is compared"
    return f"Did you mean '{near}'?" if near else f"It can be {shown}, or a parameter that all of those have."


def _options(algorithms: Sequence[str]) -> Iterator[str]:
    """Everything that a grid of these algorithms can vary."""
    models = working("model")
    yield from models
    for kind, owners in (("model", models), ("algorithm", algorithms)):
        for owner in owners:
            yield from (f"{owner}.{parameter}" for parameter in _parameters(kind, owner))
    shared = [set(_parameters("algorithm", name)) for name in algorithms]
    yield from sorted(set.intersection(*shared)) if shared else ()
