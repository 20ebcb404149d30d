"""The composition root: the only place that builds real parts and joins them.

`parts.py` opens what the use cases are made of, `app.py` joins them to use cases, `service.py` puts them to work.
"""

from monitor.bootstrap.app import App, open_app
from monitor.bootstrap.clock import SystemClock
from monitor.bootstrap.databases import back_up_database, copy_database, restore_database, upgrade_database
from monitor.bootstrap.doctor import new_doctor
from monitor.bootstrap.service import open_service

__all__ = [
    "App",
    "SystemClock",
    "back_up_database",
    "copy_database",
    "new_doctor",
    "open_app",
    "open_service",
    "restore_database",
    "upgrade_database",
]
