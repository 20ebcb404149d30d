"""The text of a report edited by hand: marked wherever it is shown, restored, and never overwritten unseen."""

import datetime as dt
import io
import re
import zipfile
from typing import Any

import pytest

from monitor.services.audit import Actor
from monitor.vocabulary import Role, Visibility
from tests.integration.web import researches
from tests.integration.web.conftest import Browser

NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)
QUOTE = "2026年1月绿电交易量为3亿元"
OWN = "据我们了解，交易量为9亿元[1]。"
API, PAGE = "/api/v1/research/r/text", "/research/r/edit"


@pytest.fixture
async def editor(desk: Any) -> Browser:
    await researches.put(desk.app, "r", at=NOON, quote=QUOTE)
    return await desk.sign_in("editor", language="en")


def fields(page: str) -> dict[str, Any]:
    """What a browser without scripts would send of the form."""
    unescape = lambda text: text.replace("&#34;", '"').replace("&lt;", "<").replace("&amp;", "&")  # noqa: E731
    sections = re.findall(r'<textarea[^>]*name="section"[^>]*>\n?(.*?)</textarea>', page, re.DOTALL)
    hidden = re.search(r'name="version" value="(\d+)"', page)
    title = re.search(r'name="title"[^>]*value="([^"]*)"', page) or re.search(r'value="([^"]*)"[^>]*name="title"', page)
    assert hidden is not None
    assert title is not None
    return {"version": hidden[1], "title": unescape(title[1]), "section": [unescape(text) for text in sections]}


async def test_what_an_editor_writes_is_marked_in_the_page_and_in_every_format(desk: Any, editor: Browser) -> None:
    form = fields((await editor.get(PAGE)).text)
    assert [section.partition("\n")[0] for section in form["section"]] == ["## 背景", "## 最新进展", "## 影响", ""]
    form["section"][0] += f"\n\n{OWN}<script>alert(1)</script>"
    form["section"][2] = ""
    assert (await editor.post(PAGE, {**form, "do": "save"})).status_code == 303
    page = (await editor.get("/research/r")).text
    assert "据我们了解，交易量为9亿元‡" in page
    assert "<script>alert(1)" not in page
    said = re.search(r"本报告经编辑：(editor, [^<]*)", page)
    assert said is not None, "who edited it, and when"
    own = re.search(r'9亿元‡<a class="cite"[^>]*data-card="([^"]*)"', page)
    assert own is not None
    card = page.partition(f'id="{own[1]}"')[2].partition("</div>")[0]
    assert "badge" not in card, "no verdict on what nobody judged"
    verified = (await editor.get("/research/r?text=verified")).text
    assert "9亿元" not in verified
    assert "影响" in verified
    for form_name in ("md", "html", "docx"):
        for text, has_own in (("edited", True), ("verified", False)):
            answer = await editor.get(f"/api/v1/research/r/report.{form_name}?text={text}")
            assert answer.status_code == 200, answer.text
            content = answer.content
            if form_name == "docx":
                with zipfile.ZipFile(io.BytesIO(content)) as archive:
                    content = archive.read("word/document.xml")
            shown = re.sub(r"<[^>]+>", "", content.decode())
            assert ("9亿元‡" in shown) is has_own, form_name
            assert ("本报告经编辑：editor, " in shown) is has_own, form_name
            assert QUOTE in shown
    view = (await editor.get("/api/v1/research/r")).json()
    assert "9亿元" not in view["report"]["markdown"], "verdicts and questions are about the verified text"


async def test_two_editors_do_not_overwrite_each_other_and_every_version_can_be_restored(
    desk: Any, editor: Browser
) -> None:
    other = await desk.sign_in("admin", language="en")
    mine, theirs = fields((await editor.get(PAGE)).text), fields((await other.get(PAGE)).text)
    theirs["section"][0] += "\n\n由他人写下。"
    assert (await other.post(PAGE, {**theirs, "do": "save"})).status_code == 303
    unsaved = await editor.post(PAGE, {**mine, "do": "verified-0"})
    assert fields(unsaved.text)["version"] == "0", "what is not saved yet is still made of what was seen"
    mine["section"][1] += f"\n\n{OWN}"
    overtaken = await editor.post(PAGE, {**mine, "do": "save"})
    assert overtaken.status_code == 409
    assert "由他人写下。" in overtaken.text, "theirs is beside"
    shown = fields(overtaken.text)
    assert OWN in shown["section"][1], "mine is not lost"
    assert (await editor.post(PAGE, {**shown, "do": "save"})).status_code == 303
    back = fields((await editor.get(PAGE)).text)
    assert (await editor.post(PAGE, {**back, "do": "restore-1"})).status_code == 303
    found = (await editor.get(API)).json()
    assert [entry["editedBy"] for entry in found["versions"]] == ["admin", "editor", "editor"]
    assert [(entry["text"], entry["version"]) for entry in found["own"]] == [("由他人写下。", 1)]
    assert (await editor.post(PAGE, {**fields((await editor.get(PAGE)).text), "do": "restore-0"})).status_code == 303
    assert "‡" not in (await editor.get("/research/r")).text
    assert [entry["isVerified"] for entry in (await editor.get(API)).json()["versions"]] == [False] * 3 + [True]


