"""Telling people what they should know of without asking."""

from monitor.domain.alarms import AlarmNote
from monitor.logs import logger_of


class LogNotices:
    """Writes each alarm to the log (`ports.Notifier`)."""

    async def notify(self, alarm: AlarmNote) -> None:
        """One line of the log."""
        logger_of("health").warning(
            "alarm", kind=str(alarm.kind), source=alarm.source, section=alarm.section, message=alarm.message,
            run=alarm.run_id,
        )  # fmt: skip
