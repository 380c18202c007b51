"""Models, profile and algorithm: what each means, and what the recipe asks for."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.responses import Response

from shoal.errors import RecipeError
from shoal.recipe.edit import models_of, with_algorithm, with_model, with_profile, without_model
from shoal.web.context import Here, needs
from shoal.web.pages.bench import Base, Bench, Problem, texts, whole
from shoal.web.views.models import algorithm_from, model_from, models_view
from shoal.web.views.place import Place

router = APIRouter()
Read = Annotated[Here, needs("project.read")]
Edit = Annotated[Here, needs("project.edit")]


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
