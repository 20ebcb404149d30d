"""Secrets: read from files, and bound to the hosts that they are for: a key goes where it was given for alone."""

import os
import re
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from monitor.errors import SettingsError
from monitor.i18n.message import Message

_FOLDER_VARIABLES = ("MONITOR_SECRETS_DIR", "CREDENTIALS_DIRECTORY")
_CONTAINER_FOLDER = Path("/run/secrets")
_SECRET_FILE = re.compile(r"(?:monitor_)?([A-Z][A-Z0-9_]*)")
"""A file is named after the variable; systemd puts a prefix before what it loads from a folder."""


def load_secret_files(environment: MutableMapping[str, str]) -> None:
    """Set each variable that is not set from the file of its name in the folder of secrets.

    The folder is MONITOR_SECRETS_DIR, else that of systemd's credentials, else where containers find theirs.
    `SettingsError` where the folder that is named, or a file in it, cannot be read.
    """
    named = [Path(environment[variable]) for variable in _FOLDER_VARIABLES if environment.get(variable)]
    folder = named[0] if named else _CONTAINER_FOLDER
    if not named and not folder.is_dir():
        return
    try:
        for file in folder.iterdir():
            found = _SECRET_FILE.fullmatch(file.name)
            if found and file.is_file() and not environment.get(found[1]):
                environment[found[1]] = file.read_text(encoding="utf-8").strip("\r\n")
    except (OSError, ValueError) as error:
        raise SettingsError("config.secrets_not_readable", folder=folder, reason=str(error)) from None


SecretOrigin = Literal["environment", "stored"]

_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "smtp": 587, "smtps": 465, "workflows": 443}
_MAIL_SCHEMES = ("smtp", "smtps")
_PLACE = re.compile(r"(\[[0-9a-f:.]+\]|[\w.-]+)(:\d{1,5})?", re.IGNORECASE)


def get_host(url: str) -> str | None:
    """Return the host that a key for this address is bound to, as `api.example.org` or `http://10.0.0.5:8080`.

    Scheme and port belong to it: a key for https does not go out in the clear. Both are left out where they are https
    and the scheme's own. An address that two parsers could read differently has no host.
    """
    parts = _split_address(url)
    if parts is None:
        return None
    port = "" if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{'' if parts.scheme == 'https' else f'{parts.scheme}://'}{_format_name(parts)}{port}"


def get_host_and_port(url: str) -> str | None:
    """Return the host of an address as `host:port`."""
    parts = _split_address(url)
    port = parts and (parts.port or _DEFAULT_PORTS.get(parts.scheme))
    return f"{_format_name(parts)}:{port}" if parts and port else None


def list_hosts(urls: Iterable[str]) -> frozenset[str]:
    """Return the hosts of addresses; one of plain http stands for https too, to which its site may lead."""
    hosts = {host for url in urls if (host := get_host(url))}
    plain = {host.removeprefix("http://") for host in hosts if host.startswith("http://")}
    return frozenset(hosts | {name for name in plain if ":" not in name.rpartition("]")[2]})


def _split_address(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    user, _, place = parts.netloc.rpartition("@")
    is_plain = url.isprintable() and url == url.strip() and _PLACE.fullmatch(place) and "\\" not in parts.netloc
    return parts if has_host and is_plain and ("@" not in user or parts.scheme in _MAIL_SCHEMES) else None


def _format_name(parts: SplitResult) -> str:
    name = parts.hostname or ""
    return f"[{name}]" if ":" in name else name


@dataclass(frozen=True)
class StoredSecret:
    """A secret that was entered on the desk, and the hosts that it was entered for."""

    value: str = field(repr=False)
    hosts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class SecretBindings:
    """Which secret goes to which host.

    `environment` has the hosts of each variable of the environment: those that file and environment themselves name.
    None stands for settings that nobody but file and environment decides: these may send each variable where they say.
    """

    stored: Mapping[str, StoredSecret] = field(default_factory=dict)
    environment: Mapping[str, frozenset[str]] | None = None

    def get(self, variable: str, host: str | None) -> str | None:
        """Return the secret for a host, that of the environment before the stored one; None where there is none."""
        if self._serves_environment(variable, host):
            return os.environ[variable]
        stored = self.stored.get(variable)
        return stored.value if stored is not None and host in stored.hosts else None

    def get_origin(self, variable: str, host: str | None) -> SecretOrigin | None:
        if self._serves_environment(variable, host):
            return "environment"
        return "stored" if self.get(variable, host) else None

    def describe_problem(self, variable: str, host: str | None) -> Message | None:
        """Return why a secret that is there does not go to a host; None where it does, or where there is no secret."""
        stored, is_known = self.stored.get(variable), variable in (self.environment or {})
        in_environment = is_known and bool(os.environ.get(variable))
        if host is None or self.get(variable, host) or not (stored or in_environment):
            return None
        hosts = set(stored.hosts if stored else ())
        if in_environment and self.environment:
            hosts |= self.environment[variable]
        if not hosts:
            return Message.of("secret.for_no_host", variable=variable, host=host)
        return Message.of("secret.for_other_host", variable=variable, hosts=sorted(hosts), host=host)

    def _serves_environment(self, variable: str, host: str | None) -> bool:
        is_for_host = self.environment is None or host in self.environment.get(variable, ())
        return is_for_host and bool(os.environ.get(variable))
