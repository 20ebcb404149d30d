import datetime as dt
import io
import zipfile
from collections.abc import Mapping
from typing import Any

import openpyxl
import pytest

from monitor.db.tables.collection import Source
from monitor.errors import WorkFailed
from monitor.extract.office import extract_sheet_rows
from monitor.i18n.catalogue import render
from monitor.services.sources.exchange import parse_list
from monitor.services.sources.form import build_source
from monitor.services.sources.importing import ImportPlan, ImportStatus, plan_import
from monitor.services.sources.tables import MAX_IMPORT_SOURCES, SourceListFormat, parse_sheets

NOW = dt.datetime(2026, 2, 3, tzinfo=dt.UTC)


def build(values: Mapping[str, Any]) -> Source:
    return build_source(values, now=NOW, timezone="UTC")


def plan(kind: str, text: str, *existing: Mapping[str, Any]) -> ImportPlan:
    source_list = parse_list(text.encode(), SourceListFormat(kind), label="it")
    return plan_import(source_list, [build(values) for values in existing], build=build)


def rejected(made: ImportPlan) -> str:
    return made.format_rejected(lambda message: render(message, "en")).decode("utf-8-sig")


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


def write_workbook(*sheets: list[list[Any]]) -> bytes:
    file = openpyxl.Workbook(write_only=True)
    for rows in sheets:
        sheet = file.create_sheet()
        for row in rows:
            sheet.append(row)
    made = io.BytesIO()
    file.save(made)
    return made.getvalue()


def plan_workbook(content: bytes) -> ImportPlan:
    return plan_import(parse_sheets("it", extract_sheet_rows(content, max_chars=10_000)), [], build=build)


def test_wrong_rows_of_a_workbook_come_back_as_a_workbook_that_can_be_corrected() -> None:
    rows = [
        ["url", "name", "window_days", "tags", "enabled"],
        ["https://good.example/", "good", 7, "x; y", False],
        [],
        ["nowhere", "@sum", None, None, None],
        ["https://also.example/", None, None, None, None],
        ["https://many.example/", "many", 1, None, None, "beyond"],
    ]
    made = plan_workbook(write_workbook([], rows, [["notes"], ["of somebody"]]))
    good, also = made.sources
    assert (good.name, good.window_days, good.tags, good.enabled) == ("good", 7, ["x", "y"], False)
    assert also.name == "also.example"
    complaints = [entry.complaint.code for entry in made.entries if entry.complaint]
    assert complaints[1:] == ["source.sheet_cells", "source.other_sheet"]
    returned = made.format_rejected(lambda message: render(message, "en"))
    (sheet,) = openpyxl.load_workbook(io.BytesIO(returned)).worksheets
    assert [cell.value for cell in sheet[1] if cell.value] == ["reason", *rows[0]]
    assert "f" not in {cell.data_type for row in sheet.iter_rows() for cell in row}, "nothing became a formula"
    assert [row[1].value for row in sheet.iter_rows(min_row=2)] == ["nowhere", "https://many.example/", "Sheet2"]
    sheet["B2"].value = "https://nowhere.example/"
    corrected = io.BytesIO()
    sheet.parent.save(corrected)
    assert [source.name for source in plan_workbook(corrected.getvalue()).sources] == ["@sum"]


def test_a_hostile_workbook_is_refused() -> None:
    full = write_workbook([["url"], *[["x" * 1000]] * 20])
    with pytest.raises(WorkFailed, match="more than 10,000 characters"):
        extract_sheet_rows(full, max_chars=10_000)
    with pytest.raises(WorkFailed, match="BadZipFile"):
        extract_sheet_rows(b"PK\x03\x04 no archive", max_chars=10_000)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/sheet1.xml", "w") as entry:
        for _ in range(201):
            entry.write(bytes(2**20))
    with pytest.raises(WorkFailed, match="grows to more than"):
        extract_sheet_rows(bomb.getvalue(), max_chars=10_000)
