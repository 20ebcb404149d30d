"""The secrets that log-ins of sources type: which source names which, for which hosts, and what a run gets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from monitor.config.secrets import SecretBindings, StoredSecret, list_hosts
from monitor.config.stored import SOURCE_PREFIX, SecretReader, collect_hosts
from monitor.db.tables.collection import Source
from monitor.fetch.log_in import LogIn
from monitor.i18n.message import Message
from monitor.log_in import LogInStep


def list_addresses(source: Mapping[str, Any]) -> list[str]:
    """Return the addresses of a source as it is written: its own and those of its pinned sections."""
    sections = source.get("sections") or []
    urls = [source.get("url"), *(section.get("url") for section in sections if isinstance(section, Mapping))]
    return [url for url in urls if isinstance(url, str)]


def list_source_readers(sources: Iterable[Mapping[str, Any]], secrets: SecretBindings) -> list[SecretReader]:
    """Return who reads which secret, of sources as they are written; steps that are none are passed over."""
    return [
        SecretReader(step.secret, f"{SOURCE_PREFIX}{source.get('name', '')}", host, secrets)
        for source in sources
        for step in _parse_steps(source.get("steps"))
        if step.secret
        for host in sorted(list_hosts(list_addresses(source)))
    ]


def _parse_steps(steps: object) -> list[LogInStep]:
    try:
        return [LogInStep.model_validate(step) for step in steps] if isinstance(steps, list) else []
    except ValidationError:
        return []


def bind_source_secrets(stored: Mapping[str, StoredSecret], rows: Sequence[Mapping[str, Any]]) -> SecretBindings:
    """Return the secrets for log-ins: the stored ones, and variables of the environment that config.yaml names.

    `rows` are the sources of config.yaml. Who edits sources on the desk is not who runs the machine: no step that is
    written there gets a variable of the environment, unless the file sends it to the same host.
    """
    return SecretBindings(stored, collect_hosts(list_source_readers(rows, SecretBindings())))


def build_log_in(source: Source, secrets: SecretBindings) -> LogIn | None:
    """Return how a source is logged in to; None for one without steps."""
    if not source.steps:
        return None
    steps = [LogInStep.model_validate(step) for step in source.steps]
    return LogIn(steps=steps, addresses=list_addresses(source.model_dump(include={"url", "sections"})), secrets=secrets)


def find_shared_secret(variable: str, readers: Sequence[SecretReader]) -> Message | None:
    """Return why a secret of a source cannot be stored: something else, with another host, goes by the same name.

    Otherwise whoever adds a source could have what is entered for another one.
    """
    hosts: dict[str, set[str | None]] = {}
    for reader in readers:
        if reader.variable == variable:
            hosts.setdefault(reader.used_by, set()).add(reader.host)
    if not any(used_by.startswith(SOURCE_PREFIX) for used_by in hosts) or len(set(map(frozenset, hosts.values()))) < 2:
        return None
    return Message.of("settings.secret_of_several", variable=variable, readers=sorted(hosts))
