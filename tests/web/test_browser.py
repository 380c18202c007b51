"""The workbench in a browser: what a custodian does from a messy file to a release that anybody can check."""

from __future__ import annotations

import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from shutil import which
from socket import AF_INET, SOCK_STREAM, socket
from threading import Event, Thread

import pytest
import uvicorn
from fastapi import FastAPI

from shoal.web.app import create_app
from shoal.web.jobs.worker import Worker
from shoal.web.settings import Settings
from tests.starting.awkward import hospital
from tests.web.conftest import PASSWORD, add_people

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = which("chromium") or which("chromium-browser")
PAGES = (
    "data", "hierarchies", "hierarchies/PLZ", "models", "risk", "explore", "compare", "attacks", "release", "values",
    "recipe",
)  # fmt: skip

OTHERS = ("/", "/projects/new", "/releases", "/questions", "/vault", "/account")
# What a page must not have: fields without a name, names that two things have, a focus that jumps back among its tabs.
NAMELESS = """[...document.querySelectorAll('input:not([type=hidden]):not([hidden]), select, textarea')]
    .filter(one => !one.labels.length && !one.ariaLabel).map(one => one.outerHTML)"""
TWICE = """[...document.querySelectorAll('[id]')].map(one => one.id)
    .filter((one, at, all) => all.indexOf(one) !== at)"""
OUT_OF_ORDER = """[...document.querySelectorAll('.tabs a')].map(one => [one.innerText, one.getBoundingClientRect()])
    .filter(([, box], at, all) => at && (box.top < all[at - 1][1].top - 8
        || Math.abs(box.top - all[at - 1][1].top) <= 8 && box.left < all[at - 1][1].left)).map(([name]) => name)"""


@dataclass
class Site:
    """A server with a worker, and where it is."""

    app: FastAPI
    address: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server on a free port of this machine, with a worker beside it."""
    listening = socket(AF_INET, SOCK_STREAM)
    listening.bind(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app = create_app(Settings(folder=tmp_path_factory.mktemp("site") / "data", port=port))
    add_people(app)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    stop = Event()
    worker = Worker(app.state.settings, app.state.store, app.state.keys)
    threads = [Thread(target=server.run, args=([listening],)), Thread(target=worker.run, args=(stop,))]
    for one in threads:
        one.start()
    until = time.monotonic() + 60
    while not server.started:
        assert time.monotonic() < until, "the server does not start"
        time.sleep(0.05)
    yield Site(app, f"http://127.0.0.1:{port}")
    server.should_exit = True
    stop.set()
    for one in threads:
        one.join(30)
    app.state.store.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[sync_api.Browser]:
    """Debian's browser."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium, which is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page(site: Site, chromium: sync_api.Browser) -> Iterator[sync_api.Page]:
    """The custodian's page; whatever a script says or a policy stops on the way is a fault."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, base_url=site.address)
    page = context.new_page()
    page.set_default_timeout(180_000)  # of a machine that does much else
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
    page.goto("/login")
    page.get_by_label("Name").fill("custodian")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/")
    yield page
    assert faults == []
    context.close()


def wait_for_job(page: sync_api.Page, seen: str) -> None:
    """Wait until the page has asked often enough by itself, and shows what came of the job."""
    page.get_by_text(seen).first.wait_for()


@pytest.fixture(scope="module")
def project(page: sync_api.Page, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a project made of the messy file of a hospital."""
    file = hospital(tmp_path_factory.mktemp("hospital") / "hospital.csv")
    page.goto("/projects/new")
    page.get_by_label("Name").fill("Hospital <b onmouseover=alert(1)>")
    page.get_by_label("Data").set_input_files(file)
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("link", name="See what came of it").click()
    page.wait_for_url("**/data")
    return page.url.removesuffix("/data")


def test_a_custodian_makes_a_release(page: sync_api.Page, project: str, tmp_path: Path) -> None:
    """From proposals to a download that the verifier passes, one page after another."""
    _accept_proposals(page, project)
    _edit_hierarchy(page, project)
    _choose_upc(page, project)
    page.goto(f"{project}/risk")
    page.get_by_role("button", name="Measure the risk").click()
    wait_for_job(page, "Largest risk")
    assert page.locator("svg.plot").count() == 2
    page.goto(f"{project}/attacks")
    page.get_by_role("button", name="Attack a release").click()
    wait_for_job(page, "The worst figure of each attack")
    assert page.get_by_role("row", name="linkage").count() > 0
    page.goto(f"{project}/release")
    page.get_by_role("button", name="Make the release").click()
    wait_for_job(page, "Newest release")
    page.get_by_role("link", name="Open the release").click()
    assert page.get_by_text("holds").count() >= 5
    _print_dossier(page)
    _download_and_verify(page, tmp_path)


