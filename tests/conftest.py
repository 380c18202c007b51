"""Settings and fixtures of every test.

What reads Adult or reproduces a paper is marked ``slow``: ``-m "not slow"`` leaves it out.

A skipped test is one nobody ran. The summary therefore names every skip and why, and with
``SHOAL_REQUIRE_ALL=1`` a skip fails the run, unless it waits for the shared data and there is none.

Of cases that differ by chance a run tries some: ``SHOAL_THOROUGH=1`` tries all of them. ``many`` says how many there
are of what a test draws itself, and ``@pytest.mark.sample(8)`` how many of its parameters a test is run with.
"""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
NEEDS_SHARED = "needs ../shared"
# The longest files go first, 11 s and more, so that no worker is left alone with one of them in the end.
LONGEST = [
    f"tests/{name}.py"
    for name in (
        "engines/test_spark", "engines/test_spark_commands", "engines/test_spark_rows", "test_wheel",
        "engines/test_spark_runs", "test_docs", "test_interrupts", "web/test_browser", "web/test_jobs",
        "engines/test_duckdb", "engines/test_postgres", "engines/test_commands", "web/test_apart", "web/test_serving",
        "test_published", "contract/test_algorithms", "engines/test_kills", "web/test_ended",
        "algorithms/cluster/test_research", "algorithms/cluster/test_upc", "algorithms/test_aims",
        "models/test_contract", "engines/test_coded_streams", "verify/test_batches",
        "algorithms/test_mondrian_exhaustive", "papers/test_loukides_toc", "attacks/test_planted", "web/test_workbench",
        "web/test_together", "verify/test_strangers", "attacks/test_power", "web/test_offers", "test_repeat",
        "test_extending", "engines/test_many_batches", "web/test_signatures",
    )
]  # fmt: skip
# These share the Java of Spark, which takes longer to start than most of their tests.
TOGETHER = [
    f"tests/engines/test_{name}.py"
    for name in (
        "spark", "spark_commands", "spark_rows", "folders", "left_out", "naming_keys", "needs", "recorded_engines",
        "survey_weights",
    )
]  # fmt: skip
REQUIRE_ALL = os.environ.get("SHOAL_REQUIRE_ALL") == "1"
THOROUGH = os.environ.get("SHOAL_THOROUGH") == "1"


def many(regular: int, thorough: int) -> int:
    """How many seeds, examples or draws a test tries, which a thorough run has the time for."""
    return thorough if THOROUGH else regular


# On a busy machine an example may take any time, so there is no deadline; a required run has to be repeatable.
settings.register_profile(
    "shoal", max_examples=many(25, 250), deadline=None, derandomize=REQUIRE_ALL,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.load_profile("shoal")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data beside the checkout; tests that ask for it are skipped without one."""
    if not SHARED.is_dir():
        pytest.skip(f"{NEEDS_SHARED}: there is no such folder beside the checkout")
    return SHARED


@pytest.fixture(scope="session")
def adult(shared: Path) -> Path:
    """UCI Adult, the training file."""
    path = shared / "data" / "adult" / "adult.data"
    if not path.is_file():
        pytest.skip(f"{NEEDS_SHARED}/data/adult/adult.data: there is no such file")
    return path


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a test or a whole file was skipped."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


def excused(reason: str) -> bool:
    """Whether a skip is in order even when everything is required."""
    return reason.startswith(NEEDS_SHARED) and not SHARED.is_dir()


class Skips:
    """Collects why tests were skipped, from this process or from the worker processes of xdist."""

    def __init__(self) -> None:
        # By node, because every worker reports that it skipped the same file.
        self.nodes: dict[str, str] = {}

    @property
    def reasons(self) -> Counter[str]:
        """How many tests, or whole files, were skipped for each reason."""
        return Counter(self.nodes.values())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.nodes[report.nodeid] = reason_of(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.nodes[report.nodeid] = reason_of(report)

    # The last to have a turn, when the reports of all workers are in.
    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        is_worker = hasattr(session.config, "workerinput")
        left_out = REQUIRE_ALL and any(not excused(reason) for reason in self.reasons)
        if left_out and not is_worker and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for reason, count in sorted(self.reasons.items()):
            missing = REQUIRE_ALL and not excused(reason)
            terminalreporter.write_line(
                f"{'FAILED: required but skipped' if missing else 'NOT RUN'}: {count} x {reason}",
                red=missing,
                yellow=not missing,
                bold=True,
            )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.nodeid.partition("::")[0], len(rank)))
    for item in items:
        reads_adult = "adult" in getattr(item, "fixturenames", ()) or item.path.name == "test_adult.py"
        if reads_adult or item.path.is_relative_to(ROOT / "tests" / "papers"):
            item.add_marker("slow")


def scope_of(node: str) -> str:
    """What one worker does of a run: a file, or those that go together."""
    file = node.partition("::")[0]
    return TOGETHER[0] if file in TOGETHER else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    scheduler = LoadFileScheduling(config, log)
    scheduler._split_scope = scope_of
    return scheduler


def sample(cases: list[pytest.Item], count: int) -> list[pytest.Item]:
    """So many cases of a test, spread over all, in which every value of every parameter comes if they are enough."""
    left = sorted(range(len(cases)), key=lambda place: place * 0.6180339887 % 1)
    given = [case.callspec.params for case in cases]  # type: ignore[attr-defined]
    values = [{(name, id(value)) for name, value in each.items()} for each in given]
    shown: set[tuple[str, int]] = set()
    found: list[int] = []
    while left and len(found) < count:
        best = max(left, key=lambda place: len(values[place] - shown))
        shown |= values[best]
        found.append(best)
        left.remove(best)
    return [cases[place] for place in sorted(found)]


class Samples:
    """Leaves out cases of tests that are marked with how many of them are enough."""

    # The last to have a turn, when what was asked for by name is chosen.
    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        marked: dict[tuple[str, int], list[pytest.Item]] = {}
        for item in items:
            mark = item.get_closest_marker("sample")
            if mark is not None:
                marked.setdefault((item.nodeid.partition("[")[0], mark.args[0]), []).append(item)
        chosen = {item for (_, count), cases in marked.items() for item in sample(cases, count)}
        left_out = {item for cases in marked.values() for item in cases if item not in chosen}
        if left_out:
            config.hook.pytest_deselected(items=list(left_out))
            items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that is marked as the reference of kernels and does not call all of them."""
    missing = {name for mark in item.iter_markers("reference") for name in mark.args}
    if not missing:
        return (yield)
    from shoal.kernels import _native

    def watch(name: str) -> Callable[..., Any]:
        kernel = getattr(_native, name)

        def call(*arguments: Any) -> Any:
            missing.discard(name)
            return kernel(*arguments)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in tuple(missing):
            patch.setattr(_native, name, watch(name))
        yield
    if missing:
        pytest.fail(f"This test does not call kernels whose reference it is marked as: {', '.join(sorted(missing))}.")


def pytest_collection_finish() -> None:
    # Thousands of tests that stay to the end need not be looked at by every collection of garbage.
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: reads Adult or reproduces a paper")
    config.addinivalue_line("markers", "reference(names): compares these native kernels with plain Python")
    config.addinivalue_line("markers", "sample(count): so many of its cases are enough for a run that is not thorough")
    # What a shell starts in the background is deaf to interrupts, and so is all that it starts; tests send some.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(Skips(), "shoal-skips")
    if not THOROUGH:
        config.pluginmanager.register(Samples(), "shoal-samples")
