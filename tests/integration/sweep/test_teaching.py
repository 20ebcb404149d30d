"""People and the model show which list of a page is a section's; it is read so until the page is rebuilt."""

import datetime as dt
import json
from collections.abc import Sequence
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.db.tables.collection import Source
from monitor.db.tables.delivery import AlarmKind
from monitor.errors import Forbidden, NotFound, UsageError, WorkFailed
from monitor.i18n.catalogue import render
from monitor.pages.documents import DocumentReader
from monitor.pages.loader import Loader
from monitor.recipe import Teacher
from monitor.services.audit import COMMAND_LINE, Actor, AuditService
from monitor.services.sources.exchange import read_list
from monitor.services.sources.loading import SourceLoaders
from monitor.services.sources.service import SourceService
from monitor.services.sources.tables import SourceListFormat
from monitor.services.sources.teaching import TeachingService
from monitor.vocabulary import Role, RunStatus
from tests.integration.sweep.conftest import Row, article_html

NOTICES = range(100, 108)
FORMS = range(300, 304)
REBUILT = '<div class="portal-2027"><section class="downloads-box">{}</section></div>'


def rows_of(numbers: Sequence[int], days: Sequence[dt.date | None]) -> list[Row]:
    return [Row(number, day) for number, day in zip(numbers, days, strict=True)]


def publish(
    bureau: Any,
    forms: Sequence[Row],
    *,
    box: str = '<div class="side"><h3>表格下载</h3><ul>{}</ul></div>',
    tag: str = "li",
) -> None:
    """A page with a list of notices, dated, and beside it the short list that a client cares about, undated."""
    today = bureau.clock.today
    notices = rows_of(NOTICES, [today - dt.timedelta(1 + place) for place in range(len(NOTICES))])
    listed = "".join(f'<li><a href="{row.path}">{row.text}</a><span>{row.day}</span></li>' for row in notices)
    shown = "".join(f'<{tag}><a href="/files/{row.number}.html">{row.text}</a></{tag}>' for row in forms)
    page = f'<div class="main"><h2>通知公告</h2><ul class="list">{listed}</ul></div>{box.format(shown)}'
    bureau.site.on("/news/", f"<html><head><title>通知公告</title></head><body>{page}</body></html>")
    for row in notices:
        bureau.site.on(row.path, article_html(row))
    for row in forms:
        bureau.site.on(f"/files/{row.number}.html", article_html(row))


@pytest.fixture
def forms(bureau: Any) -> list[Row]:
    today = bureau.clock.today
    return rows_of(FORMS, [today - dt.timedelta(place) for place in range(len(FORMS))])


@pytest.fixture
async def teaching(bureau: Any, tmp_path: Any) -> Any:
    settings: Settings = bureau.settings
    async with Loader.from_settings(
        pages=settings.pages, network=settings.network, clock=bureau.clock, workers=bureau.workers
    ) as loader:
        loaders = SourceLoaders(new_loader=loader.for_run, build_log_in=lambda _: None)
        yield TeachingService(store=bureau.store, clock=bureau.clock, source_loaders=loaders)


async def add_source(bureau: Any) -> Source:
    section = {"name": "通知公告", "url": bureau.site.url("/news/")}
    values = {"name": bureau.name, "url": bureau.site.url("/"), "sections": [section]}
    return await bureau.store.sources.add(Source(**values, created_at=bureau.clock.now()))


async def teach(
    bureau: Any, teaching: TeachingService, *numbers: int, save: bool = True, by: Actor = COMMAND_LINE
) -> Any:
    source = await bureau.store.sources.get(bureau.name) or await add_source(bureau)
    examples = [bureau.site.url(f"/files/{number}.html") for number in numbers]
    return await teaching.teach(source.id, bureau.site.url("/news/"), examples, by=by, save=save)


def numbers_of(found: Any) -> list[int]:
    return sorted(int(entry.url.rpartition("/")[2].removesuffix(".html")) for entry in found)


async def open_alarms(bureau: Any) -> list[AlarmKind]:
    return [alarm.kind for alarm in (await bureau.health.get_report()).alarms]


def fallbacks_of(run: Any) -> list[str]:
    return [fallback.reason.code for fallback in run.fallbacks]


