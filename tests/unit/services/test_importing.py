import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest

from monitor.db.tables.collection import Source
from monitor.i18n.catalogue import render
from monitor.services.sources.exchange import MAX_IMPORT_SOURCES, SourceListFormat, parse_list
from monitor.services.sources.form import build_source
from monitor.services.sources.importing import ImportPlan, ImportStatus, plan_import

NOW = dt.datetime(2026, 2, 3, tzinfo=dt.UTC)


def build(values: Mapping[str, Any]) -> Source:
    return build_source(values, now=NOW, timezone="UTC")


def plan(kind: str, text: str, *existing: Mapping[str, Any]) -> ImportPlan:
    source_list = parse_list(text.encode(), SourceListFormat(kind), label="it")
    return plan_import(source_list, [build(values) for values in existing], build=build)


def rejected(made: ImportPlan) -> str:
    return made.format_rejected(lambda message: render(message, "en"))


CSV = """name,url,tags
good,https://good.example/,x
"left open,https://open.example/,
too many,https://many.example/,x,y
no address,,
also good,https://also.example/,"a
b"
"""
YAML = """# my list
sources:
  - name: good
    url: https://good.example/
  - name: "left open
    url: https://open.example/
  - https://bare.example/
  - name: no address
    window_days: many
  - {name: also good, url: "https://also.example/"}
"""
OPML = """<opml version="2.0"><body>
<outline text="good" url="https://good.example/"/>
<outline text="Oil & gas" xmlUrl="https://gas.example/feed"/>
<outline text="no address"/>
<outline text="also good" xmlUrl="https://also.example/feed"/>
</body></opml>"""


@pytest.mark.parametrize(("kind", "text", "wrong"), [("csv", CSV, 3), ("yaml", YAML, 3), ("opml", OPML, 2)])
def test_a_wrong_row_costs_no_other_and_comes_back_in_the_same_form(kind: str, text: str, wrong: int) -> None:
    made = plan(kind, text)
    assert [source.name for source in made.sources] == ["good", "also good"]
    assert made.count(ImportStatus.WRONG) == wrong
    again = plan(kind, rejected(made))
    assert again.sources == []
    assert len(again.entries) == wrong, "what comes back has the wrong rows and no other"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("csv", "url,name\nnowhere,=1+1\n"),
        ("yaml", "- {name: '=1+1', url: nowhere, tags: [x]}\n"),
        ("opml", '<opml><body><outline text="=1+1" url="nowhere"/></body></opml>'),
    ],
)
def test_a_row_that_came_back_is_taken_once_it_is_mended(kind: str, text: str) -> None:
    returned = rejected(plan(kind, text))
    assert ",=1+1" not in returned
    (source,) = plan(kind, returned.replace("nowhere", "https://there.example/")).sources
    assert (source.name, source.url) == ("=1+1", "https://there.example/")


def test_what_exists_is_skipped_under_whatever_name_and_a_name_of_another_is_refused() -> None:
    there = {"name": "a", "url": "https://a.example/"}
    rows = ["a,http://www.a.example,", "b,https://a.example/,", "a,https://b.example/,", "c,https://a.example/,x"]
    text = "\n".join(["name,url,focus_areas", *rows, "d,https://a.example/,x"])
    made = plan("csv", text, there)
    assert [str(entry.newness) for entry in made.entries] == ["known", "known", "wrong", "new", "known"]
    assert render(made.entries[4].complaint, "en") == "It exists as 'c'."
    assert rejected(made).count("\r\n") == 2


def test_folders_of_a_feed_reader_become_tags_and_stay_with_what_comes_back() -> None:
    made = plan(
        "opml",
        """<opml><body><outline text="能源"><outline text="电力">
        <outline text="x" xmlUrl="https://x.example/feed"/><outline text="y" xmlUrl="nowhere"/></outline></outline>
        <outline text="z" url="https://z.example/"/></body></opml>""",
    )
    assert [(source.name, source.tags) for source in made.sources] == [("x", ["能源", "电力"]), ("z", [])]
    (source,) = plan("opml", rejected(made).replace("nowhere", "https://y.example/feed")).sources
    assert (source.name, source.tags) == ("y", ["能源", "电力"])


def test_folders_of_a_file_that_is_no_xml_become_tags_too() -> None:
    made = plan(
        "opml",
        """<opml><body><outline text="A & B"><outline text="x" url="https://x.example/"/></outline>
        <outline text="C"><outline text="y" url="https://y.example/"/></outline></body></opml>""",
    )
    assert [(source.name, source.tags) for source in made.sources] == [("x", []), ("y", ["C"])]
    assert made.count(ImportStatus.WRONG) == 1


def test_a_file_of_open_quotes_ends() -> None:
    with pytest.raises(Exception, match=f"{MAX_IMPORT_SOURCES:,}"):
        plan("csv", "name,url\n" + '"x\n' * (MAX_IMPORT_SOURCES + 50))
