"""The exchanges that the OpenAPI document shows: the service that they are sent to, sending, and comparing.

`python -m tests.integration.web.exchanges` sends every request of `monitor/web/api/examples.json` and writes what was
answered; the request of a new operation is put there by hand. The order is that of the file, so that an object is made
before it is read, and read before it is removed.
"""

import asyncio
import datetime as dt
import json
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
from sqlalchemy import update

from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db import migrate
from monitor.db.tables.collection import ModelCall
from monitor.db.tables.delivery import AlarmFinding, AlarmKind, Delivery, DeliveryStatus
from monitor.db.tables.evaluation import Evaluation, EvaluationPiece, EvaluationStatus
from monitor.db.tables.policies import Deadline
from monitor.db.tables.questions import ArchiveQuestion, QuestionStatus
from monitor.db.tables.research import Research, ResearchStatus
from monitor.demo.site import SampleSite, build_sample_settings
from monitor.evaluation.pieces import DraftStatement, PieceRow, SampledRun, SummaryWritten
from monitor.i18n.message import Message
from monitor.services.archive_export import ExportForm
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.topic_form import TopicForm
from monitor.services.webhooks.endpoints import WebhookForm
from monitor.vocabulary import DeadlineKind, Phase, Role, Verdict
from monitor.web.openapi import EXAMPLE_NAME, ExampleExchange, JsonObject, Operation
from tests.integration.web.conftest import PASSWORD
from tests.integration.web.researches import put

NOW = dt.datetime(2026, 2, 3, 8, tzinfo=dt.UTC)
PERSON = "lilei"
SITE = "https://ministry.example"
FOLDER = "/var/lib/monitor"
RUN_ID = "s1-20260203T080000Z-5f3a"
TASK_ID = "r-20260203T010000Z-5f3a9c1e"
EVALUATION_ID = "5f0c2a9be1d4"
SESSION_IDS = ("0c1d2e3f4a5b69788796a5b4c3d2e1f0", "f0e1d2c3b4a5968778695a4b3c2d1e0f")
NEW_IDS = {
    "start_run": ("s1-20260203T080000Z-77c1", "run_id"),
    "start_trial": ("u0dRr3vF7aKq", "id"),
    "add_bodies": ("Zk3nB8sYw2Lp", "id"),
    "start_evaluation": ("a81c04f2d97e", "id"),
    "follow_topic": ("Qm7tW1xE5rG9uJ3kN6vB0cD4", "calendar_key"),
    "create_feed_key": ("hT2yV8zP4sM6bX1wC9qL5jR3fA7dK0nE", "opml"),
    "get_next_pair": ("9a3bd0c1e55f7a20", "pair"),
}
"""What the file calls the ids that an operation draws by lot, and the field of its answer in which they stand."""

VARYING = ("get_trial", "stop_trial", "get_addition", "stop_addition", "get_kept_briefing", "get_next_pair")
"""Operations whose answer says how far work in the background is, or has an order that is drawn by lot."""

MAX_LISTED = 2
EXAMPLES = Path(__file__).parents[3] / "monitor" / "web" / "api" / "examples.json"
_RANDOM = re.compile(r"[0-9A-Za-z_+/=:.~<>@-]{8,}")
_PRIVATE = re.compile(r"(.*/(?:shared|feeds/private)/)([\w-]{20,})(.*)")
_UUID = re.compile(r"urn:uuid:[0-9a-f-]{36}")
_MEASURED = re.compile(r".*(_ms|_s|_bytes|latency|bytes|executor|pid)$")
_TEXTS = ("application/atom+xml", "text/x-opml", "text/markdown", "application/yaml")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*")


def build_body(media_type: str, value: Any) -> dict[str, Any]:
    """Return what httpx is given to send a body; the lists of a form are its files."""
    if media_type == "multipart/form-data":
        fields = {name: part for name, part in value.items() if isinstance(part, str)}
        files = [
            (name, (f"{name}.txt", text)) for name, part in value.items() if isinstance(part, list) for text in part
        ]
        return {"data": fields, "files": files}
    content = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return {"content": content, "headers": {"Content-Type": media_type}}


class FixedClock:
    """A clock that stands still, so that what is answered is the same on any day."""

    moment: dt.datetime = NOW

    def now(self) -> dt.datetime:
        return self.moment