def _accept_proposals(page: sync_api.Page, project: str) -> None:
    """Another role, then all of them as proposed."""
    page.goto(f"{project}/data")
    assert page.get_by_text("codes of diseases (ICD)").count() == 1
    page.get_by_label("Role of Aufnahme").select_option("drop")
    page.get_by_role("button", name="Save roles and types").click()
    page.get_by_text("Saved as version 2").wait_for()
    page.get_by_role("button", name="Use all proposals").click()
    page.get_by_text("Saved as version 3").wait_for()
    assert page.get_by_label("Role of Aufnahme").input_value() == "quasi"


def _edit_hierarchy(page: sync_api.Page, project: str) -> None:
    """A label renamed and a value moved; coarser levels make larger classes at once."""
    page.goto(f"{project}/hierarchies")
    before = page.locator("#counts").inner_text()
    page.get_by_label("Geburtsdatum").select_option("3")
    page.wait_for_function("text => document.querySelector('#counts').innerText !== text", arg=before)
    page.get_by_role("link", name="PLZ").click()
    page.get_by_label("One a line").fill("rename 01*** to Dresden")
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("Saved as version 4").wait_for()
    page.get_by_label("Values or groups").select_option("04102")
    page.get_by_label("Under").select_option("Dresden")
    page.get_by_role("button", name="Move", exact=True).click()
    page.get_by_text("Saved as version 5").wait_for()
    page.get_by_text("Every value of the data is covered").wait_for()


def _choose_upc(page: sync_api.Page, project: str) -> None:
    page.goto(f"{project}/models")
    page.get_by_label("Method").select_option("upc")
    page.get_by_role("button", name="Look at it").click()
    page.get_by_label("utility", exact=True).fill("0.7")
    page.get_by_label("protection", exact=True).fill("0.5")
    page.get_by_role("button", name="Use upc").click()
    page.get_by_text("Saved as version 6").wait_for()


def _print_dossier(page: sync_api.Page) -> None:
    """The dossier on paper: a page of its own, in which nothing can run."""
    here = page.url
    page.get_by_role("link", name="Dossier", exact=True).click()
    page.get_by_role("heading", level=1).wait_for()
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.goto(here)


def _download_and_verify(page: sync_api.Page, folder: Path) -> None:
    page.get_by_role("button", name="Sign", exact=True).click()
    page.get_by_text("is signed with the server's key").wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download", exact=True).click()
    waiting.value.save_as(folder / "release.zip")
    with zipfile.ZipFile(folder / "release.zip") as content:
        content.extractall(folder)
    signature = next(folder.glob("*.sig"))
    release = signature.with_suffix("")
    command = [sys.executable, "-m", "shoal.cli.main", "verify", str(release), "--signature", str(signature)]
    done = subprocess.run(
        [*command, "--public-key", str(folder / "signing.pub")], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_page_is_wider_than_the_screen(page: sync_api.Page, project: str) -> None:
    found = {}
    for name in PAGES:
        page.goto(f"{project}/{name}")
        for width in (400, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            found[name, width] = page.evaluate("document.documentElement.scrollWidth")
    assert {where: wide for where, wide in found.items() if wide > where[1]} == {}


def test_the_keyboard_is_enough(page: sync_api.Page, project: str) -> None:
    """The first key leads past the navigation, every field has a name, and a form can be sent from a field."""
    page.goto(f"{project}/data")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for name in (*(f"{project}/{one}" for one in (*PAGES, "files")), *OTHERS):
        page.goto(name)
        assert page.evaluate(NAMELESS) == [], name
        assert page.evaluate(TWICE) == [], name
        levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(one => +one.tagName[1])")
        assert levels[0] == 1, name
        assert all(lower - upper <= 1 for upper, lower in pairwise(levels)), (name, levels)
        assert page.evaluate(OUT_OF_ORDER) == [], name
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.goto(f"{project}/models") is not None
    assert page.evaluate(OUT_OF_ORDER) == []
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_label("k", exact=True).first.fill("6")
    page.keyboard.press("Enter")
    page.get_by_text("Saved as version").wait_for()


def test_pages_work_without_scripts(site: Site, chromium: sync_api.Browser, page: sync_api.Page, project: str) -> None:
    """Everything but live updates: a form of a page, and a count of classes by a button."""
    context = chromium.new_context(java_script_enabled=False, storage_state=page.context.storage_state())
    plain = context.new_page()
    plain.goto(f"{project}/hierarchies")
    plain.get_by_label("Geburtsdatum").select_option("3")
    plain.get_by_role("button", name="Count").click()
    assert plain.get_by_label("Geburtsdatum").input_value() == "3"
    plain.goto(f"{project}/recipe")
    plain.get_by_role("textbox", name="Version").fill("no recipe")
    plain.get_by_role("button", name="Save as a new version").click()
    assert plain.get_by_role("alert").count() == 1
    assert plain.get_by_role("textbox", name="Version").input_value() == "no recipe"
    context.close()
