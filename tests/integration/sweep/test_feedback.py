"""What people say of ranks, honoured by the next run, and by its replay whatever they say afterwards."""

import datetime as dt
from pathlib import Path
from typing import Any

from monitor.vocabulary import RankDirection
from tests.integration.sweep.test_recording import OLD, replayed


async def test_feedback_on_an_item_moves_those_like_it_in_the_next_run(bureau: Any, tmp_path: Path) -> None:
    old = bureau.rows(0, 1, *OLD)
    old[0].title, old[1].title = "关于开展储能检查的通知", "关于受理甲项目申请的公告"
    bureau.show(old)
    first = await bureau.sweep()
    assert [item.title for item in first.items] == [old[0].title, old[1].title]
    marks = bureau.store.marks
    (notice, _) = first.items
    await marks.save_feedback("wang", notice.id, RankDirection.LOWER, at=bureau.clock.now())

    bureau.clock.today += dt.timedelta(days=1)
    new = bureau.rows(0, 1, first=500)
    new[0].title, new[1].title = "关于开展光伏检查的通知", "关于受理乙项目申请的公告"
    bureau.show([*new, *old])
    run = await bureau.sweep()
    placed = [(item.title, item.moved) for item in await bureau.store.items.list_for_run(run.run_id)]
    assert placed == [(new[1].title, None), (new[0].title, RankDirection.LOWER)]

    assert (await replayed(bureau, tmp_path, run.run_id)).differences == []
    await marks.save_feedback("wang", notice.id, RankDirection.HIGHER, at=bureau.clock.now())
    replay = await replayed(bureau, tmp_path, run.run_id)
    assert (replay.differences, replay.is_briefing_identical) == ([], True)
