import datetime as dt
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.app.exchange import read_sources, to_opml, to_yaml
from monitor.app.source_form import SourceForm, checked_form, form_values
from monitor.domain.tables import Source
from monitor.work.triggers import CronSchedules

NOW = dt.datetime(2026, 2, 3, tzinfo=dt.UTC)
WRITERS = {"yaml": to_yaml, "opml": to_opml}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
words = texts.filter(bool)
urls = st.sampled_from(["https://gov.example/", "http://a.example:8080/路径?b=1&c=<2>", "https://例子.example/x"])
sections = st.fixed_dictionaries({"name": words, "url": urls})
fields = {
    "kind": st.sampled_from(["site", "feed"]),
    "focus_areas": st.lists(texts, max_size=3),
    "rules": texts,
    "sections": st.lists(sections, max_size=2),
    "schedule": st.sampled_from([None, "0 7 * * 1-5", "*/15 * * * *"]),
    "timezone": st.sampled_from([None, "Asia/Shanghai", "Europe/Berlin"]),
    "window_days": st.none() | st.integers(1, 3650),
    "max_items": st.none() | st.integers(1, 1000),
    "render": st.sampled_from([None, "auto", "always", "never"]),
    "keywords_include": st.lists(texts, max_size=3),
    "keywords_exclude": st.lists(texts, max_size=3),
    "allow_other_hosts": st.booleans(),
    "tags": st.lists(texts, max_size=3),
    "language": st.none() | texts,
    "summary_language": texts,
    "enabled": st.booleans(),
}
sources = st.fixed_dictionaries({"name": words, "url": urls}, optional=fields)


def form(values: Any) -> SourceForm:
    return checked_form(values, timezone="UTC", schedules=CronSchedules())


def there_and_back(given: list[SourceForm], kind: str) -> list[SourceForm]:
    written = WRITERS[kind]([Source(**one.model_dump(mode="python"), created_at=NOW) for one in given])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"sources.{kind}"
        file.write_text(written, encoding="utf-8", newline="")
        return [form(values) for values in read_sources(file)]


@pytest.mark.parametrize("kind", WRITERS)
@given(given_values=st.lists(sources, max_size=3))
@settings(max_examples=60, deadline=None)
def test_every_field_of_every_source_comes_back_as_it_was(kind: str, given_values: list[dict[str, Any]]) -> None:
    forms = [form(values) for values in given_values]
    assert there_and_back(forms, kind) == forms


@pytest.mark.parametrize("kind", WRITERS)
def test_a_standing_search_comes_back_as_it_was(kind: str) -> None:
    wanted = [
        form({"name": "a", "kind": "query", "url": "储能 “补贴” <1>"}),
        form({"name": "b", "kind": "query", "focus_areas": ["光伏", "gas & oil"]}),
    ]
    assert there_and_back(wanted, kind) == wanted


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    "name",
    [
        "国家能源局",
        "a\x00b\x1bc",
        "\ufffe\uffff",
        "\u202egnp.exe",
        "<!ENTITY x>&amp;]]>",
        "yes",
        "a: b #c",
        "\r\n\t",
        "🇨🇳",
    ],
)
def test_a_hostile_name_does_no_harm_and_comes_back(kind: str, name: str) -> None:
    wanted = form({"name": name, "url": "https://gov.example/", "tags": [name], "rules": name})
    assert there_and_back([wanted], kind) == [wanted]


def test_the_strategy_knows_every_field() -> None:
    assert {"name", "url", *fields} == set(SourceForm.model_fields)


def test_a_feed_reader_finds_name_and_address_in_the_opml() -> None:
    source = Source(
        **form({"name": "a\x00b", "url": "https://gov.example/", "kind": "feed"}).model_dump(), created_at=NOW
    )
    written = to_opml([source])
    assert 'text="a b" type="rss" xmlUrl="https://gov.example/"' in written
    assert form_values(source)["name"] == "a\x00b"
