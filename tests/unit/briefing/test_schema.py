import json
from pathlib import Path

import pytest

from monitor.briefing.render import build_briefing_schema

PUBLISHED = Path(__file__).resolve().parents[3] / "docs" / "schemas" / "briefing.json"


def test_the_published_schema_is_that_of_the_program() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == build_briefing_schema(), (
        "write it anew: .venv/bin/python -m monitor.briefing.render > docs/schemas/briefing.json"
    )


def test_the_schema_is_one() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(json.loads(PUBLISHED.read_text(encoding="utf-8")))
