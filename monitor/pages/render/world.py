"""Our own scripts inside a page, in a world of their own: what the page makes of the built-in names is not there."""

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

_NAME = "monitor"


class World:
    """Asks the document in the main frame of a tab.

    It sees the page's elements, not its scripts, and what it keeps in `globalThis` lasts as long as the document. The
    elements may still be bent (`<img name=links>` stands in the way of `document.links`): an answer is only as good
    as its check. `frame_id` is the frame as the DevTools protocol names it, the same for page after page.
    """

    def __init__(self, session: CDPSession, frame_id: str) -> None:
        self._session = session
        self._context_id: int | None = None
        self.frame_id = frame_id

    @classmethod
    async def open(cls, session: CDPSession) -> "World":
        """The world of the tab that `session` belongs to."""
        tree = await session.send("Page.getFrameTree")
        return cls(session, tree["frameTree"]["frame"]["id"])

    def forget(self) -> None:
        """Another document came: its world has to be made."""
        self._context_id = None

    async def ask(self, script: str, given: dict[str, float] | None = None) -> object:
        """What the function in `script` answers; None where it failed.

        Playwright's error where the page left for another one meanwhile, or is closed.
        """
        try:
            answer = await self._session.send(
                "Runtime.callFunctionOn",
                {
                    "functionDeclaration": script,
                    "executionContextId": self._context_id or await self._made(),
                    "arguments": [{"value": given or {}}],
                    "awaitPromise": True,
                    "returnByValue": True,
                },
            )
        except PlaywrightError:
            self.forget()
            raise
        return None if "exceptionDetails" in answer else answer["result"].get("value")

    async def _made(self) -> int:
        """The world of the document that is shown now; asked for again, the same one."""
        made = await self._session.send("Page.createIsolatedWorld", {"frameId": self.frame_id, "worldName": _NAME})
        self._context_id = int(made["executionContextId"])
        return self._context_id
