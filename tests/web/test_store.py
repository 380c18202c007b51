"""The database: both of them, brought up to date, private, and safe from two who write at the same time."""

from __future__ import annotations

from fastapi import FastAPI

from tests.web.conftest import sign_in


def test_somebody_signs_in_and_out(every_app: FastAPI) -> None:
    browser = sign_in(every_app, "custodian")
    assert "Projects" in browser.get("/").text
    assert browser.submit("/logout").headers["location"] == "/login"
    assert browser.get("/").headers["location"] == "/login"
