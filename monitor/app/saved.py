"""The use case of seeing for oneself: the saved page behind a statement, as text, with the passage that bears it."""

from monitor.app.kept_pages import KeptPage, KeptPages
from monitor.domain.evidence import Claim, ClaimKind
from monitor.domain.tables import Item
from monitor.errors import NotFound
from monitor.store import Store


class SavedPage(KeptPage):
    """A saved page of an item as text, with the claim that rests on the passage in it."""

    item_id: int
    claim_number: int | None = None
    kind: ClaimKind | None = None
    claim: str = ""


class SavedPageDesk:
    def __init__(self, *, store: Store, pages: KeptPages) -> None:
        self._store = store
        self._pages = pages

    async def page(self, item_id: int, claim_number: int | None = None) -> SavedPage:
        """The saved page behind a claim of an item, counted from 1 in the order of its evidence.

        Without a number it is the item's own page. `NotFound` where there is no such item or claim, or nothing was
        kept.
        """
        item = await self._store.items.get(item_id)
        if item is None:
            raise NotFound(f"There is no item {item_id}.")
        claim = await self._claim(item_id, claim_number)
        record = await self._store.evidence.record(_record_id(item, claim))
        if record is None:
            raise NotFound(f"Of the item {item_id} no page was kept, or not any more.")
        asked = claim if claim_number is not None else None
        page = await self._pages.page(record, title=item.title, passage=asked.passage if asked else "")
        told = {"kind": asked.kind, "claim": asked.claim} if asked else {}
        return SavedPage(item_id=item_id, claim_number=claim_number, **told, **page.model_dump())

    async def _claim(self, item_id: int, number: int | None) -> Claim | None:
        claims = await self._store.evidence.claims(item_id)
        if number is None:
            return next((claim for claim in claims if claim.kind is ClaimKind.PAGE), None)
        if not 1 <= number <= len(claims):
            raise NotFound(f"The item {item_id} has no claim {number}; its evidence counts {len(claims)}.")
        return claims[number - 1]


def _record_id(item: Item, claim: Claim | None) -> str:
    """The record of the claim; without one the last that the item names, which is its own page."""
    return claim.record_id if claim is not None else next(reversed(item.evidence), "")
