"""Models, profile and algorithm: what each means, and what the recipe asks for."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import tomlkit
from fastapi import APIRouter, Form
from starlette.responses import Response

from shoal.errors import ParameterError, RecipeError, ShoalError
from shoal.grammar import target_words, typed_value
from shoal.models.base import Model
from shoal.recipe.edit import models_of, with_algorithm, with_model, with_profile, without_model
from shoal.recipe.profiles import named_profile
from shoal.registry import load, make, summary, working
from shoal.web.pages.project_page import Base, Bench, Edit, Problem, Read, texts, whole
from shoal.web.preview.place import Place
from shoal.web.request import Here

# ----------------------------------------
# Settings and figures in words, taken from where they are defined: docstrings and the registry.


_SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\S[^\n]*)\n((?:[ \t]+[^\n]*\n?|\n(?=[ \t]))+)", re.MULTILINE)


def settings_told(cls: Any) -> dict[str, str]:
    """What each parameter of a class means, as its docstring or that of a class above it says."""
    found: dict[str, str] = {}
    for one in reversed(cls.__mro__):
        section = _SECTION.search(inspect.cleandoc(one.__dict__.get("__doc__") or ""))
        for names, text in _ENTRY.findall(section[1]) if section else ():
            words = " ".join(text.replace("``", "").split())
            found |= {name.strip(): words for name in names.partition(":")[0].split(",")}
    return found


def figures_told(names: list[str]) -> tuple[tuple[str, str], ...]:
    """What measures and attacks tell, by the names of their figures; what nobody describes is left out."""
    found: dict[str, str] = {}
    for name in names:
        known = name.partition(":")[0]
        kind = next((kind for kind in ("measure", "attack") if known in working(kind)), None)
        found |= {} if kind is None else {name: summary(kind, known)}
    return tuple(found.items())


# ----------------------------------------
# Models, profiles and algorithms in words, and what a recipe asks of them.


# What each model means to somebody who never met the formulas.
MEANING = {
    "k": "Whoever knows a person's quasi-identifiers finds at least k records that fit, not one.",
    "k-wildcard": "As k, but a record with * fits everybody: weaker than it sounds, and for local suppression only.",
    "k-map": "At least k people of the whole population fit every record, even where fewer of them are in the data.",
    "delta-presence": "Nobody can be much surer that a person is in the data, or is not, than before.",
    "k-m": "Whoever knows somebody's class and up to m items of theirs still finds at least k records that fit.",
    "distinct-l": "Among those who look the same there are at least l different sensitive values, however unequal.",
    "entropy-l": "Among those who look the same, sensitive values are about as varied as l equally common ones.",
    "recursive-cl": "The commonest sensitive value of a class does not outweigh the rarer ones by more than c.",
    "t-closeness": "Learning somebody's class tells little more of their sensitive value than the whole table does.",
    "beta-likeness": "No sensitive value becomes much likelier for anybody once their class is known.",
    "delta-disclosure": "Every sensitive value stays about as likely in every class as in the whole table.",
    "alpha-k-simple": "Classes have k records, and one named value is not too common in any of them.",
    "alpha-k-general": "Classes have k records, and no value is too common in any of them.",
    "alpha-k-complete": "Classes have k records, and every value has a limit of its own.",
    "p-sensitive": "Classes have k records and at least p different sensitive values.",
    "k-e": "The numbers of a class are at least k different ones and span at least e.",
    "variance": "The numbers of a class are spread at least so much.",
    "eps-m": "Few numbers of a class are close together, so that no one can be guessed nearly.",
    "max-range": "The sensitive values of a class are close together: for use, not for protection.",
    "range-diversity": "Few of those who look the same have sensitive values in one range that would tell them apart.",
    "range-confidence": "Nobody can be placed in a sensitive range with more certainty than the share p.",
    "personalised": "Each person says what is not to be learnt of them, and it is not, with more certainty than p.",
    "m-invariance": "The same person stands among the same m sensitive values in every release.",
    "worst-group-utility": "No class is generalised further than u: a limit on loss, not on risk.",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Field:
    """A parameter: what it is now, what it is by default, whether it has to be given, and what it means."""

    name: str
    value: str
    default: str
    needed: bool
    told: str = ""


@dataclass(frozen=True, kw_only=True)
class ModelView:
    """A model of the recipe, or one that it could have."""

    place: int
    name: str
    summary: str
    meaning: str
    promise: str
    leaves_open: str
    on: str
    fields: tuple[Field, ...]
    targeted: bool = False
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class ProfileView:
    """A profile with its source, what it asks for and what it does not cover."""

    name: str
    title: str
    source: str
    asks: tuple[str, ...]
    by_people: tuple[str, ...]
    not_covered: tuple[str, ...]
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class AlgorithmView:
    """An algorithm with its parameters."""

    name: str
    summary: str
    fields: tuple[Field, ...]
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class ModelsView:
    """The page of models."""

    mine: tuple[ModelView, ...]
    others: tuple[ModelView, ...]
    profiles: tuple[ProfileView, ...]
    algorithms: tuple[AlgorithmView, ...]
    algorithm: AlgorithmView
    sensitive: tuple[str, ...]
    from_profile: tuple[str, ...]


def models_view(place: Place) -> ModelsView:
    """What the recipe asks for, and what it could."""
    recipe = place.recipe
    own = models_of(place.text)
    added = [one for one in recipe.models if one not in own]
    algorithms = tuple(_algorithm(name, recipe.algorithm) for name in sorted(working("algorithm")))
    return ModelsView(
        mine=tuple(_mine(at, one) for at, one in enumerate(own)),
        others=tuple(_other(name) for name in working("model")),
        profiles=tuple(_profile(name, recipe.profile) for name in working("profile")),
        algorithms=algorithms, algorithm=next(one for one in algorithms if one.chosen),
        sensitive=tuple(recipe.roles.sensitive), from_profile=tuple(map(model_words, added)),
    )  # fmt: skip


def model_words(model: Mapping[str, Any]) -> str:
    """A model in one line: ``k = 5``, or ``distinct-l, l = 3, on Diagnose``."""
    given = [f"{key} = {_shown(value)}" for key, value in model.items() if key not in ("name", "on")]
    on = model.get("on")
    told = [] if on is None else [f"on {target_words(str(model['name']), on)}"]
    named = [] if model["name"] in model else [str(model["name"])]
    return ", ".join([*named, *given, *told])


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_quoted(one) for one in value)}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_quoted(key)} = {_quoted(one)}" for key, one in value.items()) + " }"
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)


def _quoted(value: Any) -> str:
    return str(tomlkit.item(value).as_string()) if isinstance(value, str) else _shown(value)


def _typed(value: Any) -> str:
    """A value as a field shows it, which is read again as it was."""
    return _quoted(value) if isinstance(value, str) and typed_value(value.strip()) != value else _shown(value)


def _mine(place: int, given: Mapping[str, Any]) -> ModelView:
    name = str(given.get("name"))
    promise, problem, leaves = "", "", ""
    try:
        made: Model = make("model", given)
        promise = made.promise()
    except ShoalError as error:
        problem = str(error)
    cls = load("model", name) if name in working("model") else None
    if cls is not None and cls.leaves_open:
        leaves = cls.leaves_open
    return ModelView(
        place=place, name=name, summary="" if cls is None else summary("model", name), meaning=MEANING.get(name, ""),
        promise=promise, leaves_open=leaves.replace("{column}", "the column").replace("{}", "the column"),
        on=target_words(name, given["on"]) if "on" in given else "", problem=problem,
        targeted=cls is not None and _targeted(cls), fields=() if cls is None else _fields(cls, given, hidden=("on",)),
    )  # fmt: skip


def _targeted(cls: Any) -> bool:
    """Whether a model is asked of a column."""
    return any(one.name == "on" for one in dataclasses.fields(cls))


def _other(name: str) -> ModelView:
    return ModelView(
        place=-1, name=name, summary=summary("model", name), meaning=MEANING.get(name, ""), promise="", leaves_open="",
        on="", fields=_fields(load("model", name), {}, hidden=("on",)), targeted=_targeted(load("model", name)),
    )  # fmt: skip


def _fields(cls: Any, given: Mapping[str, Any], hidden: tuple[str, ...] = ()) -> tuple[Field, ...]:
    found, told = [], settings_told(cls)
    for one in dataclasses.fields(cls):
        if not one.init or one.name in hidden:
            continue
        made = one.default is not dataclasses.MISSING or one.default_factory is not dataclasses.MISSING
        default = one.default if one.default is not dataclasses.MISSING else None
        found.append(
            Field(
                name=one.name, value=_typed(given.get(one.name)), default=_shown(default), needed=not made,
                told=told.get(one.name, ""),
            )
        )  # fmt: skip
    return tuple(found)


def _profile(name: str, chosen: str | None) -> ProfileView:
    one = named_profile(name)
    asks = [model_words(model) for model in one.models]
    asks += [] if one.threshold is None else [f"a largest risk of {one.threshold:g}"]
    asks += [] if not one.needs else [f"said under [review]: {', '.join(one.needs)}"]
    return ProfileView(
        name=name, title=one.title, source=one.source, asks=tuple(asks), by_people=one.by_people,
        not_covered=one.not_covered, chosen=name == chosen,
    )  # fmt: skip


def _algorithm(name: str, given: Mapping[str, Any]) -> AlgorithmView:
    chosen = given.get("name") == name
    return AlgorithmView(
        name=name, summary=summary("algorithm", name), chosen=chosen,
        fields=_fields(load("algorithm", name), given if chosen else {}),
    )  # fmt: skip


# What a form says of a model on columns that its list does not offer, such as several at once.
AS_IT_IS = "="


def model_from(
    form: Mapping[str, str], known: Sequence[Mapping[str, Any]] = (), place: int | None = None
) -> dict[str, Any]:
    """A model as a recipe writes it, from a form's fields; what is left empty is left out.

    ``known`` are the models of the recipe, of which the one at ``place`` may keep its columns.
    """
    name = form.get("name", "")
    if name not in working("model"):
        raise ParameterError(f"There is no model '{name}': choose one of the list.")
    found = {"name": name, **_given(load("model", name), form)}
    on: Any = form.get("on", "")
    if on == AS_IT_IS and place is not None and 0 <= place < len(known):
        on = known[place].get("on")
    if on and _targeted(load("model", name)):
        found["on"] = on
    make("model", found)
    return found


def algorithm_from(form: Mapping[str, str]) -> dict[str, Any]:
    """The same of an algorithm."""
    name = form.get("name", "")
    if name not in working("algorithm"):
        raise ParameterError(f"There is no algorithm '{name}': choose one of the list.")
    found = {"name": name, **_given(load("algorithm", name), form)}
    make("algorithm", found)
    return found


def _given(cls: Any, form: Mapping[str, str]) -> dict[str, Any]:
    fields = [one.name for one in dataclasses.fields(cls) if one.init and one.name != "on"]
    return {name: typed_value(form[f"p-{name}"].strip()) for name in fields if form.get(f"p-{name}", "").strip()}


router = APIRouter()


@router.get("/projects/{project}/models")
def show_models(here: Read) -> Response:
    return _page(here, None)


def _page(here: Here, problem: Problem | None) -> Response:
    bench = Bench(here)
    asked = here.request.query_params
    view = models_view(bench.place)
    return bench.page(
        "models.html", "models", problem, view=view,
        adding=next((one for one in view.others if one.name == asked.get("add")), None),
        choosing=next((one for one in view.algorithms if one.name == asked.get("algorithm")), view.algorithm),
    )  # fmt: skip


@router.post("/projects/{project}/models")
def change_model(here: Edit, base: Base) -> Response:
    """Add a model, change one, or remove one."""
    given = texts(Bench(here).form)

    def make(place: Place) -> tuple[str, str]:
        number = given.get("place", "")
        if given.get("do") == "remove":
            return without_model(place.text, whole(number)), "a model less"
        at = whole(number) if number else None
        model = model_from(given, models_of(place.text), at)
        return with_model(place.text, model, at), f"model {model['name']}"

    return Bench(here).change("models", base, make, _page)


@router.post("/projects/{project}/models/profile")
def choose_profile(here: Edit, base: Base, profile: Annotated[str, Form()] = "") -> Response:
    def make(place: Place) -> tuple[str, str]:
        text = with_profile(place.text, profile)
        if text == place.text:
            raise RecipeError("Nothing was changed: choose another profile first.")
        return text, f"profile {profile or 'none'}"

    return Bench(here).change("models", base, make, _page)


@router.post("/projects/{project}/models/algorithm")
def choose_algorithm(here: Edit, base: Base) -> Response:
    def make(place: Place) -> tuple[str, str]:
        algorithm = algorithm_from(texts(Bench(here).form))
        return with_algorithm(place.text, algorithm), f"algorithm {algorithm['name']}"

    return Bench(here).change("models", base, make, _page)
