"""What items say and the records that it rests on, written down together with what it is said of."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import SQLModel

from monitor.domain.evidence import Claim, ClaimKind, Links
from monitor.store.sessions import batches, storable

_ROOTS = (ClaimKind.LIST, ClaimKind.PAGE)
"""The claims that the others of the same record hang on."""

_ITEMS, _CLAIMS = SQLModel.metadata.tables["item"], SQLModel.metadata.tables["claim"]
_THERE = (
    select(_ITEMS.c.id, _CLAIMS.c.id, _CLAIMS.c.kind, _CLAIMS.c.claim, _CLAIMS.c.record_id)
    .outerjoin(_CLAIMS, _CLAIMS.c.item_id == _ITEMS.c.id)
    .where(_ITEMS.c.id.in_(bindparam("items", expanding=True)))
    .order_by(_CLAIMS.c.id)
)
_GONE = delete(_CLAIMS).where(_CLAIMS.c.id.in_(bindparam("claims", expanding=True)))
_ADDED = insert(_CLAIMS)
_NAMED = update(_ITEMS).where(_ITEMS.c.id == bindparam("item")).values(evidence=bindparam("records"))


class _Held(NamedTuple):
    """A claim that an item has."""

    id: int
    kind: ClaimKind
    claim: str
    record_id: str


async def link(session: AsyncSession, links: Links) -> None:
    """Add claims to items, inside a transaction of the caller; each item names its records from then on.

    They take the place of all that an item has of the kinds `instead_of`, of what else rests on their records
    alone, and of those that say the same of the same record. An item that is gone has none.
    """
    held: dict[int, list[_Held]] = {}
    for item_id, *old in await session.execute(_THERE, {"items": list(links.claims)}):
        held.setdefault(item_id, [])
        if old[0] is not None:
            held[item_id].append(_Held(*old))
    gone: list[int] = []
    added: list[dict[str, Any]] = []
    named: list[dict[str, Any]] = []
    for item_id, old_ones in held.items():
        new = _of_item(item_id, links.claims[item_id])
        kept = [one for one in old_ones if not _is_replaced(one, old_ones, new, links.instead_of)]
        gone += [one.id for one in old_ones if one not in kept]
        added += [one.model_dump(exclude={"id"}) for one in new]
        all_of_it: list[_Held | Claim] = [*kept, *new]
        listed_first = sorted(all_of_it, key=lambda one: one.kind is not ClaimKind.LIST)
        records = list(dict.fromkeys(one.record_id for one in listed_first))
        named.append({"item": item_id, "records": records})
    connection = await session.connection()
    for batch in batches(gone):
        await connection.execute(_GONE, {"claims": batch})
    if added:
        await connection.execute(_ADDED, added)
    if named:
        await connection.execute(_NAMED, named)


def _of_item(item_id: int, claims: Sequence[Claim]) -> list[Claim]:
    """The claims as they can be stored of an item, each said once of a record."""
    cleaned = (
        claim.model_copy(
            update={"item_id": item_id, "claim": storable(claim.claim), "passage": storable(claim.passage)}
        )
        for claim in claims
    )
    return list({_said(one): one for one in cleaned}.values())


def _is_replaced(old: _Held, held: Sequence[_Held], new: Sequence[Claim], instead_of: frozenset[ClaimKind]) -> bool:
    """Whether new claims take the place of one that an item has."""
    if old.kind in instead_of or _said(old) in map(_said, new):
        return True
    of_record = [one for one in held if one.record_id == old.record_id]
    has_root = any(one.kind in _ROOTS and one.kind not in instead_of for one in of_record)
    return not has_root and any(one.kind in instead_of for one in of_record)


def _said(claim: Claim | _Held) -> tuple[ClaimKind, str, str]:
    return claim.kind, claim.claim, claim.record_id
