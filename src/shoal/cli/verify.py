"""``shoal verify``: a written release against its manifest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.options import Json
from shoal.cli.show import error_data, say, show_error, show_json, show_table, steps, verdict_rows
from shoal.errors import InputError, VerificationError

if TYPE_CHECKING:
    from shoal.vault.signing import Signed
    from shoal.verify.report import GateReport


def verify(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder of a release.", show_default=False)
    ],
    signature: Annotated[
        Path | None, typer.Option(metavar="FILE.sig", help="Check this signature too.", show_default=False)
    ] = None,
    public_key: Annotated[
        Path | None, typer.Option(metavar="FILE.pub", help="Whose signature it has to be.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a release against its manifest, without the input."""
    if public_key is not None and signature is None:
        raise InputError("A --public-key is what a signature is checked with: give the --signature too.")
    with steps() as step:
        step("loading")
        from shoal.release.run import verify_release

        signed = None if signature is None else _signed(folder, signature, public_key)
        step("deriving every verdict again")
        report = verify_release(folder, progress=step)
    if as_json:
        show_json(_data(report, folder) | {"signature": signed})
    else:
        _show(report, folder)
        if signed is not None and report.passed:
            say(f"Signed by the key {signed.fingerprint}.")
            if not signed.expected:
                say("Whose key that is nobody said: compare it, or give their --public-key.")
    if not report.passed:
        raise typer.Exit(VerificationError.exit_code)


def _signed(folder: Path, signature: Path, public_key: Path | None) -> Signed:
    from shoal.vault.signing import check_signature

    return check_signature(folder, signature, public_key)


def _data(report: GateReport, folder: Path) -> dict[str, Any]:
    data = {
        "folder": str(folder),
        "passed": report.passed,
        "checks": report.checks,
        "verdicts": report.verdicts,
        "classes": {key: report.classes[key] for key in ("count", "smallest")},
        "not_compared": _uncompared(report, folder),
    }
    if not report.passed:
        error = error_data("VerificationError", _failure(report, folder), VerificationError.exit_code)
        data["error"] = error
    return data


def _show(report: GateReport, folder: Path) -> None:
    checks = [(check.name, "ok" if check.passed else "FAILED", check.detail) for check in report.checks]
    show_table(["check", "result", "what was found"], checks)
    if report.verdicts:
        show_table(["model", "on", "holds", "worst class", "limit", "by"], verdict_rows(report.verdicts))
    if not report.passed:
        show_error(_failure(report, folder))
        return
    attested = sum(verdict.by == "attested" for verdict in report.verdicts)
    say(f"'{folder}' is what its manifest says: {len(report.checks)} checks passed.")
    if attested:
        say(f"{attested} of {len(report.verdicts)} verdicts rest on the publisher's evidence (attested).")
    if copies := _uncompared(report, folder):
        what = ", ".join(copies)
        say(f"Known by their hashes alone, for want of what reads them (pip install 'shoal[formats]'): {what}.")


def _uncompared(report: GateReport, folder: Path) -> list[str]:
    """Copies of the release in other formats that no check is about."""
    from shoal.verify.folder import read_manifest

    copies = [copy["file"] for copy in read_manifest(folder)["data"].get("copies", ())]
    return [name for name in copies if f"copy {name}" not in {check.name for check in report.checks}]


def _failure(report: GateReport, folder: Path) -> str:
    """The most telling of the failed checks: a model that no longer holds, else the first."""
    failed = [check for check in report.checks if not check.passed]
    broken = [check for check in failed if " fails" in check.detail]
    details = [check.detail for check in [*broken, *failed]] or ["a verdict does not hold."]
    more = f" ({len(failed)} checks failed)" if len(failed) > 1 else ""
    return f"The release in '{folder}' does not verify{more}: {details[0]}"
