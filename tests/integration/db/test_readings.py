"""What the reading of a section leaves behind: the run's ledger, and the memory for the runs to come."""

from datetime import UTC, date, datetime, timedelta

import pytest

from monitor.db.database import Store
from monitor.db.queries.sections import SECTION_ERROR
from monitor.db.reading import KnownCandidate, LedgerEntry, SectionPlan, SectionReading, UnseenPlace
from monitor.db.tables.collection import Item, Run, Source
from monitor.errors import WorkFailed
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.page import Candidate
from monitor.urls import url_key
from monitor.vocabulary import DateSource, Disposition, SavedBy, SectionEnd

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)
TODAY = date(2026, 2, 3)
NOTICES = SectionPlan(ordinal=0, name="通知公告", url="https://example.gov/tzgg/", found_by=SavedBy.AGENT)
POLICIES = SectionPlan(ordinal=1, name="政策法规", url="https://example.gov/zcfg/")
LIMIT, KNOWN, LEFT, SAVED = Disposition.OVER_LIMIT, Disposition.KNOWN, Disposition.LEFT, Disposition.SAVED


def url_of(name: object) -> str:
    return f"https://example.gov/{name}.html"


def an_entry(name: object, disposition: Disposition, position: int = 0, **fields: object) -> LedgerEntry:
    candidate = Candidate(title=f"title {name}", url=url_of(name), date=TODAY, date_source=DateSource.LISTED)
    return LedgerEntry.model_validate(
        {"candidate": candidate, "page_url": NOTICES.url, "position": position, "disposition": disposition, **fields}
    )


def a_reading(
    *entries: LedgerEntry, plan: SectionPlan = NOTICES, ended: SectionEnd = SectionEnd.END, **fields: object
) -> SectionReading:
    return SectionReading.model_validate({"plan": plan, "ended": ended, "entries": list(entries), "pages": 1, **fields})


class Keeping:
    """Keeps readings of the one run and source of a test, and asks what is known afterwards."""

    def __init__(self, store: Store, run: Run) -> None:
        self.store, self.run_id, self.source_id = store, run.id, run.source_id or 0

    async def keep(self, reading: SectionReading, *, days: int = 0) -> None:
        on, at = TODAY + timedelta(days=days), NOON + timedelta(days=days)
        await self.store.runs.save_reading(self.run_id, self.source_id, reading, on=on, at=at)

    async def known(self, *names: object) -> set[object]:
        found = await self.store.sections.find_known(self.source_id, [url_of(name) for name in names])
        return {name for name in names if url_key(url_of(name)) in found}

    async def carried(self, plan: SectionPlan = NOTICES) -> list[str]:
        return [candidate.url for candidate in (await self.store.sections.load_section(self.source_id, plan.url))[1]]

    async def save(self, name: object) -> int:
        url = url_of(name)
        item = Item(
            source_id=self.source_id,
            run_id=self.run_id,
            source="示例部",
            section=NOTICES.name,
            url=url,
            url_key=url_key(url),
            title=str(name),
            first_seen=NOON,
        )
        return (await self.store.items.save(item))[0].id or 0


@pytest.fixture
def keeping(store: Store, run: Run) -> Keeping:
    return Keeping(store, run)


async def test_a_plan_is_written_once_however_often_it_is_made(store: Store, run: Run) -> None:
    await store.runs.save_plan(run.id, [NOTICES, POLICIES])
    await store.runs.save_plan(run.id, [NOTICES, POLICIES])
    sections = await store.runs.list_sections(run.id)
    assert [(row.ordinal, row.name, row.url, row.found_by, row.ended) for row in sections] == [
        (0, NOTICES.name, NOTICES.url, SavedBy.AGENT, None),
        (1, POLICIES.name, POLICIES.url, SavedBy.RULE, None),
    ]


async def test_a_run_that_plans_again_keeps_what_it_has_read_of_the_same_sections(
    keeping: Keeping, store: Store
) -> None:
    await store.runs.save_plan(keeping.run_id, [NOTICES, POLICIES])
    await keeping.keep(a_reading(an_entry("a", LIMIT)))
    await keeping.keep(a_reading(an_entry("b", LIMIT), plan=POLICIES))
    await store.runs.save_plan(keeping.run_id, [NOTICES])
    assert [(row.name, row.ended) for row in await store.runs.list_sections(keeping.run_id)] == [
        (NOTICES.name, SectionEnd.END)
    ]
    assert [row.url for row in await store.runs.load_ledger(keeping.run_id)] == [url_of("a")]


