"""A sweep of the sample ministry with a model that invents figures: proved from its records, and replayed."""

import asyncio
import datetime as dt
import json
import re
import shutil
import sqlite3
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio

from benchmarks.scripted_model.server import ScriptedModel
from monitor.bootstrap import App, open_app
from monitor.briefing.compose import Briefing
from monitor.briefing.render import render_briefing
from monitor.config.llm import LlmSettings
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.demo.site import TIMEZONE, SampleSite, build_sample_settings
from monitor.errors import RecordLost, UsageError
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.services.audit import COMMAND_LINE
from monitor.services.briefings import BriefingQuery, BriefingService
from monitor.services.evidence import ItemProof

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHECKER = Path(__file__).parents[2] / "acceptance" / "check_evidence.py"


@dataclass
class Recorded:
    """What two sweeps left behind, the site and the model gone."""

    settings: Settings
    folder: Path
    first: str = ""
    second: str = ""
    items: list[dict[str, Any]] = field(default_factory=list)
    briefings: list[Briefing] = field(default_factory=list)
    files_after_first: set[str] = field(default_factory=set)

    def files(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in (self.folder / "evidence").rglob("*") if path.is_file()}

    def rows(self, query: str) -> list[Any]:
        with sqlite3.connect(self.folder / "monitor.db") as connection:
            return connection.execute(query).fetchall()

    def copy(self, folder: Path) -> "Recorded":
        shutil.copytree(self.folder, folder)
        settings = self.settings.model_copy(
            update={"data_dir": folder, "database_url": f"sqlite:///{folder / 'monitor.db'}"}
        )
        return Recorded(settings, folder, self.first, self.second, self.items, self.briefings)

    def file(self, record: dict[str, Any]) -> Path:
        """Where this copy has the file of a record."""
        return self.folder / "evidence" / record["file"].partition("/evidence/")[2]

    def damage(self, record: dict[str, Any]) -> None:
        """Write other bytes where this copy has the body of a record."""
        ((offset,),) = self.rows(f"SELECT \"offset\" FROM record WHERE id = '{record['id']}'")  # noqa: S608
        with self.file(record).open("r+b") as opened:
            opened.seek(offset + 30)
            opened.write(b"other")

    @property
    def overview(self) -> list[dict[str, Any]]:
        """The sentences of the overviews, as the briefings' JSON has them."""
        return [sentence.model_dump(mode="json") for briefing in self.briefings for sentence in briefing.overview]

    async def judged(self, items: list[dict[str, Any]], overview: Any = ()) -> dict[str, Any]:
        """What the checker says, which reads nothing but the files."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(CHECKER),
            str(self.folder / "evidence"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        report = json.dumps({"items": items, "overview": list(overview)})
        out, _ = await process.communicate(report.encode())
        assert process.returncode == 0
        answer: dict[str, Any] = json.loads(out)
        return answer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    site = SampleSite(today=dt.datetime.now(ZoneInfo(TIMEZONE)).date())
    folder = tmp_path_factory.mktemp("recorded") / "data"
    async with AsyncExitStack() as stack:
        base_url = await stack.enter_async_context(site.serve())
        model_url = await stack.enter_async_context(ScriptedModel("hallucinating").serve())
        settings = build_sample_settings(Settings(), base_url, folder=folder)
        settings = settings.model_copy(
            update={"llm": LlmSettings(enabled=True, base_url=model_url, max_retries=1, timeout_s=20)}
        )
        found = Recorded(settings, folder)
        async with open_app(settings) as app:
            values = {"name": "ministry", "url": base_url, "focus_areas": [entry["name"] for entry in site.focus_areas]}
            source = await app.sources.add(values, by=COMMAND_LINE)
            found.first = (await app.sweeps.sweep(source, by=COMMAND_LINE)).run_id
            found.files_after_first = found.files()
            items = await app.store.items.list_for_run(found.first)
            for types in ([], *([kind] for kind in dict.fromkeys(item.type for item in items))):
                found.briefings.append(await app.briefings.compose(BriefingQuery(top=50, types=types)))
            found.items = [await proved(app, item.id or 0) for item in items]
            found.second = (await app.sweeps.sweep(await app.sources.get("ministry"), by=COMMAND_LINE)).run_id
    return found


async def proved(app: App, item_id: int) -> dict[str, Any]:
    """As `monitor items show ID --evidence --json` prints it."""
    item, proof = await app.archive.get_item(item_id), await app.proofs.get_proof(item_id)
    return item.model_dump(mode="json") | proof.model_dump(mode="json", include={"claims", "records"})


class TestProof:
    async def test_every_url_title_date_and_figure_stands_in_the_bytes_that_were_kept(self, recorded: Recorded) -> None:
        judged = await recorded.judged(recorded.items, recorded.overview)
        assert judged["problems"] == []
        assert judged["of_overview"] > 40
        assert judged["checked"] > 200
        assert len(recorded.items) > 40
        assert {record["problem"] for item in recorded.items for record in item["records"]} == {None}

    async def test_what_a_model_invented_was_dropped_and_counted(self, recorded: Recorded) -> None:
        """Beside each true sentence of an overview the model writes five that rest on nothing."""
        written = [briefing for briefing in recorded.briefings if briefing.overview]
        assert len(written) > 3
        for briefing in written:
            assert briefing.overview_dropped >= 5 * len({sentence.items[0] for sentence in briefing.overview})
        kept = " ".join(entry["text"] for entry in recorded.overview)
        assert not any(invented in kept for invented in ("98765", "87.3%", "2031", "关于未来的若干意见"))
        rows = recorded.rows("SELECT reason FROM fallback WHERE phase = 'summarise'")
        reasons = [render(Message.from_json(json.loads(reason)), "en") for (reason,) in rows]
        extracts = [item for item in recorded.items if item["summary_by"] == "extract"]
        assert len(extracts) > 40
        assert sum("not on the page: " in reason and "98765亿元" in reason for reason in reasons) == len(extracts)

    async def test_what_could_not_be_seen_is_said_in_the_language_of_the_briefing(self, recorded: Recorded) -> None:
        whole = recorded.briefings[0]
        text = render_briefing(whole, "md").decode().partition("未能看到的内容")[2]
        assert {"degraded", "unseen", "blocked"} <= {gap.kind for gap in whole.gaps}
        assert "网站只让浏览器访问（412）" in text
        assert "模型的摘要未被采用，改为摘录" in text
        assert "（原文）" not in text

    async def test_the_checker_notices_an_altered_overview(self, recorded: Recorded) -> None:
        with_figures = [entry for entry in recorded.overview if re.search(r"\d", entry["text"])]
        assert len(with_figures) > 5
        for sentence in with_figures[:6]:
            altered = sentence | {"text": re.sub(r"\d+", lambda found: f"{found[0]}9", sentence["text"], count=1)}
            assert (await recorded.judged(recorded.items, [altered]))["problems"], altered
        dated = next(figure for figure in with_figures if re.search(r"\d{4}年\d+月\d+日", figure["text"]))
        for order in (r"\1年\3月\2日", r"\1年\2月\2日"):  # the same figures, which are another day or none
            other_day = re.sub(r"(\d{4})年(\d+)月(\d+)日", order, dated["text"])
            judged = await recorded.judged(recorded.items, [dated | {"text": other_day}])
            assert judged["problems"] or other_day == dated["text"], other_day
        invented = [
            {"text": "全国新增装机8765.4万千瓦。", "items": [recorded.items[0]["id"]]},
            {"text": "总体平稳。", "items": []},
            {"text": "总体平稳。", "items": [999_999]},
        ]
        assert len((await recorded.judged(recorded.items, invented))["problems"]) == 3

    async def test_the_checker_notices_what_was_altered(self, recorded: Recorded) -> None:
        def altered(**changes: Any) -> list[dict[str, Any]]:
            item = next(
                entry for entry in recorded.items if entry["date"] and "figure" in {c["kind"] for c in entry["claims"]}
            )
            return [item | changes]

        for changes in (
            {"summary": "新型储能装机规模达到777.7亿千瓦以上。"},
            {"date": "2001-02-03"},
            {"url": "http://127.0.0.1/elsewhere.html"},
            {"title": "一份从未发布过的文件"},
            {"evidence": ["0123456789abcdef"]},
        ):
            assert (await recorded.judged(altered(**changes)))["problems"], changes
        claims = [claim | {"passage": f"{claim['passage']}另行增加999人。"} for claim in altered()[0]["claims"]]
        assert (await recorded.judged(altered(claims=claims)))["problems"]

    async def test_an_item_without_a_record_says_so(self, recorded: Recorded, tmp_path: Path) -> None:
        copy = recorded.copy(tmp_path / "copy")
        item = copy.items[0]
        copy.damage(item["records"][0])
        async with open_app(copy.settings) as app:
            proof: ItemProof = await app.proofs.get_proof(item["id"])
        assert proof.records[0].problem is not None
        assert proof.records[0].problem.code == "record.altered"
        assert proof.records[1].problem is None


class TestStore:
    async def test_a_second_run_over_the_same_pages_adds_rows_and_no_files(self, recorded: Recorded) -> None:
        assert recorded.files() == recorded.files_after_first
        counts = dict(recorded.rows("SELECT run_id, count(*) FROM record WHERE sha256 IS NOT NULL GROUP BY run_id"))
        assert counts[recorded.second] > 10

    async def test_every_answer_of_the_site_is_kept_errors_among_them(self, recorded: Recorded) -> None:
        refused = recorded.rows("SELECT status, size, stored_at FROM record WHERE error IS NOT NULL AND way = 'http'")
        assert refused
        assert all(status == 412 and size > 0 and place for status, size, place in refused)

    async def test_places_are_made_of_day_run_and_a_hash_alone(self, recorded: Recorded) -> None:
        ((bodies,),) = recorded.rows("SELECT count(DISTINCT sha256) FROM record")
        assert len(recorded.files()) * 10 < bodies
        for path in recorded.files():
            folder, year, month, day, name = path.split("/")
            dt.date(int(year), int(month), int(day))
            assert folder == "evidence"
            assert re.fullmatch(re.escape(recorded.first.lower()) + r"-[0-9a-f]{16}\.warc\.gz", name)


class TestReplay:
    async def test_a_run_is_the_same_again_to_the_byte_with_neither_site_nor_model(
        self, recorded: Recorded, tmp_path: Path
    ) -> None:
        copy = recorded.copy(tmp_path / "copy")
        with sqlite3.connect(copy.folder / "monitor.db") as connection:
            connection.execute("PRAGMA foreign_keys=ON")
            # As it was before the second run: the day's briefing rests on one run alone.
            connection.execute("DELETE FROM run WHERE id = ?", [recorded.second])
            connection.execute("UPDATE source SET last_run_at = (SELECT ended_at FROM run)")
            connection.execute("UPDATE source SET last_success_at = last_run_at")
        kept = tmp_path / "replay.db"
        async with open_app(copy.settings) as app:
            replay = await app.replays.replay(recorded.first, database=kept)
        async with open_app(copy.settings) as app, Store.open(f"sqlite:///{kept}") as again:
            assert replay.differences == []
            assert replay.is_identical
            assert replay.is_briefing_identical
            assert replay.records == replay.shown
            assert replay.answers > 100
            run = await app.store.runs.get(recorded.first)
            assert run is not None
            assert run.ended_at is not None
            clock = FixedClock(run.ended_at)
            briefings = [
                await BriefingService(store=store, clock=clock, settings=copy.settings, workers=app.workers).compose(
                    BriefingQuery(sources=["ministry"])
                )
                for store in (app.store, again)
            ]
            items = [await store.items.list_for_run(recorded.first) for store in (app.store, again)]
        assert briefings[0].items
        assert briefings[0].model_dump_json().encode() == briefings[1].model_dump_json().encode()
        assert [item.model_dump_json() for item in items[0]] == [entry.model_dump_json() for entry in items[1]]

    async def test_a_run_that_found_everything_known_is_replayed_too(self, recorded: Recorded) -> None:
        async with open_app(recorded.settings) as app:
            replay = await app.replays.replay(recorded.second)
        assert replay.differences == []
        assert replay.replayed.items == []
        assert replay.replayed.coverage.known > 40

    async def test_what_was_changed_afterwards_is_named(self, recorded: Recorded, tmp_path: Path) -> None:
        copy = recorded.copy(tmp_path / "copy")
        item_id = copy.items[0]["id"]
        with sqlite3.connect(copy.folder / "monitor.db") as connection:
            connection.execute("UPDATE item SET summary = '总量为777亿元。' WHERE id = ?", [item_id])
            connection.execute("UPDATE candidate SET disposition = 'left' WHERE item_id = ?", [item_id])
        async with open_app(copy.settings) as app:
            replay = await app.replays.replay(recorded.first)
        assert not replay.is_identical
        named = {difference.what.split(" http")[0]: difference for difference in replay.differences}
        assert named[f"item {item_id}: summary"].recorded == "总量为777亿元。"
        assert {"candidate", "coverage"} <= set(named)

    async def test_an_altered_record_is_no_record(self, recorded: Recorded, tmp_path: Path) -> None:
        copy = recorded.copy(tmp_path / "copy")
        copy.damage(copy.items[0]["records"][-1])
        async with open_app(copy.settings) as app:
            with pytest.raises(RecordLost, match="altered or damaged"):
                await app.replays.replay(recorded.first)

    async def test_how_many_records_are_gone_is_said_before_anything_is_done(
        self, recorded: Recorded, tmp_path: Path
    ) -> None:
        copy = recorded.copy(tmp_path / "copy")
        for item in copy.items[:3]:
            copy.damage(item["records"][-1])
        async with open_app(copy.settings) as app:
            with pytest.raises(RecordLost, match=r"3 of its \d\d recorded pages .* altered or damaged"):
                await app.replays.replay(recorded.first)

    async def test_a_page_that_was_not_recorded_is_an_error_and_no_fetch(
        self, recorded: Recorded, tmp_path: Path
    ) -> None:
        copy = recorded.copy(tmp_path / "copy")
        url = copy.items[0]["url"]
        with sqlite3.connect(copy.folder / "monitor.db") as connection:
            connection.execute("DELETE FROM record WHERE run_id = ? AND url = ?", [recorded.first, url])
        async with open_app(copy.settings) as app:
            with pytest.raises(RecordLost, match=f"no record of {url}"):
                await app.replays.replay(recorded.first)

    async def test_an_answer_that_was_not_recorded_is_an_error(self, recorded: Recorded, tmp_path: Path) -> None:
        copy = recorded.copy(tmp_path / "copy")
        with sqlite3.connect(copy.folder / "monitor.db") as connection:
            connection.execute("DELETE FROM answer WHERE phase = 'rank'")
        async with open_app(copy.settings) as app:
            with pytest.raises(RecordLost, match="did not ask the model this: rank"):
                await app.replays.replay(recorded.first)

    async def test_what_was_known_then_must_still_be_there(self, recorded: Recorded, tmp_path: Path) -> None:
        copy = recorded.copy(tmp_path / "copy")
        with sqlite3.connect(copy.folder / "monitor.db") as connection:
            connection.execute("DELETE FROM known_url WHERE rowid IN (SELECT rowid FROM known_url LIMIT 1)")
        async with open_app(copy.settings) as app:
            with pytest.raises(RecordLost, match="can no longer be reconstructed"):
                await app.replays.replay(recorded.second)

    async def test_there_is_nothing_to_replay_of_what_was_never_recorded(self, recorded: Recorded) -> None:
        async with open_app(recorded.settings) as app:
            with pytest.raises(UsageError, match="There is no run"):
                await app.replays.replay("s1-nobody")
            with pytest.raises(UsageError, match="choose another name"):
                await app.replays.replay(recorded.first, database=recorded.folder / "monitor.db")


@dataclass
class FixedClock:
    instant: dt.datetime

    def now(self) -> dt.datetime:
        return self.instant
