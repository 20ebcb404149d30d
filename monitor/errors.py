"""What can go wrong, named after what the caller should do about it.

MonitorError
├── UsageError            the person who typed or configured it mends it        exit code 2
│   ├── NotFound            what was named is not there
│   ├── Forbidden           the role of whoever asks does not suffice
│   ├── Conflict            it changed in the meantime, or is in no state for it: look again
│   ├── SettingsError       config.yaml or the environment
│   └── DatabaseError       the database cannot be reached, or has another schema than this version needs
│       └── DatabaseGone      no connection, no room on its disk, or locked for long: wait, and begin again
├── WorkFailed            the work was well asked for and could not be done     exit code 1
│   ├── BrowserMissing      no Chromium on this machine, or none that starts
│   ├── ExtraMissing        what was asked for needs an extra of the distribution that is not installed
│   └── NotDelivered        a channel did not take a notification: try again, or not
├── ModelFailed           a model call gave no answer: fall back to the rule
│   └── ModelUnavailable    do not ask again in this run (circuit open, budget spent, key refused)
├── RecordLost            kept evidence is missing, damaged or altered; nothing is fetched in its place
└── RunCancelled          somebody asked the run to stop; what it had kept stays kept

Each carries a message: a code of the catalogue with its arguments. A face renders it in its reader's language; `str()`
gives the English sentence, for tracebacks and logs.
"""

from collections.abc import Sequence
from typing import Any

from monitor.i18n.catalogue import render
from monitor.i18n.message import Message


class MonitorError(Exception):
    """Root of all errors that this program raises on purpose: `UsageError("source.not_found", name=name)`."""

    exit_code = 1

    def __init__(self, code: str | Message, /, **args: Any) -> None:
        if isinstance(code, Message):
            self.message = code
        elif " " in code:  # a sentence, not yet in the catalogue
            self.message = Message.other(code)
        else:
            self.message = Message(code, args)
        super().__init__(self.message)

    def __str__(self) -> str:
        return render(self.message, "en")


def to_message(error: BaseException) -> Message | None:
    """Return what an error says; one that is not ours is other text, and None without words."""
    if isinstance(error, MonitorError):
        return error.message
    return Message.other(str(error)) if str(error) else None


class UsageError(MonitorError):
    exit_code = 2


class NotFound(UsageError): ...


class Forbidden(UsageError): ...


class Conflict(UsageError): ...


class SettingsError(UsageError): ...


class DatabaseError(UsageError): ...


class DatabaseGone(DatabaseError): ...


class WorkFailed(MonitorError): ...


class BrowserMissing(WorkFailed): ...


class PageUnavailable(WorkFailed): ...


class ExtraMissing(WorkFailed): ...


class NotDelivered(WorkFailed):
    """A notification did not arrive, or not with everybody.

    `may_retry`: another try may succeed, after `retry_after_s` where the receiver said so. `accepted` are those of
    several addresses that have it.
    """

    def __init__(
        self,
        code: str | Message,
        /,
        *,
        may_retry: bool = False,
        retry_after_s: float | None = None,
        accepted: Sequence[str] = (),
        **args: Any,
    ) -> None:
        super().__init__(code, **args)
        self.may_retry = may_retry
        self.retry_after_s = retry_after_s
        self.accepted = list(accepted)


_MODEL_OUTCOMES = frozenset(
    {"timeout", "network", "auth", "malformed", "error", "budget", "circuit", "length", "content_filter"}
)


class ModelFailed(MonitorError):
    """A model call ended without an answer; `outcome` is the word kept in the usage ledger."""

    def __init__(self, code: str | Message, /, *, outcome: str = "error", **args: Any) -> None:
        super().__init__(code, **args)
        self.outcome = outcome

    @property
    def reason(self) -> Message:
        """The failure as a run records it: `cause.model_timeout`, `cause.model_http` with its status."""
        kind, _, status = self.outcome.partition("_")
        if kind == "http" and status.isdecimal():
            return Message("cause.model_http", {"status": int(status), "error": self.message})
        if self.outcome in _MODEL_OUTCOMES:
            return Message(f"cause.model_{self.outcome}", {"error": self.message})
        return Message("cause.model_failed", {"outcome": self.outcome, "error": self.message})


class ModelUnavailable(ModelFailed): ...


class RecordLost(MonitorError): ...


class RunCancelled(MonitorError): ...