async def test_one_entry_shows_a_list_that_the_program_would_not_choose_and_the_sweep_reads_exactly_it(
    bureau: Any, teaching: TeachingService, forms: list[Row]
) -> None:
    publish(bureau, forms)
    source = await add_source(bureau)
    url = bureau.site.url("/news/")
    look = await teaching.look(source.id or 0, url, by=COMMAND_LINE)
    assert [(found.is_current, numbers_of(found.rows)) for found in look.lists[:2]] == [
        (True, list(NOTICES)),
        (False, list(FORMS)),
    ]
    assert look.lists[1].examples == [bureau.site.url(f"/files/{number}.html") for number in FORMS[:2]]
    assert {link.url for link in look.links} >= {bureau.site.url(f"/files/{number}.html") for number in FORMS}

    seen = await teach(bureau, teaching, FORMS[1], save=False)
    assert (numbers_of(seen.rows), seen.is_saved, seen.is_pinned) == (list(FORMS), False, True)
    assert (await bureau.store.sources.get(bureau.name)).recipes == []

    await teach(bureau, teaching, FORMS[1])
    run = await bureau.sweep()
    assert numbers_of(run.items) == list(FORMS)
    assert (await teaching.look(source.id or 0, url, by=COMMAND_LINE)).recipe_fit == 1.0
    audit = AuditService(store=bureau.store, clock=bureau.clock, timezone="UTC")
    (entry,) = await audit.list_entries(action="source.teach")
    assert entry.detail["examples"] == [bureau.site.url(f"/files/{FORMS[1]}.html")]

    await teaching.forget(source.id or 0, url, by=COMMAND_LINE)
    again = await bureau.sweep()
    assert set(numbers_of(again.items)) <= set(NOTICES)
    assert again.items
    with pytest.raises(NotFound):
        await teaching.forget(source.id or 0, url, by=COMMAND_LINE)


async def test_another_list_than_the_one_that_was_read_raises_no_alarm(
    bureau: Any, teaching: TeachingService, forms: list[Row]
) -> None:
    forms = forms[:2]
    publish(bureau, forms)
    await bureau.sweep()
    bureau.clock.today += dt.timedelta(1)
    await teach(bureau, teaching, *FORMS[:2])
    run = await bureau.sweep()
    assert (numbers_of(run.items), await open_alarms(bureau)) == ([row.number for row in forms], [])


@pytest.mark.parametrize(
    ("examples", "code"),
    [
        (["/news/detail/999.html"], "teaching.no_such_link"),
        ([f"/files/{FORMS[0]}.html", f"/news/detail/{NOTICES[0]}.html"], "teaching.two_lists"),
        ([], "teaching.example_count"),
        (["/a", "/b", "/c"], "teaching.example_count"),
        (["javascript:alert(1)"], "source.bad_url"),
    ],
)
async def test_an_example_that_shows_no_list_is_refused_in_one_sentence(
    bureau: Any, teaching: TeachingService, forms: list[Row], examples: list[str], code: str
) -> None:
    publish(bureau, forms, box='<div class="side"><h3>表格下载</h3><dl>{}</dl></div>', tag="dd")
    source = await add_source(bureau)
    with pytest.raises(UsageError) as refused:
        await teaching.teach(source.id or 0, bureau.site.url("/news/"), examples, by=COMMAND_LINE, save=True)
    assert refused.value.message.code == code
    assert "\n" not in render(refused.value.message, "en")
    assert (await bureau.store.sources.get(bureau.name)).recipes == []


async def test_a_page_that_cannot_be_seen_and_a_reader_are_refused(
    bureau: Any, teaching: TeachingService, reply: Any
) -> None:
    bureau.site.on("/news/", reply("gone", 404))
    with pytest.raises(WorkFailed, match="could not be loaded"):
        await teach(bureau, teaching, FORMS[0])
    with pytest.raises(Forbidden):
        await teach(bureau, teaching, FORMS[0], by=Actor("rita", Role.READER))


