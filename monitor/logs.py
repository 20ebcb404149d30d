"""Logs: one event a line on stderr, with the run and source that it belongs to.

Nothing is written before `configure_logging`: only long-running processes and `--debug` write a log.
"""

import json
import logging
import queue
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO
from urllib.parse import urlsplit

import structlog
from structlog.typing import Processor

Logger = structlog.stdlib.BoundLogger
_ROOT_LOGGER = "monitor"
_NOISY_LOGGERS = (
    "httpx",
    "httpcore",
    "openai",
    "hishel",
    "apscheduler",
    "trafilatura",
    "htmldate",
    "asyncio",
    "uvicorn.access",
)

# Without a handler of its own, Python prints warnings of a quiet program to stderr.
logging.getLogger(_ROOT_LOGGER).addHandler(logging.NullHandler())


def get_logger(room: str) -> Logger:
    """Return the logger of a room: `get_logger("db").warning("database gone", reason=…)`."""
    logger: Logger = structlog.wrap_logger(
        logging.getLogger(f"{_ROOT_LOGGER}.{room}"),
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=Logger,
        context_class=dict,
    )
    return logger


@contextmanager
def bind_log_context(*, run: str, source: str) -> Iterator[None]:
    """Add run and source to every event inside the block, whichever task it comes from."""
    with structlog.contextvars.bound_contextvars(run=run, source=source):
        yield


def configure_logging(
    *, level: int = logging.INFO, is_readable: bool | None = None, stream: TextIO | None = None
) -> None:
    """Write the log to stderr from now on, as JSON lines or, on a terminal, as text; libraries log warnings only."""
    target = stream or sys.stderr
    is_text = target.isatty() if is_readable is None else is_readable
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.contextvars.merge_contextvars, structlog.stdlib.ExtraAdder()],
            processors=_build_processors(is_text=is_text),
        )
    )
    root = logging.getLogger()
    for previous in list(root.handlers):
        if isinstance(previous.formatter, structlog.stdlib.ProcessorFormatter):
            root.removeHandler(previous)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger(_ROOT_LOGGER).setLevel(level)
    for name in _NOISY_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)


def _build_processors(*, is_text: bool) -> list[Processor]:
    common: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
    ]
    if is_text:
        return [*common, structlog.dev.ConsoleRenderer(colors=False)]
    return [*common, structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]


_AUDIT_LOGGER = logging.getLogger(f"{_ROOT_LOGGER}.audit.syslog")
_AUDIT_LOGGER.propagate = False  # to syslog alone: the database has it, and the log of the process is for others
_AUDIT_LOGGER.addHandler(logging.NullHandler())
_AUDIT_LOGGER.setLevel(logging.CRITICAL)
_MAX_WAITING = 10_000
_MAX_LINE_BYTES = 8000  # what rsyslog takes as one message
_MAX_PAUSE_S = 30.0
_MAX_FLUSH_S = 2.0
_DEFAULT_PORTS = {"udp": 514, "tcp": 601}


@dataclass(frozen=True, slots=True)
class SyslogAddress:
    """Where syslog is received: `place` is host and port, or the path of a socket."""

    scheme: str
    place: tuple[str, int] | str

    @classmethod
    def parse(cls, text: str) -> "SyslogAddress":
        """Read `udp://host:514`, `tcp://host:601` or `unix:///dev/log`; `ValueError` for anything else."""
        parts = urlsplit(text.strip())
        if parts.scheme == "unix" and not parts.netloc and len(parts.path) > 1:
            return cls("unix", parts.path)
        if parts.scheme in _DEFAULT_PORTS and parts.hostname and not parts.path.strip("/"):
            return cls(parts.scheme, (parts.hostname, parts.port or _DEFAULT_PORTS[parts.scheme]))
        raise ValueError(text)


def send_audit_entry(entry: Mapping[str, Any]) -> None:
    """Hand an entry of the audit to syslog, where `forward_audit` is on; returns at once."""
    if _AUDIT_LOGGER.isEnabledFor(logging.INFO):
        _AUDIT_LOGGER.info("%s", _format_audit_line(entry))


def _format_audit_line(entry: Mapping[str, Any]) -> str:
    line = json.dumps(entry, ensure_ascii=False, default=str).encode("utf-8", "replace")
    if len(line) > _MAX_LINE_BYTES:
        # What no receiver would take whole is in the database; who, when, what and where from arrives.
        short = {**entry, "subject": str(entry["subject"])[:500], "detail": None, "is_cut": True}
        line = json.dumps(short, default=str).encode()
    return line.decode()


@contextmanager
def forward_audit(address: str | None) -> Iterator[None]:
    """Send the entries of the audit to syslog while the block runs; None is nowhere."""
    if address is None:
        yield
        return
    sender = _SyslogSender(SyslogAddress.parse(address))
    _AUDIT_LOGGER.addHandler(sender)
    _AUDIT_LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        _AUDIT_LOGGER.removeHandler(sender)
        if not any(isinstance(handler, _SyslogSender) for handler in _AUDIT_LOGGER.handlers):
            _AUDIT_LOGGER.setLevel(logging.CRITICAL)
        sender.close()


class _SyslogSender(logging.Handler):
    """Sends from a thread of its own, which starts with the first line: nobody waits for a network.

    While the receiver cannot be reached, up to 10,000 lines wait; further ones are dropped, and counted in the log.
    """

    def __init__(self, address: SyslogAddress) -> None:
        super().__init__()
        self._address = address
        self._waiting: queue.Queue[logging.LogRecord | None] = queue.Queue(_MAX_WAITING)
        self._is_closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._send_all, name="syslog", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait(record)
        except queue.Full:
            self._dropped += 1

    def close(self) -> None:
        """Send what waits, for two seconds at most."""
        super().close()
        self._is_closing.set()
        if self._thread is not None:
            try:
                self._waiting.put_nowait(None)
            except queue.Full:
                return
            self._thread.join(_MAX_FLUSH_S)

    def _send_all(self) -> None:
        log, pause_s, handler = get_logger("syslog"), 0.0, None
        while (record := self._waiting.get()) is not None:
            while True:
                try:
                    handler = handler or _open_syslog(self._address)
                    handler.emit(record)
                    break
                except (OSError, UnicodeError) as error:  # a name that no resolver takes is the latter
                    if handler is not None:
                        handler.close()
                        handler = None
                    if not pause_s:
                        log.warning("syslog cannot be reached", reason=str(error))
                    pause_s = min(max(pause_s * 2, 1.0), _MAX_PAUSE_S)
                    if self._is_closing.wait(pause_s):
                        return
            if pause_s or self._dropped:
                log.warning("syslog is reached again", dropped=self._dropped)
                pause_s, self._dropped = 0.0, 0
        if handler is not None:
            handler.close()


def _open_syslog(address: SyslogAddress) -> logging.Handler:
    """Return a handler that raises `OSError` where it cannot send; `OSError` where nobody can be connected to."""
    import socket
    from logging.handlers import SysLogHandler

    class Handler(SysLogHandler):
        append_nul = False
        ident = "monitor: "

        def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 -- the library's name
            raise  # noqa: PLE0704 -- it is called while the error is handled

    is_stream = address.scheme == "tcp"
    kind = {"udp": socket.SOCK_DGRAM, "tcp": socket.SOCK_STREAM}.get(address.scheme)
    handler = Handler(address.place, facility=SysLogHandler.LOG_AUTHPRIV, socktype=kind)
    handler.setFormatter(logging.Formatter("%(message)s\n" if is_stream else "%(message)s"))
    return handler