async def test_a_reading_is_kept_with_every_candidate_and_its_counts_add_up(keeping: Keeping, store: Store) -> None:
    await store.runs.save_plan(keeping.run_id, [NOTICES, POLICIES])
    item_id = await keeping.save("a")
    entries = [
        an_entry("b", KNOWN, 1),
        an_entry("a", SAVED, 0, item_id=item_id),
        an_entry("c", Disposition.REFUSED, 2, reason=Message.other("wrong scheme")),
    ]
    unseen = [UnseenPlace(section=NOTICES.name, url=f"{NOTICES.url}2", reason=Message("cause.ended_max_pages"))]
    reading = a_reading(
        *entries, ended=SectionEnd.MAX_PAGES, pages=5, unseen=unseen, refused_saves=2, corrected_dates=1
    )
    await keeping.keep(reading)
    await keeping.keep(reading)
    read, unread = await store.runs.list_sections(keeping.run_id)
    assert (read.ended, read.pages, read.candidates, read.refused_saves, read.corrected_dates) == (
        (SectionEnd.MAX_PAGES, 5, 3, 2, 1)
    )
    assert unread.ended is None
    rows = await store.runs.load_ledger(keeping.run_id)
    assert [(row.url, row.disposition, row.reason, row.item_id) for row in rows] == [
        (url_of("a"), SAVED, None, item_id),
        (url_of("b"), KNOWN, None, None),
        (url_of("c"), Disposition.REFUSED, Message.other("wrong scheme"), None),
    ]
    assert (rows[0].title, rows[0].date, rows[0].date_source) == ("title a", TODAY, DateSource.LISTED)
    coverage = (await store.history.load_details([keeping.run_id]))[keeping.run_id].coverage
    assert (coverage.saved, coverage.known, coverage.refused, coverage.left) == (1, 1, 1, 0)
    assert coverage.unseen == unseen


async def test_reading_a_section_again_replaces_what_was_kept_of_it_and_of_no_other(
    keeping: Keeping, store: Store
) -> None:
    def unseen(plan: SectionPlan, reason: str) -> list[UnseenPlace]:
        return [UnseenPlace(section=plan.name, url=plan.url, reason=Message.other(reason))]

    await keeping.keep(a_reading(an_entry("a", LIMIT), an_entry("b", LIMIT), unseen=unseen(NOTICES, "first")))
    await keeping.keep(a_reading(an_entry("c", LIMIT), plan=POLICIES, unseen=unseen(POLICIES, "other")))
    await keeping.keep(a_reading(an_entry("a", KNOWN), unseen=unseen(NOTICES, "second")))
    assert [row.url for row in await store.runs.load_ledger(keeping.run_id)] == [url_of("a"), url_of("c")]
    assert [render(place.reason, "en") for place in await store.runs.list_unseen(keeping.run_id)] == ["other", "second"]


async def test_sections_that_share_a_name_do_not_take_each_others_places(keeping: Keeping, store: Store) -> None:
    namesake = POLICIES.model_copy(update={"name": NOTICES.name})
    for plan in (NOTICES, namesake, NOTICES):
        places = [UnseenPlace(section=plan.name, url=plan.url, reason=Message.other("HTTP 412"))]
        await keeping.keep(a_reading(plan=plan, unseen=places, ended=SectionEnd.ERROR))
    assert {place.url for place in await store.runs.list_unseen(keeping.run_id)} == {NOTICES.url, namesake.url}


async def test_every_candidate_is_known_from_then_on_but_those_of_a_section_that_broke_off(keeping: Keeping) -> None:
    await keeping.keep(
        a_reading(
            an_entry("a", KNOWN),
            an_entry("b", LEFT, reason=SECTION_ERROR),
            an_entry("c", LEFT, reason=Message.other("not of interest")),
            an_entry("a", KNOWN, 3),
            ended=SectionEnd.ERROR,
        )
    )
    assert await keeping.known("a", "b", "c") == {"a", "c"}


async def test_an_item_stays_an_item_when_its_url_is_seen_again(keeping: Keeping, store: Store) -> None:
    item_id = await keeping.save("a")
    await keeping.keep(a_reading(an_entry("a", SAVED, item_id=item_id)))
    known = await store.sections.find_known(keeping.source_id, [url_of("a")])
    assert list(known.values()) == [KnownCandidate(run_id="run-1", section=NOTICES.name, item_id=item_id)]


async def test_thousands_of_candidates_are_kept_and_asked_for(keeping: Keeping, store: Store) -> None:
    await keeping.keep(a_reading(*(an_entry(n, LIMIT, n) for n in range(3000))))
    assert len(await keeping.known(*range(4000))) == 3000
    assert (await store.history.load_details([keeping.run_id]))[keeping.run_id].coverage.over_limit == 3000
    assert await keeping.carried() == [url_of(n) for n in range(3000)]


