"""What a run tells while it is at work: where it is, what it read and saved, what it asked, and what fell back."""

from typing import Any

from monitor.i18n.catalogue import render
from monitor.sweep.progress import Progress
from monitor.vocabulary import EventKind

OLD = (400, 410, 420, 430, 440, 450)


def of_kind(reported: list[Progress], kind: EventKind) -> list[Progress]:
    return [progress for progress in reported if progress.kind is kind]


async def test_a_run_tells_of_its_phases_sections_pages_items_and_calls(bureau: Any, model: Any) -> None:
    rows = bureau.rows(0, 1, *OLD)
    bureau.show(rows)
    page = bureau.site.url("/news/")
    model.calls(("browse_page", {"url": page}))
    model.calls(("save_result", {"title": rows[0].text, "url": bureau.site.url(rows[0].path), "type": "通知"}))
    reported: list[Progress] = []
    run = await bureau.sweep(on_progress=reported.append)

    phases = [(str(progress.phase), progress.done, progress.total) for progress in of_kind(reported, EventKind.PHASE)]
    assert phases == [
        ("navigate", 0, None),
        ("navigate", 1, 1),
        ("crawl", 0, 1),
        ("summarise", 0, 2),
        ("summarise", 1, 2),
        ("summarise", 2, 2),
        ("rank", 0, 2),
        ("rank", 2, 2),
    ]
    begun, ended = of_kind(reported, EventKind.SECTION)
    assert (begun.place, begun.ordinal, begun.ended) == ("通知公告", 0, None)
    assert (ended.ended, ended.pages, ended.candidates, ended.saved) == (run.sections[0].ended, 1, len(rows), 2)
    (read,) = of_kind(reported, EventKind.PAGE)
    assert (read.url, read.candidates, read.reason) == (page, len(rows), None)
    assert {progress.title for progress in of_kind(reported, EventKind.SAVED)} == {item.title for item in run.items}
    assert {progress.item_id for progress in of_kind(reported, EventKind.SAVED)} == {item.id for item in run.items}

    asked, answered = of_kind(reported, EventKind.ASKED), of_kind(reported, EventKind.ANSWERED)
    assert len(asked) == len(answered) == len(model.requests) == run.usage.calls
    assert sum(value.tokens or 0 for value in answered) == run.usage.prompt_tokens + run.usage.completion_tokens
    assert {progress.outcome for progress in answered} == {"ok"}
    fell = [
        (str(entry.phase), entry.place, render(entry.reason, "en")) for entry in of_kind(reported, EventKind.FALLBACK)
    ]
    assert sorted(fell) == sorted(
        (str(fallback.phase), fallback.where, render(fallback.reason, "en")) for fallback in run.fallbacks
    )
    assert fell


async def test_a_run_tells_of_a_page_that_it_cannot_read_and_of_a_call_that_failed(
    bureau: Any, model: Any, reply: Any
) -> None:
    bureau.show(bureau.rows(0, 1, *OLD))
    bureau.site.on("/v1/chat/completions", reply('{"error": {"message": "bad key"}}', 401))
    reported: list[Progress] = []
    await bureau.sweep(on_progress=reported.append)
    assert of_kind(reported, EventKind.ANSWERED)[0].outcome == "auth"
    bureau.site.on("/news/", reply("gone", 500))
    reported.clear()
    await bureau.sweep(on_progress=reported.append)
    (unread,) = of_kind(reported, EventKind.PAGE)
    assert render(unread.reason, "en").startswith("BadGateway")
