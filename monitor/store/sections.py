"""What is known of a source's sections and urls from earlier runs."""

from collections.abc import Iterable

from sqlalchemy import exists, select
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

    async def remembered(self, source_id: int, url: str) -> Section | None:
        """What is remembered of the section at `url`; None where it was never read."""
        query = select(Section).where(col(Section.source_id) == source_id, col(Section.url_key) == url_key(url))
        async with self._sessions.reading() as session:
            return await session.scalar(query)

    async def begin(self, source_id: int, plan: SectionPlan) -> None:
        """Remember that the section's reading has begun: until it is kept, what is known of it need not be all.

        Without this, a run that was killed between two list pages would leave items behind that make the first page
        look known to the end, and what stands on the second would never be read.
        """
        begun = {
            "source_id": source_id, "name": storable(plan.name), "url": plan.url, "url_key": url_key(plan.url),
            "is_unfinished": True, "head": [], "arrivals": [],
        }  # fmt: skip
        async with self._sessions.writing() as session:
            await insert_or(session, Section, [begun], key=["source_id", "url_key"], update=["is_unfinished"])

    async def of_source(self, source_id: int) -> list[Section]:
        """All sections of a source that were ever read, in the order in which they were first read."""
        query = select(Section).where(col(Section.source_id) == source_id).order_by(col(Section.id))
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())

    async def readings_before(self, source_id: int, row: RunSection, *, limit: int) -> list[RunSection]:
        """How earlier runs of the source read the section of `row`, newest first."""
        of_run = select(col(Run.planned_at)).where(col(Run.id) == row.run_id).scalar_subquery()
        query = (
            select(RunSection)
            .join(Run, col(Run.id) == col(RunSection.run_id))
            .where(
                col(Run.source_id) == source_id,
                col(Run.planned_at) < of_run,
                col(RunSection.url) == row.url,
                col(RunSection.ended).is_not(None),
            )
            .order_by(col(Run.planned_at).desc())
            .limit(limit)
        )
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())

    async def known(self, source_id: int, urls: Iterable[str]) -> dict[str, KnownCandidate]:
        """Those of the urls that were seen before on the source, under their keys, with the item that one became."""
        found: dict[str, KnownCandidate] = {}
        of_this_source = (col(Item.source_id) == KnownUrl.source_id) & (col(Item.url_key) == KnownUrl.url_key)
        async with self._sessions.reading() as session:
            for batch in batches(dict.fromkeys(url_key(url) for url in urls)):
                query = (
                    select(KnownUrl, col(Item.run_id), col(Item.section), col(Item.id))
                    .outerjoin(Item, of_this_source)
                    .where(col(KnownUrl.source_id) == source_id, col(KnownUrl.url_key).in_(batch))
                )
                for url, run_id, section, item_id in await session.execute(query):
                    found[url.url_key] = KnownCandidate(
                        run_id=run_id, section=section, item_id=item_id, date=url.date, date_source=url.date_source
                    )  # fmt: skip
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

    async def carried(self, source_id: int, section_url: str) -> list[Candidate]:
        """What the section's last runs had no room for, in the order of the page, without what is an item by now."""
        is_item = exists().where(col(Item.source_id) == OverLimit.source_id, col(Item.url_key) == OverLimit.url_key)
        query = (
            select(OverLimit)
            .where(col(OverLimit.source_id) == source_id, col(OverLimit.section_key) == url_key(section_url), ~is_item)
            .order_by(col(OverLimit.position), col(OverLimit.url_key))
        )
        async with self._sessions.reading() as session:
            rows = (await session.scalars(query)).all()
        return [Candidate.model_validate(row.candidate) for row in rows]