async def test_what_there_was_no_room_for_is_carried_in_the_order_of_the_page(keeping: Keeping, store: Store) -> None:
    await keeping.keep(a_reading(an_entry("b", LIMIT, 2), an_entry("a", LIMIT, 1), an_entry("c", KNOWN, 0)))
    await keeping.keep(a_reading(an_entry("d", LIMIT), plan=POLICIES))
    assert await keeping.carried() == [url_of("a"), url_of("b")]
    first = (await store.sections.load_section(keeping.source_id, "http://www.example.gov/tzgg"))[1][0]
    assert first == Candidate(title="title a", url=url_of("a"), date=TODAY, date_source=DateSource.LISTED)
    await keeping.save("a")
    assert await keeping.carried() == [url_of("b")]


async def test_what_was_carried_goes_once_it_is_settled_and_stays_until_then(keeping: Keeping) -> None:
    await keeping.keep(a_reading(*(an_entry(name, LIMIT, n) for n, name in enumerate("abcd"))))
    await keeping.save("a")
    await keeping.keep(
        a_reading(an_entry("b", LEFT, reason=Message.other("not of interest")), an_entry("c", LIMIT, 7)), days=1
    )
    assert await keeping.carried() == [url_of("d"), url_of("c")]


async def test_a_section_that_breaks_off_loses_nothing_that_was_carried(keeping: Keeping) -> None:
    await keeping.keep(a_reading(an_entry("a", LIMIT)))
    await keeping.keep(a_reading(an_entry("a", LEFT, reason=SECTION_ERROR), ended=SectionEnd.ERROR), days=1)
    assert await keeping.carried() == [url_of("a")]


async def test_a_section_is_remembered_from_run_to_run(keeping: Keeping, store: Store) -> None:
    assert await store.sections.load_section(keeping.source_id, NOTICES.url) == (None, [])
    await keeping.keep(a_reading(tail_date=date(2026, 1, 5)))
    await keeping.keep(a_reading(ended=SectionEnd.MAX_PAGES, tail_date=date(2026, 1, 20)), days=1)
    section, _ = await store.sections.load_section(keeping.source_id, "http://www.example.gov/tzgg/index.html")
    assert section is not None
    assert (section.name, section.last_complete_on, section.is_unfinished) == (NOTICES.name, TODAY, True)
    assert (section.tail_date, section.last_read_at) == (date(2026, 1, 5), NOON + timedelta(days=1))
    renamed = NOTICES.model_copy(update={"name": "公告"})
    await keeping.keep(a_reading(plan=renamed, ended=SectionEnd.KNOWN, tail_date=date(2026, 1, 1)), days=2)
    section, _ = await store.sections.load_section(keeping.source_id, NOTICES.url)
    assert section is not None
    assert (section.name, section.last_complete_on) == ("公告", TODAY + timedelta(days=2))
    assert (section.is_unfinished, section.tail_date) == (False, date(2026, 1, 1))
    await keeping.keep(a_reading(plan=POLICIES))
    assert [found.name for found in await store.sections.list_for_source(keeping.source_id)] == ["公告", POLICIES.name]


async def test_an_error_changes_only_that_the_section_was_tried_and_is_unfinished(
    keeping: Keeping, store: Store
) -> None:
    await keeping.keep(a_reading(tail_date=date(2026, 1, 5)))
    broken = NOTICES.model_copy(update={"name": "?"})
    await keeping.keep(a_reading(plan=broken, ended=SectionEnd.ERROR, tail_date=date(2025, 1, 1)), days=1)
    section, _ = await store.sections.load_section(keeping.source_id, NOTICES.url)
    assert section is not None
    assert (section.name, section.last_complete_on, section.tail_date) == (NOTICES.name, TODAY, date(2026, 1, 5))
    assert (section.is_unfinished, section.last_read_at) == (True, NOON + timedelta(days=1))


async def test_a_reading_is_kept_whole_or_not_at_all(keeping: Keeping, store: Store, source: Source) -> None:
    await store.sources.remove(source.name)
    with pytest.raises(WorkFailed, match="removed while"):
        await keeping.keep(a_reading(an_entry("a", KNOWN)))
    assert await store.runs.load_ledger(keeping.run_id) == []
    assert await store.runs.list_sections(keeping.run_id) == []


async def test_characters_that_a_database_refuses_do_not_stop_a_run(keeping: Keeping, store: Store) -> None:
    entry = an_entry("a", LEFT, reason=Message.other("odd\x00\ud83d"))
    entry.candidate.title = "标\x00题\ud83d"
    await keeping.keep(a_reading(entry))
    assert [(row.title, row.reason) for row in await store.runs.load_ledger(keeping.run_id)] == [
        ("标题?", Message.other("odd?"))
    ]
