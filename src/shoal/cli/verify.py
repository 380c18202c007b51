"""``shoal verify``: a written release against its manifest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import error_data, say, show_error, show_json, show_table, steps, verdict_rows
from shoal.cli.options import Json
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
        from shoal.release.entry import verify_release

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


# ----------------------------------------
# ``shoal sign``: a detached signature of a release.


def sign(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[FOLDER]", help="The folder of a release.", show_default=False)
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The private key; nobody else may read it.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.sig", help="By default beside the folder.", show_default=False),
    ] = None,
    new_key: Annotated[
        Path | None, typer.Option("--new-key", metavar="FILE", help="Make a key, and FILE.pub.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Sign a release, so that its readers know whose it is.

    shoal sign --new-key agency.key; shoal sign out --key agency.key; shoal verify out --signature out.sig
    """
    from shoal.vault import signing

    if (new_key is None) == (folder is None):
        raise InputError("Name the folder of a release and its --key, or make a key with --new-key FILE.")
    if new_key is not None:
        private, public = signing.new_key(new_key)
        if as_json:
            show_json({"private": str(private), "public": str(public)})
        else:
            say(f"Private, never to be given away: {private}", f"Public, for whoever checks:      {public}")
        return
    if key is None or folder is None:
        raise InputError("Signing needs --key FILE: make one with 'shoal sign --new-key FILE'.")
    with steps() as step:
        step("reading the release")
        place = output or signing.signature_beside(folder)
        found = signing.sign_release(folder, key, place)
    if as_json:
        show_json({"folder": str(folder), "signature": str(place), "fingerprint": found})
    else:
        check = f"shoal verify {folder} --signature {place} --public-key {key}.pub"
        say(f"Signed: {place}", f"Key:    {found}", f"Check:  {check}")


# ----------------------------------------
# ``shoal log``: who released what, and when, in a file that is only ever added to.


log_app = typer.Typer(help="Keep, and check, a log whose lines cannot be changed unnoticed.")

_File = Annotated[Path, typer.Argument(metavar="FILE.log", help="The log.", show_default=False)]


@log_app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@log_app.command()
def show(log: _File, as_json: Json = False) -> None:
    """List its lines, after checking every one."""
    from shoal.io.hash_chain import read_journal

    found = read_journal(log)
    if as_json:
        show_json({"file": str(log), "entries": found.entries, "head": found.head})
        return
    rows = []
    for one in found.entries:
        made = one.get("release")
        when = one["time"][:16].replace("T", " ")
        start = (str(one["entry"]), when, one["who"], one["event"])
        if made is None:  # a line of a server's log
            rows.append((*start, "", "", ", ".join(f"{key} {value}" for key, value in one["facts"].items())))
        else:
            rows.append((*start, Path(made["folder"]).name, f"{made['rows']:,}", made["statement"]))
    show_table([">", "when (UTC)", "who", "what", "release", ">rows", "statement"], rows)
    say(f"Head: {found.head}")


@log_app.command("verify")
def verify_log(
    log: _File,
    head: Annotated[
        str | None,
        typer.Option(
            metavar="HASH|FILE", help="A hash that it must hold, or a file of them, kept elsewhere.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check that no line was changed, dropped, inserted or moved (exit 4)."""
    from shoal.io.hash_chain import read_journal

    found = read_journal(log, head=head)
    if as_json:
        show_json({"file": str(log), "entries": len(found.entries), "head": found.head, "passed": True})
        return
    say(f"The chain of {len(found.entries):,} lines holds.", f"Head: {found.head}")
    if head is None:
        say("Lines dropped at its end would not show: keep the head elsewhere, and give it as --head.")


@log_app.command()
def add(
    log: _File,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a release.", show_default=False)],
    event: Annotated[str, typer.Option(metavar="WORD", help="What was done with it.")] = "released",
    as_json: Json = False,
) -> None:
    """Add a line by hand."""
    from shoal.io.hash_chain import log_release

    entry = log_release(log, folder, event=event)
    if as_json:
        show_json({"file": str(log), "entry": entry, "head": entry["hash"]})
    else:
        say(f"Line {entry['entry']:,} of {log}: {entry['event']} {folder}", f"Head: {entry['hash']}")
