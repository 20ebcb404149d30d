import datetime as dt
from pathlib import Path

import docx
import pytest

from monitor.config.model import SearchSettings, Settings
from monitor.db.database import Store
from monitor.errors import BrowserMissing, DatabaseError, SettingsError, UsageError, WorkFailed
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.services.doctor import Doctor, DoctorFinding, check_disk_space
from monitor.services.settings import SecretBox, SettingsService


class Noon:
    def __init__(self, year: int = 2026) -> None:
        self._year = year

    def now(self) -> dt.datetime:
        return dt.datetime(self._year, 11, 21, 12, tzinfo=dt.UTC)


async def _well(_settings: Settings) -> str:
    return "well"


async def _laid_over(settings: Settings) -> SettingsService:
    store, box = Store.open("sqlite:///never-opened.db"), SecretBox(settings.data_dir)
    return SettingsService(store=store, base=settings, secret_box=box, clock=Noon(), checks={})


async def _signed(_settings: Settings, _now: dt.datetime) -> DoctorFinding:
    return DoctorFinding(check="evidence", level="ok", message=Message("doctor.evidence_new"))


def _targets(_settings: Settings) -> str:
    return "no target"


async def _examined(settings: Settings, *, clock: Noon | None = None) -> dict[str, DoctorFinding]:
    doctor = Doctor(
        load=lambda: (settings, "config.yaml"),
        check_database=_well,
        load_stored_settings=_laid_over,
        check_model=_well,
        check_targets=_targets,
        check_storage=_targets,
        check_evidence=_signed,
        check_browser=_well,
        clock=clock or Noon(),
    )
    return {finding.check: finding for finding in await doctor.run_checks()}


async def test_what_is_well_says_what_was_found() -> None:
    found = await _examined(Settings(search=SearchSettings(backend=["archive", "ddg_html"])))
    assert {finding.level for finding in found.values()} == {"ok"}
    assert render(found["clock"].message, "en") == "2026-11-21 20:00 in Asia/Shanghai"
    assert render(found["search"].message, "en") == "archive, ddg_html"


async def test_each_part_that_is_not_well_fails_by_itself() -> None:
    async def database(_settings: Settings) -> str:
        raise DatabaseError("no database: run `monitor init`.")

    async def model(_settings: Settings) -> str:
        raise WorkFailed("no model: start it.")

    async def browser(_settings: Settings) -> str:
        raise BrowserMissing("no browser: install one.")

    def load() -> tuple[Settings, str]:
        return Settings(), "config.yaml"

    def targets(_settings: Settings) -> str:
        raise UsageError("no key: set it.")

    def storage(_settings: Settings) -> str:
        raise WorkFailed("no bucket: make one.")

    doctor = Doctor(
        load=load,
        check_database=database,
        load_stored_settings=_laid_over,
        check_model=model,
        check_browser=browser,
        check_targets=targets,
        check_storage=storage,
        clock=Noon(),
    )
    found = {finding.check: (finding.level, render(finding.message, "en")) for finding in await doctor.run_checks()}
    assert found["database"] == ("fail", "no database: run `monitor init`.")
    assert found["model"] == ("fail", "no model: start it.")
    assert found["browser"] == ("fail", "no browser: install one.")
    assert found["delivery"] == ("fail", "no key: set it.")
    assert found["storage"] == ("fail", "no bucket: make one.")
    assert found["configuration"][0] == found["clock"][0] == "ok"


async def test_a_broken_configuration_leaves_unchecked_what_depends_on_it() -> None:
    def load() -> tuple[Settings, str]:
        raise SettingsError("Unknown setting `x`.")

    doctor = Doctor(
        load=load,
        check_database=_well,
        load_stored_settings=_laid_over,
        check_model=_well,
        check_browser=_well,
        check_targets=_targets,
        check_storage=_targets,
        clock=Noon(),
    )
    found = {finding.check: finding.level for finding in await doctor.run_checks()}
    assert found["configuration"] == "fail"
    assert found["database"] == found["model"] == "warn"
    assert found["browser"] == found["clock"] == "ok"


@pytest.mark.parametrize(("backend", "word"), [("stub", "finds nothing real"), ("gogle", "no search backend 'gogle'")])
async def test_a_search_that_finds_nothing_is_a_warning(backend: str, word: str) -> None:
    finding = (await _examined(Settings(search=SearchSettings(backend=backend))))["search"]
    assert finding.level == "warn"
    assert word in render(finding.message, "en")


async def test_a_clock_in_the_past_fails() -> None:
    assert (await _examined(Settings(), clock=Noon(1970)))["clock"].level == "fail"


@pytest.mark.parametrize(
    ("free", "level", "room"),
    [
        (1_000_000_000, "ok", "1.0 GB"),
        (999_999_999, "warn", "1000 MB"),
        (100_000_000, "warn", "100 MB"),
        (99_999_999, "fail", "100 MB"),
        (0, "fail", "0 MB"),
    ],
)
def test_a_disk_that_fills_up_is_warned_of_before_it_is_full(free: int, level: str, room: str) -> None:
    finding = check_disk_space(Path("data"), free)
    assert finding.level == level
    assert render(finding.message, "en").startswith(f"{room} free for data")


async def test_a_template_of_the_firm_that_word_cannot_open_fails(tmp_path: Path) -> None:
    def with_template(path: Path) -> Settings:
        return Settings.model_validate({"briefing": {"template": path}})

    missing = (await _examined(with_template(tmp_path / "firm.docx")))["template"]
    assert (missing.level, "cannot be read" in render(missing.message, "en")) == ("fail", True)
    broken = tmp_path / "broken.docx"
    broken.write_bytes(b"PK no archive")
    found = (await _examined(with_template(broken)))["template"]
    assert (found.level, "is not a Word file" in render(found.message, "en")) == ("fail", True)
    firm = tmp_path / "firm.docx"
    docx.Document().save(firm)
    assert (await _examined(with_template(firm)))["template"].model_dump() == {
        "check": "template",
        "level": "ok",
        "message": str(firm),
        "message_code": "other",
        "message_args": {"text": str(firm)},
    }
    assert (await _examined(Settings()))["template"].level == "ok"
