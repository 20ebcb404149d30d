"""No rule of the parsers knows a page of the corpus: neither its site nor its url, its titles or its name there."""

import csv
import json
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from monitor.urls import get_registrable_domain

ROOT = Path(__file__).resolve().parents[3]
CORPUS = ROOT.parent / "shared" / "corpus"
MIN_TITLE_CHARS = 10


def names_of_the_corpus() -> dict[str, str]:
    """What the corpus calls its pages, in lower case, each with the word for what it is."""
    if not (CORPUS / "manifest.csv").exists():
        pytest.skip("the corpus of real pages is not beside this repository")
    names: dict[str, str] = {}
    with (CORPUS / "manifest.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            names[row["id"]] = "id"
            gold = json.loads((CORPUS / row["gold"]).read_text(encoding="utf-8")) if row["gold"] else {}
            entries = [gold, *(gold.get("items") or [])] if isinstance(gold, dict) else []
            urls = [row["url"], *(str(entry.get("url") or "") for entry in entries)]
            for url in filter(None, urls):
                names[url] = "url"
                if "." in (urlsplit(url).hostname or ""):
                    names[get_registrable_domain(url)] = "site"
            for entry in entries:
                title = str(entry.get("title") or "")
                if len(title) >= MIN_TITLE_CHARS:
                    names[title] = "title"
    return {name.lower(): kind for name, kind in names.items()}


def found_in(code: str, names: Iterable[str]) -> list[str]:
    """The names that stand in the code as words of their own, in any letter case."""
    code = code.lower()
    return [name for name in names if name in code and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", code)]


def test_no_page_of_the_corpus_is_named_in_the_code_of_the_parsers() -> None:
    names = names_of_the_corpus()
    found = {
        str(path.relative_to(ROOT)): [f"{names[name]}: {name}" for name in hits]
        for path in sorted((ROOT / "monitor" / "pages").rglob("*.py"))
        if (hits := found_in(path.read_text(encoding="utf-8"), names))
    }
    assert found == {}


def test_a_planted_name_would_be_found() -> None:
    names = names_of_the_corpus()
    assert {"id", "url", "site", "title"} <= set(names.values())
    for kind in ("id", "url", "site", "title"):
        planted = next(name for name in names if names[name] == kind)
        assert planted in found_in(f'if host == "{planted.upper()}":\n    return []\n', names)