async def test_what_is_typed_and_not_saved_is_kept_as_a_version_before_an_earlier_one_is_restored(
    editor: Browser,
) -> None:
    first = fields((await editor.get(PAGE)).text)
    first["section"][0] += "\n\n第一版。"
    await editor.post(PAGE, {**first, "do": "save"})
    typed = fields((await editor.get(PAGE)).text)
    typed["section"][1] += f"\n\n{OWN}"
    answer = await editor.post(PAGE, {**typed, "do": "restore-0"})
    assert answer.status_code == 303
    assert "What you had typed is kept as a version." in (await editor.get(answer.headers["location"])).text
    view = (await editor.get(API)).json()
    assert [entry["isVerified"] for entry in view["versions"]] == [False, False, True]
    assert view["markdown"] == view["verified"]
    assert OWN in (await editor.get(f"{API}?version=2")).json()["markdown"]
    emptied = {**fields((await editor.get(PAGE)).text), "section": [""], "do": "restore-2"}
    assert (await editor.post(PAGE, emptied)).status_code == 303
    assert OWN in (await editor.get(API)).json()["markdown"]


async def test_a_section_is_put_back_in_the_form_and_nothing_is_saved_before_save(editor: Browser) -> None:
    form = fields((await editor.get(PAGE)).text)
    kept, form["section"][1], form["section"][2] = form["section"][1], "## 最新进展\n\n别的话。", ""
    page = (await editor.post(PAGE, {**form, "do": "verified-1"})).text
    assert fields(page)["section"] == [form["section"][0], kept, ""]
    assert "影响" in page.partition("Left out")[2]
    page = (await editor.post(PAGE, {**fields(page), "do": "verified-2"})).text
    assert fields(page)["section"][2].startswith("## 影响")
    assert (await editor.get(API)).json()["version"] == 0
    wrong = await editor.post(PAGE, {**form, "title": "", "do": "save"})
    assert (wrong.status_code, fields(wrong.text)["section"][1]) == (400, "## 最新进展\n\n别的话。")


async def test_a_program_edits_the_text_of_a_version_that_it_has_seen(desk: Any, editor: Browser) -> None:
    program = await desk.program("editor")
    text = (await program.get(API)).json()
    assert (text["version"], text["markdown"], text["own"]) == (0, text["verified"], [])
    changed = {"version": 0, "markdown": text["markdown"].replace(QUOTE, "交易量不明")}
    saved = await program.put(API, json=changed)
    assert saved.status_code == 200, saved.text
    assert (saved.json()["version"], saved.json()["leftOut"] > 0) == (1, True)
    assert (await program.put(API, json=changed)).status_code == 409
    for wrong in ({"version": 1}, {"version": 1, "markdown": "# x\n\ny", "restore": 0}):
        assert (await program.put(API, json=wrong)).status_code == 422
    assert (await program.put(API, json={"version": 1, "markdown": "no title"})).status_code == 400
    assert (await program.put(API, json={"version": 1, "restore": 7})).status_code == 404
    assert (await program.put(API, json={"version": 1, "restore": 0})).json()["markdown"] == text["verified"]
    (earlier,) = [await program.get(f"{API}?version=1")]
    assert "交易量不明" in earlier.json()["markdown"]
    reader = await desk.program("reader")
    assert (await reader.put(API, json=changed)).status_code == 403
    assert (await reader.get(API)).status_code == 200
    owner = Actor("editor", Role.EDITOR)
    await desk.app.research.share("r", Visibility.PRIVATE, by=owner)
    assert (await reader.get(API)).status_code == 404
    assert (await program.put(API, json={"version": 2, "restore": 1})).status_code == 404
    actions = [entry.action for entry in await desk.app.audit.list_entries(action="research.edit")]
    assert len(actions) == 2