@pytest.mark.parametrize("kind", list(SourceListFormat))
async def test_a_recipe_goes_with_its_source_into_another_service(
    bureau: Any, teaching: TeachingService, forms: list[Row], kind: SourceListFormat
) -> None:
    publish(bureau, forms)
    await teach(bureau, teaching, FORMS[0])
    sources = SourceService(store=bureau.store, clock=bureau.clock, timezone="UTC")
    written = await sources.export(kind)
    source = await sources.get(bureau.name)
    await sources.remove(source.id or 0, by=COMMAND_LINE)
    documents = DocumentReader(workers=bureau.workers)
    plan = await sources.import_list(await read_list(written, kind, label="it", documents=documents), by=COMMAND_LINE)
    (added,) = plan.sources
    assert added.recipes == source.recipes
    assert numbers_of((await bureau.sweep()).items) == list(FORMS)


async def test_a_page_that_was_rebuilt_around_known_entries_is_learned_anew(
    bureau: Any, teaching: TeachingService, forms: list[Row]
) -> None:
    publish(bureau, forms)
    await teach(bureau, teaching, FORMS[0])
    await bureau.sweep()
    new = [Row(FORMS[-1] + 1, bureau.clock.today), *forms]
    publish(bureau, new, box=REBUILT, tag="p")
    run = await bureau.sweep()
    assert (fallbacks_of(run), numbers_of(run.items)) == (["cause.recipe_relearned"], [new[0].number])
    assert await open_alarms(bureau) == []
    (recipe,) = (await bureau.store.sources.get(bureau.name)).recipes
    assert (recipe["taught_by"], "section.downloads-box" in recipe["how"]["steps"]) == (Teacher.PERSON, True)
    assert fallbacks_of(await bureau.sweep()) == []


async def test_a_page_that_was_rebuilt_beyond_recognition_is_an_alarm_until_it_is_taught_anew(
    bureau: Any, teaching: TeachingService, forms: list[Row], reply: Any
) -> None:
    publish(bureau, forms)
    await teach(bureau, teaching, FORMS[0])
    await bureau.sweep()
    rebuilt = rows_of(range(400, 404), [bureau.clock.today] * 4)
    publish(bureau, rebuilt, box=REBUILT, tag="p")
    assert "cause.recipe_drifted" in fallbacks_of(await bureau.sweep())
    assert AlarmKind.DRIFT in await open_alarms(bureau)
    assert [alarm.kind for alarm in bureau.notices.received].count(AlarmKind.DRIFT) == 1
    (health,) = (await bureau.health.get_report()).sources
    assert health.sections[0].drifted_on == bureau.clock.today

    bureau.site.on("/news/", reply("down", 500))
    await bureau.sweep()
    assert AlarmKind.DRIFT in await open_alarms(bureau), "a page that was not seen ends no alarm"

    publish(bureau, rebuilt, box=REBUILT, tag="p")
    await teach(bureau, teaching, 400, 403)
    assert AlarmKind.DRIFT not in await open_alarms(bureau)
    run = await bureau.sweep()
    assert fallbacks_of(run) == []
    assert AlarmKind.DRIFT not in await open_alarms(bureau)


async def test_an_alarm_of_drift_ends_when_the_old_page_is_back(
    bureau: Any, teaching: TeachingService, forms: list[Row]
) -> None:
    publish(bureau, forms)
    await teach(bureau, teaching, FORMS[0])
    await bureau.sweep()
    publish(bureau, rows_of(range(400, 404), [bureau.clock.today] * 4), box=REBUILT, tag="p")
    await bureau.sweep()
    assert AlarmKind.DRIFT in await open_alarms(bureau)
    publish(bureau, forms)
    await bureau.sweep()
    assert AlarmKind.DRIFT not in await open_alarms(bureau)


