"""Sign-in by a proxy in front: it has checked who somebody is, and says their name."""

import datetime as dt
import re
from dataclasses import dataclass, replace

from monitor.config.model import Settings
from monitor.db.tables.people import Person
from monitor.i18n.message import Message
from monitor.services.audit import (
    ANONYMOUS_NAME,
    NAME_PATTERN,
    RESERVED_NAMES,
    SERVICE,
    Actor,
    AuditAction,
    AuditedService,
)
from monitor.services.people import PeopleService, SignInError, SignInResult
from monitor.vocabulary import Role


@dataclass(kw_only=True)
class ProxySignInService(AuditedService):
    settings: Settings
    people: PeopleService

    async def sign_in(self, name: str, *, address: str, browser: str, device: str | None = None) -> SignInResult:
        """Begin a session of whom the proxy names; whether the header may be believed was decided before."""
        try:
            person = await self._admit(name, replace(SERVICE, address=address))
        except SignInError as refused:
            stranger = Actor(ANONYMOUS_NAME, Role.READER, address=address)
            await self.record(stranger, AuditAction.SIGN_IN_FAILED, name[:60], reason=refused.message.code)
            raise
        max_age = dt.timedelta(hours=self.settings.auth.proxy.session_hours)
        return await self.people.begin_session(
            person, address=address, browser=browser, device=device, max_age=max_age, method="proxy"
        )

    async def _admit(self, name: str, by: Actor) -> Person:
        """Return whose name it is; add a person who is new, where the settings say so."""
        person = await self.store.people.get(name)
        if person is None:
            return await self._create_person(name, by)
        if person.is_shut_out:
            raise SignInError(Message.of("proxy.shut_out", name=name))
        return person

    async def _create_person(self, name: str, by: Actor) -> Person:
        proxy = self.settings.auth.proxy
        if not proxy.create_people:
            raise SignInError(Message.of("proxy.unknown", name=name[:60]))
        if not re.fullmatch(NAME_PATTERN, name) or name in RESERVED_NAMES:
            raise SignInError(Message.of("proxy.bad_name", name=name[:60]))
        async with self.store.transaction():
            person = await self.people.add_without_password(name, proxy.default_role)
            if person is None:
                raise SignInError(Message.of("proxy.name_taken", name=name))
            await self.record(by, AuditAction.PERSON_ADD, name, after={"role": person.role, "proxy": proxy.header})
        return person
