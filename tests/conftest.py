"""Settings and fixtures of every test.

What reads Adult or reproduces a paper is marked ``slow``: ``-m "not slow"`` leaves it out.

A skipped test is one nobody ran. The summary therefore names every skip and why, and with
``SHOAL_REQUIRE_ALL=1`` a skip fails the run, unless it waits for the shared data and there is none.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
NEEDS_SHARED = "needs ../shared"
# The longest files go first, so that no worker is left alone with one of them in the end.
LONGEST = [
    f"tests/{name}.py"
    for name in (
        "test_wheel", "engines/test_spark", "engines/test_spark_runs", "engines/test_spark_rows",
        "engines/test_spark_commands", "test_soak", "test_interrupts", "engines/test_postgres", "engines/test_duckdb",
        "contract/test_algorithms", "attacks/test_power", "test_adult",
        "algorithms/test_mondrian_exhaustive", "verify/test_attested", "test_published", "io/test_publication",
        "models/test_contract", "algorithms/lattice/test_optimal", "test_recorded", "cli/test_meeting",
    )
]  # fmt: skip
REQUIRE_ALL = os.environ.get("SHOAL_REQUIRE_ALL") == "1"

# The first call of a kernel compiles it, which no deadline allows for; a required run has to be repeatable.
settings.register_profile(
    "shoal", max_examples=25, deadline=None, derandomize=REQUIRE_ALL, suppress_health_check=[HealthCheck.too_slow]
)
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


def pytest_collection_finish() -> None:
    # Thousands of tests that stay to the end need not be looked at by every collection of garbage.
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: reads Adult or reproduces a paper")
    config.pluginmanager.register(Skips(), "shoal-skips")