async def test_a_list_that_the_model_names_is_kept_and_not_asked_for_again(
    bureau: Any, model: Any, forms: list[Row]
) -> None:
    links = "".join(f'<li><a href="/files/{row.number}.html">表{row.number}</a></li>' for row in forms)
    topics = "".join(f'<li><a href="/topics/{number}/">专题{number}</a></li>' for number in range(6))
    bureau.site.on("/news/", f"<html><body><h1>下载</h1><ul>{topics}</ul><div><ul>{links}</ul></div></body></html>")
    for row in forms:
        bureau.site.on(f"/files/{row.number}.html", article_html(row))
    first = bureau.site.url(f"/files/{FORMS[0]}.html")
    model.says(f'["{first}"]')
    await bureau.sweep()
    asked = [request for request in model.requests if "##" in request["messages"][-1]["content"]]
    (recipe,) = (await bureau.store.sources.get(bureau.name)).recipes
    assert (recipe["taught_by"], recipe["examples"]) == (Teacher.MODEL, [first])
    before = len(model.requests)
    run = await bureau.sweep()
    assert run.status is RunStatus.SUCCEEDED
    assert len(model.requests) == before, "neither the list nor anything else is asked of a page that is known"
    assert asked


def publish_unsure(bureau: Any, numbers: Sequence[int], box: str) -> None:
    """A page whose list nothing but its meaning tells from the topics beside it."""
    links = "".join(f'<li><a href="/files/{number}.html">表{number}</a></li>' for number in numbers)
    topics = "".join(f'<li><a href="/topics/{number}/">专题{number}</a></li>' for number in range(6))
    page = f"<h1>下载</h1><ul>{topics}</ul>{box.format(f'<ul>{links}</ul>')}"
    bureau.site.on("/news/", f"<html><body>{page}</body></html>")
    for number in numbers:
        bureau.site.on(f"/files/{number}.html", article_html(Row(number, bureau.clock.today)))


async def test_a_list_that_the_model_named_is_asked_for_once_more_when_it_has_drifted(bureau: Any, model: Any) -> None:
    publish_unsure(bureau, FORMS, "<div>{}</div>")
    model.says(json.dumps([bureau.site.url(f"/files/{FORMS[0]}.html")]))
    await bureau.sweep()
    rebuilt = range(400, 404)
    publish_unsure(bureau, rebuilt, REBUILT)
    first = bureau.site.url(f"/files/{rebuilt[0]}.html")
    model.says(json.dumps([first]))
    run = await bureau.sweep()
    assert "cause.recipe_chosen_anew" in fallbacks_of(run)
    assert numbers_of(run.items) == list(rebuilt)
    assert AlarmKind.DRIFT not in await open_alarms(bureau)
    (recipe,) = (await bureau.store.sources.get(bureau.name)).recipes
    assert (recipe["taught_by"], recipe["examples"]) == (Teacher.MODEL, [first])


async def test_a_model_that_names_no_list_after_drift_is_not_asked_at_each_sweep(bureau: Any, model: Any) -> None:
    publish_unsure(bureau, FORMS, "<div>{}</div>")
    model.says(json.dumps([bureau.site.url(f"/files/{FORMS[0]}.html")]))
    await bureau.sweep()
    publish_unsure(bureau, range(400, 404), REBUILT)
    model.says("[]")
    assert "cause.recipe_drifted" in fallbacks_of(await bureau.sweep())
    assert AlarmKind.DRIFT in await open_alarms(bureau)
    before = count_list_questions(model)
    assert "cause.recipe_drifted" in fallbacks_of(await bureau.sweep())
    assert count_list_questions(model) == before == 2


def count_list_questions(model: Any) -> int:
    return sum("##" in request["messages"][-1]["content"] for request in model.requests)


async def test_without_a_model_a_page_that_makes_its_list_sure_is_learned_by_rule_after_drift(
    bureau: Any, teaching: TeachingService, forms: list[Row]
) -> None:
    publish(bureau, forms)
    await teach(bureau, teaching, FORMS[0])
    source = await bureau.store.sources.get(bureau.name)
    by_model = [{**recipe, "taught_by": Teacher.MODEL} for recipe in source.recipes]
    await bureau.store.sources.update(bureau.name, recipes=by_model)
    await bureau.sweep()
    publish(bureau, rows_of(range(400, 404), [bureau.clock.today] * 4), box=REBUILT, tag="p")
    run = await bureau.sweep()
    assert fallbacks_of(run) == ["cause.recipe_chosen_anew"]
    assert run.items
    assert set(numbers_of(run.items)) <= set(NOTICES), "the list that the page exists for"
    assert AlarmKind.DRIFT not in await open_alarms(bureau)
    assert fallbacks_of(await bureau.sweep()) == []