@dataclass
class Exchanger:
    """Sends the requests of the document to a service, and reads its answers as the document writes them.

    `aliases` are what stands in the document for something that differs each time, as the port of a server or a
    random id: the document's word, and the one of this service.
    """

    client: httpx.AsyncClient
    aliases: dict[str, str] = field(default_factory=dict)

    async def send(self, operation: Operation, *, name: str = EXAMPLE_NAME) -> httpx.Response:
        path, query, headers = operation.path, [], {}
        for parameter in operation.described.get("parameters", ()):
            value = parameter.get("examples", {}).get(name, {}).get("value")
            if value is None:
                continue
            plain = self._translate(value)
            if parameter["in"] == "path":
                path = path.replace(f"{{{parameter['name']}}}", quote(str(plain), safe=""))
            elif parameter["in"] == "header":
                headers[parameter["name"]] = str(plain)
            else:
                query += [(parameter["name"], each) for each in (plain if isinstance(plain, list) else [plain])]
        content, sent = operation.described.get("requestBody", {}).get("content", {}), {}
        for media_type, body in content.items():
            if name in body.get("examples", {}):
                value = self._translate(body["examples"][name]["value"])
                sent = build_body(media_type, value)
        headers |= sent.pop("headers", {})
        return await self.client.request(operation.method.upper(), path, params=query, headers=headers, **sent)

    def read(self, answer: httpx.Response) -> tuple[str | None, Any]:
        """Return media type and body of an answer, null for an empty or a binary one."""
        media_type = answer.headers.get("content-type", "").partition(";")[0]
        if not answer.content:
            return None, None
        if media_type == "application/json" or media_type.endswith("+json"):
            return media_type, self._translate(answer.json(), backwards=True)
        if media_type not in _TEXTS:
            return None, None
        text = _UUID.sub("urn:uuid:00000000-0000-0000-0000-000000000000", answer.text)  # made of addresses with a port
        return media_type, self._translate(text, backwards=True)

    def _translate(self, value: Any, *, backwards: bool = False) -> Any:
        if isinstance(value, str):
            for written, actual in self.aliases.items():
                value = value.replace(actual, written) if backwards else value.replace(written, actual)
            return value
        if isinstance(value, list):
            return [self._translate(each, backwards=backwards) for each in value]
        if isinstance(value, dict):
            return {name: self._translate(each, backwards=backwards) for name, each in value.items()}
        return value

    def is_as_written(self, name: str, written: ExampleExchange, actual: ExampleExchange) -> bool:
        """Whether an answer differs by chance alone, so that what is written stays."""
        if (written.status, written.media_type) != (actual.status, actual.media_type):
            return False
        if name in VARYING:
            return bool(written.response.keys() == actual.response.keys())
        known = dict(self.aliases)
        is_same = not list(self.compare(written.response, actual.response))
        if not is_same:
            self.aliases = known  # what differs was no alias
        return is_same

    def compare(self, written: Any, actual: Any, place: str = "") -> Iterator[str]:
        """Yield where the answer differs from what is written; lists are written as far as `MAX_LISTED`.

        Random ids are learned as aliases, measured figures need the same type alone.
        """
        name = re.sub(r"\[\d+\]$", "", place).rpartition(".")[2]
        if isinstance(written, dict) and isinstance(actual, dict):
            if written.keys() != actual.keys():
                yield f"{place}: {sorted(written.keys() ^ actual.keys())}"
            for key in written.keys() & actual.keys():
                yield from self.compare(written[key], actual[key], f"{place}.{key}")
        elif isinstance(written, list) and isinstance(actual, list):
            if len(written) != min(len(actual), MAX_LISTED):
                yield f"{place}: {len(written)} written, {len(actual)} answered"
            for number, pair in enumerate(zip(written, actual, strict=False)):
                yield from self.compare(*pair, f"{place}[{number}]")
        elif type(written) is not type(actual) or (
            written != actual and not _MEASURED.fullmatch(name) and not self._learn(written, actual)
        ):
            yield f"{place}: {written!r} written, {actual!r} answered"

    def _learn(self, written: Any, actual: Any) -> bool:
        if not isinstance(written, str):
            return False
        if _INSTANT.fullmatch(written) and _INSTANT.fullmatch(actual):
            return True
        private, other = _PRIVATE.fullmatch(written), _PRIVATE.fullmatch(actual)
        if private and other:
            self.aliases[private[2]] = other[2]
            return (private[1], private[3]) == (other[1], other[3])
        is_random = bool(_RANDOM.fullmatch(written) and _RANDOM.fullmatch(actual))
        if is_random:
            self.aliases[written] = self.aliases.get(actual, actual)
        return is_random


def cut_lists(value: Any) -> Any:
    """Return the value with the beginning of each list, as an example shows it."""
    if isinstance(value, list):
        return [cut_lists(each) for each in value[:MAX_LISTED]]
    if isinstance(value, dict):
        return {name: cut_lists(each) for name, each in value.items()}
    return value


