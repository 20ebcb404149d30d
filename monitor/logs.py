"""Logs: one event a line on stderr, with the run and source that it belongs to.

Nothing is written before `configure_logging`: only long-running processes and `--debug` write a log.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

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
