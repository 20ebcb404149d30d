import datetime as dt
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.db.tables.collection import Source
from monitor.errors import UsageError
from monitor.exports.document import normalize_line
from monitor.extract.office import extract_sheet_rows
from monitor.i18n.catalogue import render
from monitor.services.sources.exchange import detect_format, format_sources, parse_list
from monitor.services.sources.form import SourceForm, dump_form_values, validate_form
from monitor.services.sources.tables import MAX_IMPORT_SOURCES, SourceListFormat, SourceRow, parse_sheets

NOW = dt.datetime(2026, 2, 3, tzinfo=dt.UTC)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
words = texts.filter(normalize_line)
urls = st.sampled_from(["https://gov.example/", "http://a.example:8080/路径?b=1&c=<2>", "https://例子.example/x"])
sections = st.fixed_dictionaries({"name": words, "url": urls})
recipes = st.fixed_dictionaries(
    {
        "url": urls,
        "how": st.fixed_dictionaries(
            {"kind": st.just("json"), "url": urls, "title": st.lists(texts, min_size=1, max_size=2)},
            optional={"rows": st.lists(texts, max_size=2), "link_template": texts},
        ),
        "taught_by": st.sampled_from(["person", "discovery"]),
        "taught_at": st.just("2026-02-03T07:00:00Z"),
    }
)
steps = st.sampled_from(
    [
        'fill a[name="x;y"] with text  a; b\\',
        "fill #p with secret MEMBERS_PASSWORD",
        {"kind": "fill", "selector": " #u ", "value": "=with text"},
        "click .a\\:b:has-text('登录')",
        "wait for #ok",
    ]
)
fields = {
    "recipes": st.lists(recipes, max_size=2),
    "steps": st.lists(steps, max_size=4),
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


def open_first(source: dict[str, Any]) -> dict[str, Any]:
    """The source with the page at which its steps begin."""
    return {**source, "steps": [f"open {source['url']}", *source["steps"]]} if source.get("steps") else source


sources = st.fixed_dictionaries({"name": words, "url": urls}, optional=fields).map(open_first)


def read(kind: str, content: bytes) -> list[SourceRow]:
    if kind == "xlsx":
        return list(parse_sheets("it", extract_sheet_rows(content, max_chars=10**6)).rows)
    return list(parse_list(content, SourceListFormat(kind), label="it").rows)


def form(values: Any) -> SourceForm:
    return validate_form(values, timezone="UTC")


def there_and_back(given: list[SourceForm], kind: str) -> list[SourceForm]:
    rows = [Source(**entry.model_dump(mode="python"), created_at=NOW) for entry in given]
    return [form(row.values) for row in read(kind, format_sources(rows, SourceListFormat(kind)))]


@pytest.mark.parametrize("kind", SourceListFormat)
@given(given_values=st.lists(sources, max_size=3))
@settings(max_examples=60, deadline=None)
def test_every_field_of_every_source_comes_back_as_it_was(kind: str, given_values: list[dict[str, Any]]) -> None:
    forms = [form(values) for values in given_values]
    assert there_and_back(forms, kind) == forms


@pytest.mark.parametrize("kind", SourceListFormat)
def test_a_standing_search_comes_back_as_it_was(kind: str) -> None:
    wanted = [
        form({"name": "a", "kind": "query", "url": "储能 “补贴” <1>"}),
        form({"name": "b", "kind": "query", "focus_areas": ["光伏", "gas & oil"]}),
    ]
    assert there_and_back(wanted, kind) == wanted


@pytest.mark.parametrize("kind", SourceListFormat)
@pytest.mark.parametrize(
    "name",
    [
        "国家能源局",
        "a\x00b\x1bc",
        "\ufffea\uffff",
        "\u202egnp.exe",
        "<!ENTITY x>&amp;]]>",
        "yes",
        "a: b #c",
        "\ra\n\tb",
        "=1+1",
        "'=1+1",
        "''a",
        "-a; b\\;",
        "a,b\tc",
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
    written = format_sources([source], SourceListFormat.OPML).decode()
    assert 'text="a b" type="rss" xmlUrl="https://gov.example/"' in written
    assert dump_form_values(source)["name"] == "a b"


def test_a_spreadsheet_of_addresses_alone_names_the_sources_after_their_hosts() -> None:
    (row,) = read("csv", "\ufeffURL;Tags\r\nhttps://www.gov.example/;能源\r\n".encode())
    assert row.values == {"url": "https://www.gov.example/", "tags": ["能源"], "name": "gov.example"}


def test_a_spreadsheet_saved_in_china_is_read() -> None:
    content = "name,url,focus_areas\n能源局,https://a.example/,政策; 数据\n".encode("gb18030")
    (row,) = read("csv", content)
    assert (row.values["name"], row.values["focus_areas"]) == ("能源局", ["政策", "数据"])


def test_no_cell_of_an_export_is_a_formula() -> None:
    source = form({"name": "=cmd", "url": "https://a.example/", "rules": "@x", "tags": ["+1", "-2"]})
    rows = [Source(**source.model_dump(mode="python"), created_at=NOW)]
    written = format_sources(rows, SourceListFormat.CSV).decode("utf-8-sig")
    assert "'=cmd" in written
    assert ",=" not in written
    assert ",@" not in written
    assert ",+" not in written


@pytest.mark.parametrize(
    ("kind", "content", "complaint"),
    [
        ("csv", b"", "a line of column names"),
        ("csv", b"a,b\n1,2\n", "a line of column names"),
        ("csv", b'"name,url\na,b\n', "is not CSV"),
        ("csv", b"\xff\xfe\xff", "neither UTF-8 nor GB 18030"),
        ("yaml", b"a: [", "is not YAML"),
        ("yaml", b"[" * 100_000, "is not YAML"),
        ("yaml", b"\xff", "is not YAML"),
        ("yaml", b"1", "contains no list of sources"),
        ("opml", b"<opml>", "is not OPML"),
        ("yaml", b"- {a: 1}\n" * (MAX_IMPORT_SOURCES + 1), "at most 5,000"),
        ("csv", b"x" * (2 * 1024 * 1024 + 1), "larger than 2 MB"),
    ],
)
def test_what_is_no_list_of_sources_is_told_in_one_sentence(kind: str, content: bytes, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        parse_list(content, SourceListFormat(kind), label="it")


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    bomb = "\n".join([*lines, "sources: [{name: *a11, url: *a11, tags: *a11}]"])
    with pytest.raises(UsageError, match="is not YAML"):
        parse_list(bomb.encode(), SourceListFormat.YAML, label="it")


@pytest.mark.parametrize(("name", "kind"), [("a.OPML", "opml"), ("a.xml", "opml"), ("a.csv", "csv"), ("a", "yaml")])
def test_the_name_of_a_file_tells_its_form(name: str, kind: str) -> None:
    assert detect_format(name) == kind


RECIPE = {
    "url": "https://gov.example/news/?b=1;2",
    "how": {"kind": "list", "steps": ["ul.list", "li.", "a."], "link_steps": ["a."], "heading": "通知; 公告\\"},
    "taught_by": "person",
    "taught_at": "2026-02-03T07:00:00Z",
    "examples": ["https://gov.example/news/1.html"],
}


@pytest.mark.parametrize("kind", SourceListFormat)
def test_what_was_taught_of_a_section_comes_back_as_it_was(kind: str) -> None:
    wanted = form({"name": "a", "url": "https://gov.example/", "recipes": [RECIPE]})
    (found,) = there_and_back([wanted], kind)
    assert found.recipes == wanted.recipes
    assert found.recipes[0].examples == RECIPE["examples"]


def test_of_two_recipes_for_one_section_the_last_counts() -> None:
    other = {**RECIPE, "url": "http://www.gov.example/news/?b=1;2", "taught_by": "model"}
    assert [
        kept.taught_by for kept in form({"name": "a", "url": "https://a.example/", "recipes": [RECIPE, other]}).recipes
    ] == ["model"]


@pytest.mark.parametrize(
    ("cell", "field"),
    [
        ("not JSON", "recipes:"),
        ('{"url": "https://a.example/"}', "recipes:"),
        (
            '[{"url": "https://a.example/", "taught_by": "person", "taught_at": "2026-02-03T07:00:00Z"}]',
            "recipes.0.how",
        ),
        (json.dumps([{**RECIPE, "url": "ftp://a.example/"}]), "recipes"),
    ],
)
def test_a_recipe_that_is_none_is_told_by_its_place(cell: str, field: str) -> None:
    quoted = cell.replace('"', '""')
    (row,) = read("csv", f'name,url,recipes\na,https://a.example/,"{quoted}"\n'.encode())
    with pytest.raises(UsageError) as refused:
        form(row.values)
    assert field in render(refused.value.message, "en")
