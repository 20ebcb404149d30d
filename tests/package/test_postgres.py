"""Several processes on PostgreSQL: web, scheduler and two workers do all that one process does."""

from pathlib import Path

import pytest

from tests.package.conftest import MakeVenv
from tests.package.installation import exercise
from tests.package.test_image import find_free_port

pytestmark = [pytest.mark.package, pytest.mark.timeout(3600)]


def test_two_workers_on_postgresql_do_all_that_an_installation_must(
    make_venv: MakeVenv, wheel: Path, postgres_url: str, tmp_path: Path
) -> None:
    monitor = make_venv(f"{wheel}[all]") / "bin" / "monitor"
    parts = ("web", "scheduler", "worker", "worker")
    exercise([monitor], tmp_path, port=find_free_port(), settings={"database_url": postgres_url}, parts=parts)
