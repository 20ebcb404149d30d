"""Sign-ins that take more than one request: what the answer is checked against is kept here, and counts once."""

import datetime as dt
import secrets
from typing import Any

from monitor.db.tables.identity import SignInFlow, SignInStep
from monitor.i18n.message import Message
from monitor.services.audit import AuditedService, hash_token
from monitor.services.people import SignInError

FLOW_LIFETIME = dt.timedelta(minutes=10)
_MAX_FLOWS = 10_000  # under way at once: nobody fills the database by asking for more


class SignInFlowService(AuditedService):
    """A service whose sign-ins are begun in one request and ended in another, by the same browser."""

    async def begin_flow(self, step: SignInStep, *, person: str | None = None, **data: Any) -> str:
        """Keep what the answer will be checked against; return the cookie by which the browser is recognised."""
        cookie, now = secrets.token_urlsafe(32), self.clock.now()
        flow = SignInFlow(id=hash_token(cookie), step=step, person=person, data=data, expires_at=now + FLOW_LIFETIME)
        if not await self.store.identity.begin_flow(flow, now=now, limit=_MAX_FLOWS):
            raise SignInError(Message("sign_in.busy"), wait_minutes=1)
        return cookie

    async def find_flow(self, cookie: str, step: SignInStep, *, person: str | None = None) -> SignInFlow | None:
        """Return what was kept, for a look: its answer counts once it was taken."""
        flow = await self.store.identity.find_flow(hash_token(cookie), step, now=self.clock.now())
        return flow if flow is None or person in (None, flow.person) else None

    async def take_flow(self, cookie: str, step: SignInStep, *, person: str | None = None) -> SignInFlow:
        """Return what was kept and forget it; `SignInError` where it is over, or was begun for somebody else."""
        flow = await self.store.identity.take_flow(hash_token(cookie), step, now=self.clock.now())
        if flow is None or (person is not None and flow.person != person):
            raise SignInError(Message("sign_in.flow_over"))
        return flow
