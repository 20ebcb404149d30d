"""What is known of a source's sections and urls from earlier runs."""

from collections.abc import Iterable, Sequence

from sqlalchemy import exists, func, select
from sqlmodel import col

from monitor.domain.page import Candidate
from monitor.domain.reading import KnownCandidate, SectionPlan
from monitor.domain.tables import Item, KnownUrl, OverLimit, Run, RunSection, Section
from monitor.domain.urls import url_key
from monitor.store.patience import patient
from monitor.store.sessions import Sessions, batches, insert_or, storable


@patient
class Sections:
    """The memory of a source between its runs. Urls are compared by their keys, so that spellings do not matter."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def remembered(self, source_id: int, url: str) -> tuple[Section | None, list[Candidate]]:
        """What is remembered of the section at `url`, None where it was never read, and what there was no room for.

        That stands in the order of the page, without what is an item by now.
        """
        memory = select(Section).where(col(Section.source_id) == source_id, col(Section.url_key) == url_key(url))
        is_item = exists().where(col(Item.source_id) == OverLimit.source_id, col(Item.url_key) == OverLimit.url_key)
        carried = (
            select(OverLimit)
            .where(col(OverLimit.source_id) == source_id, col(OverLimit.section_key) == url_key(url), ~is_item)
            .order_by(col(OverLimit.position), col(OverLimit.url_key))
        )
        async with self._sessions.reading() as session:
            section, rows = await session.scalar(memory), (await session.scalars(carried)).all()
        return section, [Candidate.model_validate(row.candidate) for row in rows]

    async def begin(self, source_id: int, plan: SectionPlan) -> None:
        """Remember that the section's reading has begun: until it is kept, what is known of it need not be all.

        Without this, a run that was killed between two list pages would leave items behind that make the first page
        look known to the end, and what stands on the second would never be read.
        """
        begun = {
            "source_id": source_id,
            "name": storable(plan.name),
            "url": plan.url,
            "url_key": url_key(plan.url),
            "is_unfinished": True,
            "head": [],
            "arrivals": [],
        }
        async with self._sessions.writing() as session:
            await insert_or(session, Section, [begun], key=["source_id", "url_key"], update=["is_unfinished"])

    async def of_source(self, source_id: int) -> list[Section]:
        """All sections of a source that were ever read, in the order in which they were first read."""
        query = select(Section).where(col(Section.source_id) == source_id).order_by(col(Section.id))
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())

    async def of_sources(self, source_ids: Sequence[int]) -> dict[int, list[Section]]:
        """The sections of many sources, each in the order in which they were first read."""
        found: dict[int, list[Section]] = {}
        async with self._sessions.reading() as session:
            for some in batches(source_ids):
                mine = select(Section).where(col(Section.source_id).in_(some)).order_by(col(Section.id))
                for section in await session.scalars(mine):
                    found.setdefault(section.source_id, []).append(section)
        return found

    async def readings_before(self, source_id: int, run_id: str, *, limit: int) -> dict[str, list[RunSection]]:
        """How earlier runs of the source read its sections, by the sections' urls, newest first, `limit` of each."""
        of_run = select(col(Run.planned_at)).where(col(Run.id) == run_id).scalar_subquery()
        urls = select(col(RunSection.url)).where(col(RunSection.run_id) == run_id)
        age = func.row_number().over(partition_by=col(RunSection.url), order_by=col(Run.planned_at).desc())
        earlier = (
            select(col(RunSection.id), age.label("age"))
            .join(Run, col(Run.id) == col(RunSection.run_id))
            .where(
                col(Run.source_id) == source_id,
                col(Run.planned_at) < of_run,
                col(RunSection.url).in_(urls),
                col(RunSection.ended).is_not(None),
            )
            .subquery()
        )
        query = select(RunSection).join(earlier, earlier.c.id == col(RunSection.id)).where(earlier.c.age <= limit)
        readings: dict[str, list[RunSection]] = {}
        async with self._sessions.reading() as session:
            for row in await session.scalars(query.order_by(earlier.c.age)):
                readings.setdefault(row.url, []).append(row)
        return readings

    async def known(self, source_id: int, urls: Iterable[str]) -> dict[str, KnownCandidate]:
        """Those of the urls that were seen before on the source, under their keys, with the item that one became."""
        found: dict[str, KnownCandidate] = {}
        of_this_source = (col(Item.source_id) == KnownUrl.source_id) & (col(Item.url_key) == KnownUrl.url_key)
        async with self._sessions.reading() as session:
            for batch in batches(dict.fromkeys(url_key(url) for url in urls)):
                query = (
                    select(
                        col(KnownUrl.url_key),
                        col(Item.run_id),
                        col(Item.section),
                        col(Item.id),
                        col(KnownUrl.date),
                        col(KnownUrl.date_source),
                    )
                    .outerjoin(Item, of_this_source)
                    .where(col(KnownUrl.source_id) == source_id, col(KnownUrl.url_key).in_(batch))
                )
                for key, run_id, section, item_id, date, date_source in await session.execute(query):
                    found[key] = KnownCandidate(
                        run_id=run_id, section=section, item_id=item_id, date=date, date_source=date_source
                    )
        return found

    async def recent_item_urls(self, source_id: int, limit: int) -> list[str]:
        """The urls of the source's latest items, those saved last first."""
        query = (
            select(col(Item.url))
            .where(col(Item.source_id) == source_id)
            .order_by(col(Item.first_seen).desc(), col(Item.id).desc())
            .limit(limit)
        )
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())
