"""What repeats on the pages of a source's hosts is kept, added to, and gone with the source."""

import datetime as dt

from monitor.db.database import Store
from monitor.db.tables.collection import Source
from monitor.site_memory import PageMarks, SeenPage, SitePageKind

DAY = dt.date(2026, 2, 3)
FOOTER = 2**64 - 1


def build_pages(host: str, numbers: range) -> list[tuple[str, SeenPage]]:
    marks = {number: PageMarks(lines=(FOOTER, number)) for number in numbers}
    return [(host, SeenPage(f"{host}/{n}", SitePageKind.ARTICLE, f"Title {n}", marks[n])) for n in numbers]


async def test_what_runs_have_seen_adds_up(store: Store, source: Source) -> None:
    assert source.id is not None
    await store.sections.remember_pages(source.id, build_pages("a.example", range(3)), DAY)
    assert await store.sections.load_repeats(source.id) == {}, "of three pages nothing can be said"
    more = [*build_pages("a.example", range(2, 8)), *build_pages("b.example", range(2))]
    await store.sections.remember_pages(source.id, more, DAY)
    known = await store.sections.load_repeats(source.id)
    assert {host: list(repeats.shares) for host, repeats in known.items()} == {"a.example": [FOOTER]}
    await store.sections.remember_pages(source.id, more, DAY + dt.timedelta(days=1))
    assert await store.sections.load_repeats(source.id) == known, "the same pages say the same"


async def test_it_goes_with_its_source_and_is_no_other_ones(store: Store, source: Source) -> None:
    assert source.id is not None
    await store.sections.remember_pages(source.id, build_pages("a.example", range(8)), DAY)
    other = await store.sources.add(
        Source(name="other", url="https://a.example/", created_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    )
    assert other.id is not None
    assert await store.sections.load_repeats(other.id) == {}
    await store.sources.remove(source.name)
    assert await store.sections.load_repeats(source.id) == {}