@asynccontextmanager
async def open_example_service(folder: Path) -> AsyncIterator[tuple[App, dict[str, str]]]:
    """Open a service with one of everything that the examples name; gives the aliases too."""
    site = SampleSite("ministry", today=NOW.date())
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(site.serve())
        settings = build_sample_settings(Settings(), url, folder=folder)
        settings.web.port = 0
        # Whatever is not the sample site is asked for at a proxy that nobody runs.
        settings.network.proxy, settings.network.proxy_suffixes = "http://127.0.0.1:9", ["gov.cn", "example"]
        settings.pages = settings.pages.model_copy(update={"render": "never"})
        settings.deliver.targets = [
            TargetSettings(
                name="weekly",
                url="smtp://127.0.0.1:1",
                sender="m@example.org",
                to=["a@example.org"],
                subscriptions=True,
            )
        ]
        settings.web.public_url = "http://monitor.example"
        settings.export.folder = folder
        app = await stack.enter_async_context(open_app(settings))
        app.clock = FixedClock()
        await app.sources.add({"name": "示例部", "url": f"{url}/", "focus_areas": ["政策", "通知"]}, by=COMMAND_LINE)
        run_id = await _sweep(app)
        await stack.enter_async_context(app.presence.register("worker"))
        await _add_people(app)
        await _add_subjects(app, run_id)
        yield app, {SITE: url, urlsplit(SITE).netloc: urlsplit(url).netloc, RUN_ID: run_id, FOLDER: str(folder)}


async def _sweep(app: App) -> str:
    result = await app.sweeps.sweep(await app.sources.get("示例部"), by=COMMAND_LINE)
    run_id: str = result.run_id
    await app.store.runs.add_fallback(run_id, Phase.NAVIGATE, SITE, Message("cause.no_links"), NOW)
    async with app.store.sessions.begin_write() as session:
        session.add(
            ModelCall(run_id=run_id, phase=Phase.SUMMARISE, place=f"{SITE}/", model="gpt-5", prompt_tokens=2100, at=NOW)
        )
    finding = AlarmFinding(
        kind=AlarmKind.STRUCTURE, message=Message("alarm.list_gone", {"usual": 12}), section="通知公告", section_key="k"
    )
    judged = {"k": frozenset({AlarmKind.STRUCTURE})}
    await app.store.alarms.reconcile(1, run_id=run_id, findings=[finding], judged_kinds=judged, at=NOW)
    return run_id


async def _add_people(app: App) -> None:
    await app.people.add(PERSON, Role.ADMIN, by=COMMAND_LINE)
    await app.people.set_password(PERSON, PASSWORD, by=COMMAND_LINE)


async def _add_subjects(app: App, run_id: str) -> None:
    person = Actor(PERSON, Role.ADMIN)
    for name, word in (("储能", "储能"), ("电价", "电价"), ("标准", "标准")):
        await app.topics.create(TopicForm(name=name, words=[word]), by=person)
    due = Deadline(
        item_id=7, kind=DeadlineKind.COMMENTS_UNTIL, day=dt.date(2026, 3, 1), seen_at=NOW, subject="意见征求"
    )
    await app.store.deadlines.save([(due, None)])
    await put(app, TASK_ID, at=NOW, query="稀土出口管制近一年有哪些变化？")
    await put(app, f"{TASK_ID[:-1]}f", at=NOW, status=ResearchStatus.AWAITING_PLAN, steps=1, far=0)
    await put(app, f"{TASK_ID}-q1", at=NOW, parent_id=TASK_ID)
    async with app.store.sessions.begin_write() as session:
        await session.execute(update(Research).values(asked_by=PERSON))
    await _evaluate(app, run_id)
    await app.store.questions.add(
        ArchiveQuestion(
            id="q-20260203T080000Z-1a2b",
            person=PERSON,
            text="储能电站的容量电价从何时起执行？",
            language="zh",
            filters={},
            status=QuestionStatus.FAILED,
            asked_at=NOW - dt.timedelta(hours=1),
            updated_at=NOW,
            error=Message("ask.interrupted"),
        )
    )
    async with app.store.sessions.begin_write() as session:
        session.add(
            Delivery(
                id="weekly-20260203T080000Z",
                target="weekly",
                status=DeliveryStatus.FAILED,
                planned_at=NOW,
                key="k" * 32,
                message_id="<k@monitor>",
                attempts=6,
            )
        )
    await app.webhooks.add(WebhookForm(url="https://hooks.example/monitor", label="CRM"), by=person)
    await app.archive_exports.add(ExportForm(name="lake", schedule="0 5 * * *"), by=person)


