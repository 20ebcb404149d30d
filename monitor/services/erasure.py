"""Erasing a person who asks for it, or who has left: the audit is kept, under a number."""

import asyncio
from dataclasses import dataclass

from monitor.errors import Conflict, NotFound
from monitor.search.bundles.bundle import BundleFolder
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.vocabulary import Role


@dataclass(kw_only=True)
class ErasureService(AuditedService):
    bundles: BundleFolder

    async def erase(self, name: str, *, by: Actor) -> str:
        """Erase a person; return the number under which the audit and what they shared go on, as `erased-3`.

        What was theirs alone is deleted: account, sessions, tokens, stars, private notes and researches. `Conflict`
        for the last administrator, for oneself, and while a research of theirs goes on.
        """
        by.require(Role.ADMIN)
        person = await self.store.people.get(name)
        if person is None:
            raise NotFound("person.not_found", name=name)
        if name == by.owner:
            raise Conflict("person.erase_self")
        if going_on := await self.store.erasure.find_open_researches(name):
            raise Conflict("person.erase_busy", name=name, researches=going_on)
        async with self.store.transaction():
            # As whoever is shut out: the last administrator cannot be, and nobody signs in meanwhile.
            if not await self.store.people.set_access(name, is_shut_out=True):
                raise Conflict("person.last_admin", name=name)
            alias, researches = await self.store.erasure.erase_person(person.name)
            await self.record(by, AuditAction.PERSON_ERASE, alias)
        for task_id in researches:
            await asyncio.to_thread(self.bundles.remove, task_id)
        return alias
