"""A researcher in a browser: no release until it is granted, then mining it, questions, answers and refusals."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path

import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier, export_text

from shoal.io.census import generate
from shoal.web.projects.project import folder_of
from tests.web.conftest import PASSWORD
from tests.web.test_browser import Site, chromium, site, sync_api  # noqa: F401
from tests.web.test_trust import log_of
from tests.web.working import add_job, add_project, job_of

RECIPE = """
acknowledge = ["W-PP-REV"]
[source]
path = "source/people.csv"
[roles]
quasi = ["sex", "marital_status"]
sensitive = ["age", "diagnosis"]
[algorithm]
name = "table-transform"
"""


def signed_in(site: Site, chromium: sync_api.Browser, name: str) -> sync_api.Page:  # noqa: F811
    """A page of somebody who has signed in."""
    page = chromium.new_context(base_url=site.address).new_page()
    page.set_default_timeout(60_000)
    page.goto("/login")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/releases" if name == "researcher" else "**")
    return page


def people() -> pl.DataFrame:
    """Whom the release is about."""
    return generate(2500, 1).select("sex", "marital_status", "age", "diagnosis").drop_nulls()


@pytest.fixture(scope="module")
def release(site: Site) -> str:  # noqa: F811
    """Coded by the server's own worker: ages graded, diagnoses mapped."""
    project = add_project(site.app, RECIPE)
    people().write_csv(folder_of(project.id, site.app.state.settings) / "source" / "people.csv")
    job, until = add_job(site.app, project, "run").id, time.monotonic() + 120
    while job_of(site.app, job).state in ("queued", "running"):
        assert time.monotonic() < until, "the job does not end"
        time.sleep(0.1)
    assert job_of(site.app, job).message is None
    return job


def asked(page: sync_api.Page, release: str, text: str, target: str = "") -> str:
    """What the page says that answers a question."""
    page.goto(f"/releases/{release}/ask")
    page.get_by_label("Results", exact=True).fill(text)
    page.get_by_label("Column of the classes").fill(target)
    page.get_by_role("button", name="Check and ask").click()
    page.wait_for_url("**/questions/*")
    return page.locator("main").inner_text()


def decided(page: sync_api.Page, boss: sync_api.Page) -> str:
    """The same after the custodian has answered what waits for that."""
    if page.get_by_text("waits for the custodian").count():
        boss.goto(page.url)
        boss.get_by_role("button", name="Answer it").click()
        boss.get_by_role("heading", name="Answer", exact=True).wait_for()
        page.reload()
    return page.locator("main").inner_text()


def test_a_researcher_mines_a_release_and_has_it_interpreted(
    site: Site, chromium: sync_api.Browser, release: str, tmp_path: Path  # noqa: F811
) -> None:
    ruth = signed_in(site, chromium, "researcher")
    assert ruth.goto(f"/releases/{release}").status == 404
    boss = signed_in(site, chromium, "custodian")
    boss.goto(f"/releases/{release}")
    boss.get_by_label("Researcher").select_option("researcher")
    boss.get_by_role("button", name="Grant").click()
    boss.get_by_text("researcher, since").wait_for()
    ruth.goto(f"/releases/{release}")
    with ruth.expect_download() as coming:
        ruth.get_by_role("link", name=".csv").click()
    frame = pl.read_csv(io.BytesIO(Path(coming.value.path()).read_bytes()))
    text, codes = mined(frame)
    asked(ruth, release, text, "marital_status")
    answer = decided(ruth, boss)
    rules = re.findall(r"IF age <= (\d+) THEN marital_status = (\w+) \(covered (\d+), right (\d+)\)", answer)
    assert rules
    for most, status, covered, right in rules:  # of true ages the same holds
        mine = people().filter(pl.col("age") <= int(most))["marital_status"]
        assert (mine.len(), mine.eq(status).sum()) == (int(covered), int(right))
    code, value, share = telling(frame)
    asked(ruth, release, f"IF diagnosis = {code} THEN sex = female (confidence {share:.6f})")
    assert f"IF diagnosis = {value} THEN sex = female" in (told := decided(ruth, boss)).partition("Answer")[2]
    assert code not in told
    invented = asked(ruth, release, f"IF diagnosis = {codes[0]} THEN sex = female (confidence 0.123)")
    assert "Nothing of it is answered." in invented
    counts = frame["diagnosis"].value_counts().rows()
    listed = asked(ruth, release, "\n".join(f"diagnosis = {code}: n = {n}" for code, n in counts))
    assert listed.count("goes through the codes of a column one by one") == len(counts)
    events = [one.event for one in log_of(site.app)]
    assert events.count("refusal") == 2
    assert events.count("answer") == 2


def telling(frame: pl.DataFrame) -> tuple[str, str, float]:
    """The code that goes most with women, what it stands for by how often both occur, and the share of women."""
    women = pl.col("sex").eq("female")
    tables = [
        one.group_by("diagnosis").agg(pl.len(), women.mean().alias("share")).filter(pl.col("len") >= 30)
        for one in (frame, people())
    ]
    (code, _, share), (value, _, again) = (one.sort("share", "len").row(-1) for one in tables)
    assert share == again
    return code, value, share


def mined(frame: pl.DataFrame) -> tuple[str, list[str]]:
    """A tree that scikit-learn finds, as it prints it, and the codes of the diagnoses."""
    tree = DecisionTreeClassifier(max_depth=2, min_samples_leaf=60, random_state=0)
    tree.fit(frame.select("age").to_numpy(), frame["marital_status"].to_list())
    printed = export_text(tree, feature_names=["age"], show_weights=True, decimals=6)
    return printed, sorted(frame["diagnosis"].unique())
