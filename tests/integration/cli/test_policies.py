"""`monitor policies`: listed, shown, put right, and read anew, as typed."""

import asyncio
import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from monitor.db.database import Store
from monitor.db.tables.collection import Item

DOCUMENTS = (
    (
        "关于公开征求《储能管理办法（征求意见稿）》意见的公告",
        "第一条 制定本办法。\n第二条 补偿标准为60元。\n请于2026年1月15日前反馈意见。",
    ),
    (
        "国家能源局关于印发《储能管理办法》的通知",
        "第一条 制定本办法。\n第二条 补偿标准为80元。\n第三条 自2026年7月1日起施行。",
    ),
    ("国家能源局召开座谈会", "会议交流了经验。"),
)


@pytest.fixture
def program(typed: Callable[[list[str]], Any], tmp_path: Path) -> Callable[..., Any]:
    """The program, with an archive of three items that was never read for policies."""
    assert typed(["init"]).code == 0

    async def gather() -> None:
        async with Store.open(f"sqlite:///{tmp_path / 'data' / 'monitor.db'}") as store:
            for number, (title, text) in enumerate(DOCUMENTS, start=1):
                item = Item(
                    source="局",
                    run_id="r",
                    section="s",
                    url=f"https://a{number}.gov/1",
                    url_key="",
                    title=title,
                    issuer="国家能源局",
                    date=dt.date(2026, number, 1),
                    first_seen=dt.datetime(2026, number, 2, tzinfo=dt.UTC),
                )
                saved, _ = await store.items.save(item)
                await store.items.update(saved.id or 0, text=text)

    asyncio.run(gather())
    return lambda *words: typed(list(words))


def test_an_archive_is_read_and_its_policies_are_shown(program: Callable[..., Any]) -> None:
    assert "no such policy" in program("policies", "list").err
    assert "3 documents" in program("policies", "refresh").out
    [policy] = program("policies", "list", "--text", "储能", "--json").document["policies"]
    assert (policy["name"], policy["stage"], policy["documents"]) == ("储能管理办法", "final", 2)
    file = program("policies", "show", str(policy["id"]), "--changes", "--json").document
    assert [member["id"] for member in file["members"]] == [1, 2]
    assert file["members"][1]["reason_code"] == "policy.by_name"
    assert "第二条" in {edit["article"] for edit in file["comparison"]["edits"]}
    shown = program("policies", "show", str(policy["id"]), "--changes").out
    assert "has the same name" in shown
    assert "+ 补偿标准为80元。" in shown
    item = program("items", "show", "2", "--json").document
    assert (item["policy"], item["facts"]["stage"]) == ({"id": policy["id"], "name": "储能管理办法"}, "final")
    assert "in_force         2026-07-01" in program("items", "show", "2").out


def test_a_person_puts_items_in_and_takes_them_out(program: Callable[..., Any]) -> None:
    program("policies", "refresh")
    assert program("policies", "join", "1", "3").code == 0
    assert program("policies", "separate", "1", "1").code == 0
    assert [member["id"] for member in program("policies", "show", "1", "--json").document["members"]] == [2, 3]
    refused = program("policies", "show", "9")
    assert (refused.code, refused.complaint) == (2, "There is no policy 9.")
