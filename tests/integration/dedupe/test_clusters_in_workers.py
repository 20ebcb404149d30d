import datetime as dt

import pytest

from monitor.db.tables.collection import Item
from monitor.dedupe import clusters
from monitor.dedupe.clusters import DocumentCluster, cluster_in_workers, cluster_items
from monitor.isolation.pool import WorkerPool

SUBJECTS = (
    "农村公路养护",
    "城市燃气管道改造",
    "直播电商经营行为",
    "公共数据授权运营",
    "河湖生态流量监测",
    "储能电站安全",
)


def make_items(count: int) -> tuple[list[Item], dict[int, str]]:
    """Items of which every third is a copy of the one before it, and every fifth explains it."""
    items, texts = [], {}
    for number in range(1, count + 1):
        of = number - 1 if number % 3 == 0 or number % 5 == 0 else number
        title = f"关于做好第{of}批{SUBJECTS[of % len(SUBJECTS)]}工作的通知"
        if number % 5 == 0:
            title = f"《{title}》解读"
        else:
            texts[number] = (
                f"现将第{of}批{SUBJECTS[of % len(SUBJECTS)]}有关事项通知如下，请于{of % 28 + 1}日前报送材料。" * 3
            )
        url = f"https://s{number}.example/{number}"
        items.append(
            Item(
                id=number,
                run_id="run",
                source=f"第{number}局",
                section="",
                url=url,
                url_key=url,
                title=title,
                date=dt.date(2026, 2, 3),
                first_seen=dt.datetime(2026, 2, 3, 8, tzinfo=dt.UTC),
            )
        )
    return items, texts


def shape_of(found: list[DocumentCluster]) -> list[object]:
    return [([item.id for item in each.items], shape_of(list(each.interpretations))) for each in found]


async def test_pieces_in_workers_give_what_one_piece_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "_BATCH_ITEMS", 7)
    monkeypatch.setattr(clusters, "_BATCH_PAIRS", 5)
    items, texts = make_items(60)
    workers = WorkerPool(size=2)
    try:
        found = await cluster_in_workers(items, texts, workers)
    finally:
        await workers.close()
    assert shape_of(found) == shape_of(cluster_items(items, texts))
    assert len(found) < 50


async def test_where_no_worker_answers_each_item_is_a_document_in_its_place() -> None:
    items, texts = make_items(9)
    workers = WorkerPool(size=1)
    await workers.close()
    assert shape_of(await cluster_in_workers(items, texts, workers)) == [([number], []) for number in range(1, 10)]
