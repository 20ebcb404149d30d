"""What a person is shown of the changes of an item's page."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from monitor.db.database import Store
from monitor.db.tables.collection import Item, Run
from monitor.db.tables.evidence import ItemSnapshot, Revision
from monitor.page import ChangeKind, EditOperation, PageEdit, PagePart, PageSnapshot

AT = datetime(2026, 11, 20, 4, tzinfo=UTC)
URL = "https://example.gov/1.html"


async def kept(folder: Path) -> int:
    """An item with one revision, in the installation in a folder; answers its number."""
    async with Store.open(f"sqlite:///{folder / 'data' / 'monitor.db'}") as store:
        await store.check()
        await store.runs.create(Run(id="r", source="总署", planned_at=AT))
        item, _ = await store.items.save(
            Item(run_id="r", source="总署", section="法规", url=URL, title="管理办法", first_seen=AT)
        )
        edits = [
            PageEdit(
                op=EditOperation.CHANGED,
                part=PagePart.ARTICLE,
                article="第七条",
                before="罚款一万元。",
                after="罚款二万元。",
            ),
            PageEdit(op=EditOperation.ADDED, part=PagePart.ATTACHMENT, after="名单\x1b[31m.pdf"),
        ]
        revision = Revision(
            item_id=item.id or 0,
            run_id="r",
            seen_at=AT,
            kind=ChangeKind.CHANGED,
            edits=[edit.model_dump(mode="json") for edit in edits],
        )
        view = ItemSnapshot.from_page(item.id or 0, "r", PageSnapshot(url=URL, seen_at=AT))
        await store.revisions.save(view, revision=revision, text="第七条　罚款二万元。")
        return item.id or 0


async def test_an_item_is_shown_with_its_revisions(here: Any, tmp_path: Path) -> None:
    assert (await here("init")).code == 0
    number = str(await kept(tmp_path))
    shown = (await here("items", "show", number)).out
    assert "第七条 changed; attachment" in shown
    assert "  - 罚款一万元。\n  + 罚款二万元。" in shown
    assert "\x1b" not in shown, "what a page says gives the terminal no orders"
    (revision,) = (await here("items", "show", number, "--json")).document["revisions"]
    assert (revision["kind"], revision["edits"][0]["article"]) == ("changed", "第七条")
    assert revision["said"].startswith("第七条 changed")
