"""`monitor secrets` as typed, for a source that is logged in to."""

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest


def test_a_secret_of_a_source_is_stored_listed_without_its_value_and_forgotten(
    typed: Callable[[list[str]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert typed(["init"]).code == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("hunter2hunter2\n"))
    refused = typed(["secrets", "set", "GOV_PASSWORD", "--stdin"])
    assert refused.code == 2
    assert "GOV_PASSWORD" in refused.complaint
    steps = ["open https://gov.example/login", "fill #p with secret GOV_PASSWORD", "click button"]
    words = [word for line in steps for word in ("--step", line)]
    assert typed(["sources", "add", "https://gov.example/", "--name", "gov", *words]).code == 0
    assert ", ".join(steps) in " ".join(typed(["sources", "show", "gov"]).out.split())
    monkeypatch.setattr(sys, "stdin", io.StringIO("hunter2hunter2\n"))
    stored = typed(["secrets", "set", "GOV_PASSWORD", "--stdin"])
    assert (stored.code, stored.out.strip()) == (0, "The secret GOV_PASSWORD is stored.")
    found = {row["name"]: row for row in typed(["secrets", "list", "--json"]).document["secrets"]}["GOV_PASSWORD"]
    assert (found["is_set"], found["used_by"], found["hosts"]) == (True, "source.gov", ["gov.example"])
    assert "hunter2" not in typed(["secrets", "list"]).out + typed(["sources", "export"]).out
    assert typed(["secrets", "forget", "GOV_PASSWORD"]).code == 0
    assert "No secret named GOV_PASSWORD is stored" in typed(["secrets", "forget", "GOV_PASSWORD"]).out