async def _evaluate(app: App, run_id: str) -> None:
    """Two models wrote a summary of one item each time."""
    sample = SampledRun(source="示例部", run_id=run_id, items=[7])
    evaluation = Evaluation(
        id=EVALUATION_ID,
        status=EvaluationStatus.STOPPED,
        fingerprint="example",
        contenders=[{"model": name, "prompts": "current"} for name in ("gpt-5", "qwen-plus")],
        samples=[sample.model_dump(mode="json")],
        gaps=[],
        max_items=1,
        seed="example",
        asked_by=PERSON,
        created_at=NOW,
        started_at=NOW,
        ended_at=NOW,
    )
    await app.store.evaluations.create(evaluation)
    for contender, summary in enumerate(("部署光伏发电专项检查。", "今年上半年完成光伏发电专项检查。")):
        written = SummaryWritten(
            item_id=7,
            title="关于开展光伏发电专项检查的通知",
            url=f"{SITE}/",
            drafts=1,
            is_kept=True,
            is_kept_at_first=True,
            summary=summary,
            statements=[DraftStatement(text=summary, verdict=Verdict.SUPPORTED, passage=summary)],
        )
        row = PieceRow(
            contender=contender,
            source="示例部",
            run_id=run_id,
            phase=Phase.SUMMARISE,
            place="7",
            is_answered=True,
            measured=written,
        )
        piece = EvaluationPiece(
            evaluation_id=EVALUATION_ID, contender=contender, run_id=run_id, phase=Phase.SUMMARISE, place="7", at=NOW
        )
        await app.store.evaluations.save_piece(piece, row.model_dump(mode="json"))


async def sign_in(client: httpx.AsyncClient, app: App) -> dict[str, str]:
    """Make the client the browser of `PERSON`, in English; gives the aliases of two older sessions."""
    for hours in range(len(SESSION_IDS), 0, -1):
        app.clock.moment = NOW - dt.timedelta(hours=hours)  # type: ignore[attr-defined]
        await client.post("/sign-in", data={"name": PERSON, "password": PASSWORD})
        client.cookies.clear()
    app.clock.moment = NOW  # type: ignore[attr-defined]
    older = [session.id for session in await app.people.list_sessions(PERSON)]
    answer = await client.post("/sign-in", data={"name": PERSON, "password": PASSWORD})
    assert answer.status_code == 303, answer.text
    client.headers["X-CSRF-Token"] = app.people.compute_csrf_token(client.cookies["monitor_session"])
    client.headers["Accept-Language"] = "en"
    return dict(zip(SESSION_IDS, older, strict=True))


async def record() -> None:
    """Send every request of the file, and write what was answered."""
    from monitor.web.app import create_web_app
    from monitor.web.openapi import list_operations, load_exchanges

    exchanges = load_exchanges()
    with tempfile.TemporaryDirectory() as folder:
        migrate.upgrade(f"sqlite:///{folder}/monitor.db")
        async with open_example_service(Path(folder)) as (app, aliases):
            web = create_web_app(app)
            transport = httpx.ASGITransport(app=web, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://monitor.example") as client:
                exchanger = Exchanger(client, aliases | await sign_in(client, app))
                operations = {operation.id: operation for operation in list_operations(web.openapi())}
                written: JsonObject = {}
                for name, exchange in exchanges.items():
                    answer = await exchanger.send(operations[name])
                    exchanger.aliases |= _name_new(name, answer)
                    media_type, body = exchanger.read(answer)
                    done = {"status": answer.status_code, "media_type": media_type, "response": cut_lists(body)}
                    actual = ExampleExchange(**exchange.model_dump() | done)
                    kept = exchange if exchanger.is_as_written(name, exchange, actual) else actual
                    written[name] = kept.model_dump(exclude_defaults=True)
                    print(answer.status_code, name, str(body)[:160] if answer.status_code >= 400 else "")
    EXAMPLES.write_text(f"{json.dumps(written, ensure_ascii=False, indent=1)}\n", "utf-8")


def _name_new(name: str, answer: httpx.Response) -> dict[str, str]:
    """Return the alias of what an answer made, so that later requests of the file can name it."""
    if name not in NEW_IDS or answer.is_error:
        return {}
    documented, key = NEW_IDS[name]
    found = answer.json()[key]
    found = str(found[key] if isinstance(found, dict) else found)
    private = _PRIVATE.fullmatch(found)
    return {documented: private[2] if private else found}


if __name__ == "__main__":
    asyncio.run(record())
