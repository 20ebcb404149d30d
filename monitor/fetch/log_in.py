"""What a source is logged in with, and how that fails."""

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.config.secrets import SecretBindings, list_hosts
from monitor.errors import WorkFailed
from monitor.log_in import LogInStep


class LogInFailed(WorkFailed):
    """The log-in of a source did not work; the message says at which step and why, without any secret."""


@dataclass(frozen=True, kw_only=True)
class LogIn:
    """How a source is logged in to; `addresses` are its own, whose hosts no step leaves and no secret goes beyond."""

    steps: Sequence[LogInStep]
    addresses: Sequence[str]
    secrets: SecretBindings

    @property
    def hosts(self) -> frozenset[str]:
        return list_hosts(self.addresses)
